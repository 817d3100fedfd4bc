// map.cpp: the public map (include/holdfast/map.hpp): open, close, wait, statistics.
#include "eager_map/inspection.hpp"
#include "map/inspect.hpp"
#include "map/map_impl.hpp"
#include "region/header.hpp"

#include <algorithm>

namespace hf {

engine<incll_discipline>& map_inspection::machine_of(map& m) noexcept { return *m.impl_->machine; }

bool map_inspection::has_small_values(const map& m) noexcept {
    if (m.impl_->machine == nullptr) return false;
    const auto root = m.impl_->machine->file().find_root(engine<incll_discipline>::root_name);
    return root && (*root)->format == inlined_root_format;
}

result<void> map_inspection::wait_for_sweep(map& m) {
    return m.impl_->eager ? m.impl_->eager->space().wait_for_sweep() : result<void>{};
}

result<audit_report> map_inspection::audit_eager(map& m) {
    const eager_side& side = *m.impl_->eager;
    if (auto swept = side.space().wait_for_sweep(); !swept) return tl::unexpected(swept.error());
    return audit_live(side.space(), [&side](heap_audit& a) { side.audit(a); });
}

result<audit_report> audit_map(const std::filesystem::path& path, const audit_progress& progress) {
    if (detail::discipline_in(path) == discipline::eager) {
        const auto looked = eager_inspection::open(path);
        if (looked.refusal()) return failure(*looked.refusal());
        return looked.audit();
    }
    const inspection looked = inspect_map(path);
    if (looked.refusal()) return failure(*looked.refusal());
    return looked.audit(progress);
}

inspection inspect_map(const std::filesystem::path& path) {
    using machine = engine<incll_discipline>;
    return inspection::open(path, {machine::root_name, machine::root_type});
}

std::optional<bool> map_has_small_values(std::string_view root, u64 type, u64 format) {
    using machine = engine<incll_discipline>;
    if (root != machine::root_name || type != machine::root_type) return std::nullopt;
    return format == inlined_root_format;
}

map::map(std::unique_ptr<impl> p) noexcept : impl_(std::move(p)) {}
map::map(map&&) noexcept = default;

map& map::operator=(map&& other) noexcept {
    if (this != &other) {
        if (impl_) (void)close();
        impl_ = std::move(other.impl_);
    }
    return *this;
}

map::~map() {
    if (impl_) (void)close();
}

namespace {

u64 hint_memory_of(const map_options& options) {
    constexpr u64 share = 8;
    if (options.hint_memory) return *options.hint_memory;
    // most inspections scan, which does not use hints
    if (options.region.mode == open_mode::inspect) return 0;
    const u64 memory = options.region.memory;
    return (memory != 0 ? memory : default_memory_budget()) / share;
}

}  // namespace

namespace {

/// The discipline of the existing region, or the one to create.
result<discipline> kind_of(const std::filesystem::path& path, const map_options& options) {
    const auto refused = [&](errc code, std::string why, std::string next) {
        return failure({code, "open the map", path.string(), std::move(why), std::move(next)});
    };
    const discipline wanted =
        options.kind.value_or(options.index.empty() ? discipline::incll : discipline::eager);
    if (wanted != discipline::incll && wanted != discipline::eager) {
        return refused(errc::usage, "a map is not of discipline " + std::string(to_string(wanted)),
                       "choose incll or eager");
    }
    if (wanted == discipline::incll && !options.index.empty()) {
        return refused(errc::usage, "the index " + options.index + " is of discipline eager",
                       "choose that, or name no index");
    }
    if (wanted == discipline::eager && options.small_values_in_leaves) {
        return refused(errc::usage, "small values lie in the leaves of discipline incll alone",
                       "choose that, or leave small_values_in_leaves out");
    }
    if (options.kind == discipline::incll) return wanted;
    const auto there = detail::discipline_in(path);
    if (!there || options.region.mode == open_mode::create_new) return wanted;
    if (options.kind || !options.index.empty()) {
        if (*there == wanted) return wanted;
        return refused(errc::incompatible,
                       "its discipline is " + std::string(to_string(*there)) + ", and not " +
                           std::string(to_string(wanted)),
                       "open it without saying which, or dump it and load it into a new region");
    }
    if (*there == discipline::transaction || *there == discipline::snapshot) {
        return refused(errc::incompatible,
                       "its discipline is " + std::string(to_string(*there)) + ": it holds no map",
                       "open it with its own discipline");
    }
    return *there == discipline::eager ? discipline::eager : discipline::incll;
}

}  // namespace

result<map> map::open(const std::filesystem::path& path, const map_options& options) {
    const auto kind = kind_of(path, options);
    if (!kind) return tl::unexpected(kind.error());
    if (*kind == discipline::eager) {
        auto side = eager_side::open(path, options);
        if (!side) return tl::unexpected(side.error());
        auto p = std::make_unique<impl>();
        p->eager = std::move(*side);
        return map(std::move(p));
    }
    engine_options all;
    all.file = options.region;
    all.epochs.epoch = options.epoch;
    all.hint_memory = hint_memory_of(options);
    all.inline_values = options.small_values_in_leaves;
    auto machine = engine<incll_discipline>::open(path, all);
    if (!machine) return tl::unexpected(machine.error());
    auto p = std::make_unique<impl>();
    p->machine = std::move(*machine);
    p->memory().sweep_before_growth();
    p->verifies_reads = options.verify_reads;
    return map(std::move(p));
}

result<void> map::close() {
    if (impl_->made_in.is_inherited()) {
        static_cast<void>(leave_to_parent(impl_->machine, "close the map"));
        return leave_to_parent(impl_->eager, "close the map");
    }
    if (const auto eager = std::move(impl_->eager)) return eager->close();
    if (!impl_->machine) return {};
    const auto machine = std::move(impl_->machine);
    return machine->close();
}

// ------------------------------------------------------------------------------------- durability

result<void> map::wait_durable(ticket t) {
    if (impl_->eager) return impl_->eager->space().wait_durable(t);
    if (!impl_->machine) return failure(map_detail::closed("wait for an epoch"));
    return impl_->epochs().wait_durable(t);
}

result<void> map::sync() { return wait_durable(current_epoch()); }

ticket map::durable_epoch() const noexcept {
    if (impl_->eager) return impl_->eager->space().durable_epoch();
    return impl_->machine ? impl_->epochs().durable_epoch() : 0;
}
ticket map::current_epoch() const noexcept {
    if (impl_->eager) return impl_->eager->space().current_epoch();
    return impl_->machine ? impl_->epochs().current_epoch() : 0;
}
result<void> map::check_files() const {
    if (impl_->eager) return impl_->eager->space().file().check_files();
    return impl_->machine ? impl_->machine->file().check_files() : result<void>{};
}
std::uint64_t map::generation() const noexcept {
    if (impl_->eager) return impl_->eager->space().generation();
    return impl_->machine ? impl_->machine->generation() : 0;
}
std::string_view map::index() const noexcept {
    return impl_->eager ? impl_->eager->index() : "masstree";
}
bool map::is_ordered() const noexcept { return !impl_->eager || impl_->eager->is_ordered(); }
discipline map::kind() const noexcept {
    return impl_->eager ? discipline::eager : discipline::incll;
}

statistics map::stats() const {
    if (impl_->eager) return impl_->eager->stats();
    statistics s;
    if (!impl_->machine) return s;
    const epoch_manager& epochs = impl_->epochs();
    const checkpoint_state& undo = impl_->checkpoint();
    const region& file = impl_->machine->file();
    s.epoch = epochs.current_epoch();
    s.durable_epoch = epochs.durable_epoch();
    {
        operation op(impl_->checkpoint());  // the set changes only while no operation is running
        s.failed_epochs = op.failed().count();
    }
    s.generation = generation();
    s.recovered = !file.was_clean();
    s.recovery_ns = impl_->machine->recovery_ns();
    s.recovered_entries = undo.recovered_entries();
    s.recovered_records = impl_->machine->recovered_records();
    const persist_counters counted = total_persist_counters();
    s.flushes = counted.flushes;
    s.fences = counted.fences;
    s.flushed_bytes = counted.flushed_bytes;
    s.log_entries = undo.log_entries();
    s.log_bytes = undo.log_bytes();
    s.pause = epochs.pauses();
    s.journal = epochs.journal_numbers();
    s.region_bytes = file.size();
    s.most_bytes = file.max_pages() * layout::page_size;
    for (const u64 bytes : impl_->memory().usage()) s.allocated_bytes += bytes;
    s.free_bytes = s.region_bytes - std::min(s.region_bytes, s.allocated_bytes);
    s.hint_bytes = impl_->tree().hint_bytes();
    if (impl_->memory().counts_objects()) s.records = impl_->memory().objects();
    s.discipline = to_string(kind());
    s.index = index();
    s.medium = to_string(file.med().kind());
    s.image = to_string(file.med().is_atomic() ? image_kind::journalled : image_kind::shared);
    s.flush_instruction = to_string(file.med().instruction());
    s.fence_latency_ns = file.med().fence_latency_ns();
    s.path = file.path().string();
    return s;
}

}  // namespace hf
