// map.cpp: the public map (include/holdfast/map.hpp) over engine<incll>.
//
// Small values live in blocks, are filled under the operation and flushed with its epoch. Large
// ones (size_class.hpp) must not hold the barrier while megabytes are copied: a put reserves an
// extent in one operation, fills and persists it outside of any, and links it in a second; a get
// pins the extent, leaves its operation, and copies then.
#include <holdfast/map.hpp>

#include "base/check.hpp"
#include "map/engine.hpp"
#include "map/inspect.hpp"
#include "map/large_value.hpp"
#include "paging/private_pages.hpp"

#include <atomic>
#include <cstring>

namespace hf {

namespace {

using tree_type = masstree<incll_discipline>;
using record = tree_type::record;

// What one operation of a scan copies before it lets the barrier go.
constexpr std::size_t scan_batch_records = 256;
constexpr std::size_t scan_batch_bytes = 256 << 10;

error too_large(const char* what, std::size_t size, std::size_t most) {
    return {errc::too_large, what, "argument",
            std::to_string(size) + " bytes where " + std::to_string(most) + " are the most",
            "use a shorter one"};
}

result<void> check_key(std::string_view key) {
    if (key.size() > max_key_size) {
        return failure(too_large("use the key", key.size(), max_key_size));
    }
    return {};
}

result<void> check_writable(engine<incll_discipline>& machine) {
    const region& r = machine.file();
    if (r.read_only()) {
        return failure({errc::denied, "write to the map", r.path().string(),
                        "it was opened for inspection", "open it for writing"});
    }
    machine.epochs().slow_writer();
    return machine.epochs().accepts_writes();
}

result<void> check_sizes(std::string_view key, std::string_view value) {
    if (value.size() > max_value_size) {
        return failure(too_large("store the value", value.size(), max_value_size));
    }
    return check_key(key);
}

}  // namespace

struct map::impl {
    std::unique_ptr<engine<incll_discipline>> machine;

    [[nodiscard]] engine<incll_discipline>& live() const {
        HF_ASSERT(machine != nullptr, "the map was closed");
        return *machine;
    }
    [[nodiscard]] epoch_manager& epochs() const { return live().epochs(); }
    [[nodiscard]] checkpoint_state& checkpoint() const { return live().checkpoint(); }
    [[nodiscard]] tree_type& tree() const { return live().tree(); }
    [[nodiscard]] heap<incll_discipline>& memory() const { return live().memory(); }

    using condition = write_condition;

    /// put_if; `allowed` may be null.
    result<write_outcome> store(std::string_view key, std::string_view value,
                                const condition* allowed) const;
    result<write_outcome> store_small(std::string_view key, std::string_view value,
                                      const condition* allowed) const;
    /// remove_if; `allowed` may be empty.
    result<write_outcome> erase(std::string_view key,
                                const std::function<bool(std::string_view)>& allowed) const;
    using modification =
        std::function<edit(std::optional<std::string_view> old, std::string& fresh)>;
    result<write_outcome> change(std::string_view key, const modification& change) const;

    /// What finds no room may have it in the next epoch, where the log begins anew and what was
    /// freed can be used: so it is tried once more there. If that is in vain, nobody tries again in
    /// that epoch unless something has been freed in it: most who write to a full store would end
    /// an epoch for nothing.
    template <class Attempt>
    result<write_outcome> with_room(Attempt attempt) const {
        u64 epoch = epochs().current_epoch();
        auto done = attempt();
        if (done) {
            if (full_in.load(std::memory_order_relaxed) != 0 && done->changed && done->existed) {
                full_in.store(0, std::memory_order_relaxed);
            }
            return done;
        }
        if (done.error().code != errc::no_space || full_in == epoch) return done;
        epochs().end_epoch(epoch);
        epoch = epochs().current_epoch();
        done = attempt();
        if (!done) full_in = epoch;
        return done;
    }
    mutable std::atomic<u64> full_in{0};
};

engine<incll_discipline>& map_inspection::machine_of(map& m) noexcept { return *m.impl_->machine; }

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
    if (options.region.mode == open_mode::inspect) return 0;  // most come for a scan
    const u64 memory = options.region.memory;
    return (memory != 0 ? memory : default_memory_budget()) / share;
}

}  // namespace

result<map> map::open(const std::filesystem::path& path, const map_options& options) {
    engine_options all;
    all.file = options.region;
    all.epochs.epoch = options.epoch;
    all.hint_memory = hint_memory_of(options);
    auto machine = engine<incll_discipline>::open(path, all);
    if (!machine) return tl::unexpected(machine.error());
    auto p = std::make_unique<impl>();
    p->machine = std::move(*machine);
    return map(std::move(p));
}

result<void> map::close() {
    if (!impl_->machine) return {};
    const auto machine = std::move(impl_->machine);
    return machine->close();
}

// ---------------------------------------------------------------------------------------- reading

namespace {

/// Keeps an extent from being reused while its bytes are copied outside of an operation.
class pin {
   public:
    pin(lane& l, u64 block) noexcept : lane_(l) {
        HF_ASSERT(lane_.pinned.load(std::memory_order_relaxed) == 0,
                  "a thread reads one large value at a time");
        lane_.pinned.store(block, std::memory_order_release);
    }
    ~pin() { lane_.pinned.store(0, std::memory_order_release); }
    pin(const pin&) = delete;
    pin& operator=(const pin&) = delete;

   private:
    lane& lane_;
};

}  // namespace

result<bool> map::get(std::string_view key, std::string& out) const {
    if (auto ok = check_key(key); !ok) return tl::unexpected(ok.error());
    impl_->tree().prefetch_hint(key);
    lane& l = impl_->epochs().my_lane();
    std::optional<pin> pinned;
    std::string_view value;
    {
        operation op(impl_->checkpoint(), l);
        const u64 offset = impl_->tree().find(op, key);
        if (offset == 0) return false;
        const record* r = impl_->tree().record_at(offset);
        value = r->value();
        if (!is_large(r->payload())) {
            out.assign(value);
            return true;
        }
        pinned.emplace(l, offset - block_header_size);
    }
    out.assign(value);
    return true;
}

namespace {

/// Copies of the records that one operation met.
struct scan_batch {
    std::string bytes;
    struct piece {
        std::size_t key_at, key_size, value_at, value_size;
    };
    std::vector<piece> pieces;

    /// A large value: pinned here, copied by take_large() outside of the operation. It ends the
    /// batch.
    std::optional<pin> pinned;
    std::string_view large;

    /// Inside of the operation. False: the batch is full.
    bool add(operation& op, const tree_type& tree, std::string_view key, std::string_view value) {
        const record* r = reinterpret_cast<const record*>(value.data()) - 1;
        if (is_large(r->payload())) {
            if (!pieces.empty()) return false;  // it comes alone, in the next batch
            const auto at = static_cast<u64>(reinterpret_cast<const std::byte*>(r) - tree.base());
            pinned.emplace(op.my_lane(), at - block_header_size);
            large = value;
            bytes.assign(key);
            pieces.push_back({0, key.size(), key.size(), value.size()});
            return false;
        }
        const std::size_t at = bytes.size();
        bytes.append(key).append(value);
        pieces.push_back({at, key.size(), at + key.size(), value.size()});
        return pieces.size() < scan_batch_records && bytes.size() < scan_batch_bytes;
    }
    void take_large() {
        bytes.append(large);
        pinned.reset();
    }
    [[nodiscard]] std::string_view key(const piece& p) const {
        return std::string_view(bytes).substr(p.key_at, p.key_size);
    }
    [[nodiscard]] std::string_view value(const piece& p) const {
        return std::string_view(bytes).substr(p.value_at, p.value_size);
    }
};

/// Delivers batch after batch; `fill(start, exclusive, batch)` returns whether the end was reached.
template <class Fill>
std::size_t deliver(std::optional<std::string> start, bool exclusive, const map::visitor& visit,
                    Fill fill) {
    std::size_t visited = 0;
    for (;;) {
        scan_batch batch;
        const bool end = fill(start, exclusive, batch);
        batch.take_large();
        for (const scan_batch::piece& p : batch.pieces) {
            ++visited;
            if (!visit(batch.key(p), batch.value(p))) return visited;
        }
        if (end) return visited;
        start = std::string(batch.key(batch.pieces.back()));
        exclusive = true;
    }
}

}  // namespace

result<std::size_t> map::scan(std::string_view from, const visitor& visit, bool exclusive) const {
    if (auto ok = check_key(from); !ok) return tl::unexpected(ok.error());
    return deliver(std::string(from), exclusive, visit,
                   [&](const std::optional<std::string>& start, bool without, scan_batch& batch) {
                       operation op(impl_->checkpoint());
                       return impl_->tree().scan(op, *start, without,
                                                 [&](std::string_view k, std::string_view v) {
                                                     return batch.add(op, impl_->tree(), k, v);
                                                 });
                   });
}

result<std::size_t> map::scan_backward(std::optional<std::string_view> from, const visitor& visit,
                                       bool exclusive) const {
    if (from) {
        if (auto ok = check_key(*from); !ok) return tl::unexpected(ok.error());
    }
    std::optional<std::string> start;
    if (from) start = std::string(*from);
    return deliver(std::move(start), exclusive, visit,
                   [&](const std::optional<std::string>& bound, bool without, scan_batch& batch) {
                       operation op(impl_->checkpoint());
                       std::optional<std::string_view> view;
                       if (bound) view = *bound;
                       return impl_->tree().scan_backward(
                           op, view, without, [&](std::string_view k, std::string_view v) {
                               return batch.add(op, impl_->tree(), k, v);
                           });
                   });
}

// ---------------------------------------------------------------------------------------- writing

result<write_outcome> map::impl::store_small(std::string_view key, std::string_view value,
                                             const condition* allowed) const {
    tree().prefetch_hint(key);
    operation op(checkpoint());
    tree().prefetch_hinted(op, key);
    auto fresh = tree().make_record(op, key, value);
    if (!fresh) return tl::unexpected(fresh.error());
    undo_unless_stored undo{[&] { tree().drop_record(op, *fresh); }};
    auto done = tree().update(op, key, [&](const record* old) {
        const auto view = old != nullptr ? std::optional(old->value()) : std::nullopt;
        if (allowed != nullptr && !(*allowed)(view)) return decision{};
        return decision{decision::action::store, *fresh};
    });
    if (!done) return tl::unexpected(done.error());
    undo.stored = done->changed;
    return write_outcome{op.epoch(), done->changed, done->existed};
}

result<write_outcome> map::impl::store(std::string_view key, std::string_view value,
                                       const condition* allowed) const {
    if (auto ok = check_sizes(key, value); !ok) return tl::unexpected(ok.error());
    if (auto ok = check_writable(*machine); !ok) return tl::unexpected(ok.error());
    return with_room([&] {
        return is_large(masstree_detail::record_payload(key, value.size()))
                   ? store_large_value(*machine, key, value, allowed)
                   : store_small(key, value, allowed);
    });
}

result<write_outcome> map::put(std::string_view key, std::string_view value) {
    return impl_->store(key, value, nullptr);
}

result<write_outcome> map::put_if(
    std::string_view key, std::string_view value,
    const std::function<bool(std::optional<std::string_view>)>& condition) {
    return impl_->store(key, value, &condition);
}

result<write_outcome> map::remove(std::string_view key) { return remove_if(key, {}); }

result<write_outcome> map::remove_if(std::string_view key,
                                     const std::function<bool(std::string_view)>& condition) {
    if (auto ok = check_key(key); !ok) return tl::unexpected(ok.error());
    if (auto ok = check_writable(*impl_->machine); !ok) return tl::unexpected(ok.error());
    return impl_->with_room([&] { return impl_->erase(key, condition); });
}

result<write_outcome> map::impl::erase(std::string_view key,
                                       const std::function<bool(std::string_view)>& allowed) const {
    tree().prefetch_hint(key);
    operation op(checkpoint());
    auto done = tree().update(op, key, [&](const record* old) {
        const bool erase = old != nullptr && (!allowed || allowed(old->value()));
        return decision{erase ? decision::action::erase : decision::action::keep, 0};
    });
    if (!done) return tl::unexpected(done.error());
    return write_outcome{op.epoch(), done->changed, done->existed};
}

result<write_outcome> map::modify(
    std::string_view key,
    const std::function<edit(std::optional<std::string_view> old, std::string& fresh)>& change) {
    if (auto ok = check_key(key); !ok) return tl::unexpected(ok.error());
    if (auto ok = check_writable(*impl_->machine); !ok) return tl::unexpected(ok.error());
    return impl_->with_room([&] { return impl_->change(key, change); });
}

result<write_outcome> map::impl::change(std::string_view key, const modification& change) const {
    tree().prefetch_hint(key);
    std::string value;
    std::optional<error> failed;
    u64 made = 0;
    operation op(checkpoint());
    auto done = tree().update(op, key, [&](const record* old) -> decision {
        const auto view = old != nullptr ? std::optional(old->value()) : std::nullopt;
        const edit what = change(view, value);
        if (what == edit::keep) return {};
        if (what == edit::remove) return {decision::action::erase, 0};
        if (is_large(masstree_detail::record_payload(key, value.size()))) {
            failed = too_large("modify the value in place", value.size(), largest_block);
            return {};
        }
        auto fresh = tree().make_record(op, key, value);
        if (!fresh) {
            failed = fresh.error();
            return {};
        }
        made = *fresh;
        return {decision::action::store, made};
    });
    if (!done) {
        if (made != 0) tree().drop_record(op, made);
        return tl::unexpected(done.error());
    }
    if (failed) return failure(*failed);
    return write_outcome{op.epoch(), done->changed, done->existed};
}

// ------------------------------------------------------------------------------------- durability

result<void> map::wait_durable(ticket t) { return impl_->epochs().wait_durable(t); }

result<void> map::sync() { return impl_->epochs().wait_durable(impl_->epochs().current_epoch()); }

ticket map::durable_epoch() const noexcept { return impl_->epochs().durable_epoch(); }
ticket map::current_epoch() const noexcept { return impl_->epochs().current_epoch(); }
std::uint64_t map::generation() const noexcept { return impl_->machine->generation(); }

statistics map::stats() const {
    statistics s;
    const epoch_manager& epochs = impl_->epochs();
    const checkpoint_state& undo = impl_->checkpoint();
    const region& file = impl_->machine->file();
    s.epoch = epochs.current_epoch();
    s.durable_epoch = epochs.durable_epoch();
    {
        operation op(impl_->checkpoint());  // the set changes only while nobody is inside of one
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
    for (const u64 bytes : impl_->memory().usage()) s.allocated_bytes += bytes;
    s.free_bytes = s.region_bytes - std::min(s.region_bytes, s.allocated_bytes);
    s.hint_bytes = impl_->tree().hint_bytes();
    s.medium = to_string(file.med().kind());
    s.flush_instruction = to_string(file.med().instruction());
    s.path = file.path().string();
    return s;
}

}  // namespace hf
