// map/map.cpp: the public map (include/holdfast/map.hpp): checks arguments, and forwards.
#include "checkpoint_map/checkpoint_map.hpp"
#include "map/families.hpp"
#include "map/inspect.hpp"
#include "map/map_impl.hpp"
#include "region/header.hpp"

namespace hf {
namespace {

constexpr const char* reading = "read from the map";
constexpr const char* writing = "write to the map";

result<void> check_key(std::string_view key) {
    if (key.size() <= max_key_size) return {};
    return failure(map_detail::too_large("use the key", key.size(), max_key_size));
}

result<void> check_sizes(std::string_view key, std::string_view value) {
    if (value.size() <= max_value_size) return check_key(key);
    return failure(map_detail::too_large("store the value", value.size(), max_value_size));
}

}  // namespace

// ------------------------------------------------------------------------------------- inspection

engine<incll_discipline>& map_inspection::machine_of(map& m) noexcept {
    return dynamic_cast<const checkpoint_map&>(*m.impl_->engine).machine();
}

bool map_inspection::has_small_values(const map& m) noexcept {
    return m.impl_->engine->has_small_values();
}

result<void> map_inspection::wait_for_sweep(map& m) { return m.impl_->engine->wait_for_sweep(); }

result<audit_report> map_inspection::audit(map& m) { return m.impl_->engine->audit(); }

result<write_outcome> map_inspection::remove_unverified_if(
    map& m, std::string_view key, const std::function<bool(std::string_view)>& condition) {
    if (auto ok = check_key(key); !ok) return tl::unexpected(ok.error());
    return m.impl_->meeting_damage(
        writing, [&] { return m.impl_->engine->erase_unverified(key, condition); });
}

result<audit_report> audit_map(const std::filesystem::path& path, const audit_progress& progress) {
    const auto there = detail::discipline_in(path);
    const map_family* const family = there ? find_family(*there) : nullptr;
    return (family != nullptr ? family : default_family())->audit(path, progress);
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

// ------------------------------------------------------------------------------------ its life

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

result<map> map::open(const std::filesystem::path& path, const map_options& options) {
    const auto family = family_for(path, options);
    if (!family) return tl::unexpected(family.error());
    auto engine = (*family)->open(path, options);
    if (!engine) return tl::unexpected(engine.error());
    return map(std::make_unique<impl>(std::move(*engine)));
}

result<void> map::close() {
    if (impl_->made_in.is_inherited()) return leave_to_parent(impl_->engine, "close the map");
    const auto engine = std::move(impl_->engine);
    return engine ? engine->close() : result<void>{};
}

// ------------------------------------------------------------------------------------------ reads

result<bool> map::get(std::string_view key, std::string& out) const {
    if (auto ok = check_key(key); !ok) return tl::unexpected(ok.error());
    return impl_->meeting_damage(reading,
                                 [&]() -> result<bool> { return impl_->engine->get(key, out); });
}

result<std::size_t> map::get_many(std::span<const std::string_view> keys,
                                  const finder& found) const {
    for (const std::string_view key : keys) {
        if (auto ok = check_key(key); !ok) return tl::unexpected(ok.error());
    }
    return impl_->meeting_damage(
        reading, [&]() -> result<std::size_t> { return impl_->engine->get_many(keys, found); });
}

void map::prefetch(std::span<const std::string_view> keys) const {
    if (impl_->engine == nullptr) return;
    try {
        impl_->engine->prefetch(keys);
    } catch (const damage&) {  // NOLINT(bugprone-empty-catch): a get() of the key will report it
    }
}

result<std::size_t> map::scan(std::string_view from, const visitor& visit, bool exclusive) const {
    if (auto ok = check_key(from); !ok) return tl::unexpected(ok.error());
    return impl_->meeting_damage(
        reading, [&] { return impl_->engine->scan(from, exclusive, false, visit); });
}

result<std::size_t> map::scan_backward(std::optional<std::string_view> from, const visitor& visit,
                                       bool exclusive) const {
    if (from) {
        if (auto ok = check_key(*from); !ok) return tl::unexpected(ok.error());
    }
    return impl_->meeting_damage(reading,
                                 [&] { return impl_->engine->scan(from, exclusive, true, visit); });
}

result<std::size_t> map::walk(std::string& cursor, std::size_t about, const visitor& visit) const {
    return impl_->meeting_damage(reading,
                                 [&] { return impl_->engine->walk(cursor, about, visit); });
}

// ----------------------------------------------------------------------------------------- writes

result<write_outcome> map::put(std::string_view key, std::string_view value) {
    if (auto ok = check_sizes(key, value); !ok) return tl::unexpected(ok.error());
    return impl_->meeting_damage(writing,
                                 [&] { return impl_->engine->store(key, value, nullptr); });
}

result<write_outcome> map::put_if(
    std::string_view key, std::string_view value,
    const std::function<bool(std::optional<std::string_view>)>& condition) {
    if (auto ok = check_sizes(key, value); !ok) return tl::unexpected(ok.error());
    return impl_->meeting_damage(writing,
                                 [&] { return impl_->engine->store(key, value, &condition); });
}

result<write_outcome> map::remove(std::string_view key) { return remove_if(key, {}); }

result<write_outcome> map::remove_if(std::string_view key,
                                     const std::function<bool(std::string_view)>& condition) {
    if (auto ok = check_key(key); !ok) return tl::unexpected(ok.error());
    return impl_->meeting_damage(writing, [&] { return impl_->engine->erase(key, condition); });
}

result<write_outcome> map::modify(
    std::string_view key,
    const std::function<edit(std::optional<std::string_view> old, std::string& fresh)>& change) {
    if (auto ok = check_key(key); !ok) return tl::unexpected(ok.error());
    return impl_->meeting_damage(writing, [&] { return impl_->engine->change(key, change); });
}

// ------------------------------------------------------------------------------------- durability

result<void> map::wait_durable(ticket t) {
    return impl_->meeting_damage("wait for an epoch",
                                 [&] { return impl_->engine->wait_durable(t); });
}

result<void> map::sync() { return wait_durable(current_epoch()); }

ticket map::durable_epoch() const noexcept {
    return impl_->engine ? impl_->engine->durable_epoch() : 0;
}
ticket map::current_epoch() const noexcept {
    return impl_->engine ? impl_->engine->current_epoch() : 0;
}
result<void> map::check_files() const {
    return impl_->engine ? impl_->engine->file().check_files() : result<void>{};
}

// ---------------------------------------------------------------------------------------- figures

std::uint64_t map::generation() const noexcept {
    return impl_->engine ? impl_->engine->generation() : 0;
}
std::string_view map::index() const noexcept {
    return impl_->engine ? impl_->engine->index() : default_index;
}
bool map::is_ordered() const noexcept { return !impl_->engine || impl_->engine->is_ordered(); }
discipline map::kind() const noexcept {
    return impl_->engine ? impl_->engine->kind() : default_family()->kind;
}
statistics map::stats() const { return impl_->engine ? impl_->engine->stats() : statistics{}; }

}  // namespace hf
