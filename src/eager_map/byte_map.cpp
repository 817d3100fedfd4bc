#include "eager_map/byte_map.hpp"

#include "base/clock.hpp"
#include "base/damage.hpp"
#include "base/lock_order.hpp"
#include "eager_map/inspection.hpp"
#include "index/common/keys.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <new>
#include <vector>

namespace hf {

result<std::unique_ptr<map_engine>> eager_byte_map::open(const std::filesystem::path& path,
                                                         const map_options& options) {
    const u64 start = now_ns();
    eager_map_options o;
    o.region = options.region;
    o.index = options.index;
    o.epoch = options.epoch;
    auto engine = detail::open_engine<std::string_view, std::string>(path, o);
    if (!engine) return tl::unexpected(engine.error());
    std::unique_ptr<eager_byte_map> made(new eager_byte_map(std::move(*engine)));
    made->opening_ns_ = now_ns() - start;
    return std::unique_ptr<map_engine>(std::move(made));
}

eager_byte_map::stripe& eager_byte_map::stripe_of(std::string_view key) const noexcept {
    return (*stripes_)[byte_keys::hash(key) % stripes];
}

result<void> eager_byte_map::check_writable() const {
    if (file().read_only()) return failure(map_detail::not_writable(file()));
    return space().accepts_writes();
}

namespace {
enum class what_was_found : u8 { nothing, value, long_one };
}  // namespace

/// `found` may call the map, so it is called after the operation that found its value has ended.
/// Values are copied for a few keys at a time; values over 64 KiB are not copied but looked up
/// again, one by one.
std::size_t eager_byte_map::get_many(std::span<const std::string_view> keys,
                                     const map::finder& found) const {
    constexpr std::size_t at_once = 16;
    constexpr std::size_t long_value = std::size_t{64} << 10;
    std::array<std::string, at_once> values;
    std::array<what_was_found, at_once> is{};
    std::size_t count = 0;
    for (std::size_t first = 0; first < keys.size(); first += at_once) {
        const auto some = keys.subspan(first, std::min(at_once, keys.size() - first));
        is.fill(what_was_found::nothing);
        const auto take = [&](std::size_t i, std::string_view value) {
            is[i] = value.size() > long_value ? what_was_found::long_one : what_was_found::value;
            if (is[i] == what_was_found::value) values[i] = value;
        };
        engine_->get_many(some, take);
        for (std::size_t i = 0; i < some.size(); ++i) {
            const bool is_there = is[i] == what_was_found::value ||
                                  (is[i] == what_was_found::long_one && get(some[i], values[i]));
            if (!is_there) continue;
            ++count;
            found(first + i, values[i]);
        }
    }
    return count;
}

// ----------------------------------------------------------------------------------------- writes

result<write_outcome> eager_byte_map::put(stripe& held, std::string_view key,
                                          std::string_view value) {
    auto fresh = engine_->put(key, value);
    if (!fresh && fresh.error().code == errc::no_space) {
        space().reclaim();
        fresh = engine_->put(key, value);
    }
    if (!fresh) return tl::unexpected(fresh.error());
    if (*fresh) held.records.fetch_add(1, std::memory_order_relaxed);
    return outcome(true, !*fresh);
}

write_outcome eager_byte_map::remove(stripe& held, std::string_view key) {
    const bool was_there = engine_->remove(key);
    if (was_there) held.records.fetch_sub(1, std::memory_order_relaxed);
    return outcome(was_there, was_there);
}

result<write_outcome> eager_byte_map::store(std::string_view key, std::string_view value,
                                            const write_condition* allowed) {
    if (auto ok = check_writable(); !ok) return tl::unexpected(ok.error());
    stripe& mine = stripe_of(key);
    const ranked_guard lock(lock_rank::key_stripe, mine.mutex);
    if (allowed != nullptr) {
        std::string old;
        const bool is_there = engine_->get(key, old);
        if (!(*allowed)(is_there ? std::optional<std::string_view>(old) : std::nullopt)) {
            return outcome(false, is_there);
        }
    }
    return put(mine, key, value);
}

result<write_outcome> eager_byte_map::erase(std::string_view key,
                                            const std::function<bool(std::string_view)>& allowed) {
    if (auto ok = check_writable(); !ok) return tl::unexpected(ok.error());
    stripe& mine = stripe_of(key);
    const ranked_guard lock(lock_rank::key_stripe, mine.mutex);
    if (allowed) {
        std::string old;
        if (!engine_->get(key, old)) return outcome(false, false);
        if (!allowed(old)) return outcome(false, true);
    }
    return remove(mine, key);
}

result<write_outcome> eager_byte_map::erase_unverified(
    std::string_view key, const std::function<bool(std::string_view)>& allowed) {
    if (auto ok = check_writable(); !ok) return tl::unexpected(ok.error());
    stripe& mine = stripe_of(key);
    const ranked_guard lock(lock_rank::key_stripe, mine.mutex);
    std::string old;
    try {
        if (!engine_->get(key, old)) return outcome(false, false);
    } catch (const damage&) {
        if (old.empty()) throw;  // not the value is damaged, but the path to it
    }
    if (!allowed(old)) return outcome(false, true);
    return remove(mine, key);
}

result<write_outcome> eager_byte_map::change(std::string_view key, const modification& change) {
    if (auto ok = check_writable(); !ok) return tl::unexpected(ok.error());
    stripe& mine = stripe_of(key);
    const ranked_guard lock(lock_rank::key_stripe, mine.mutex);
    std::string old;
    std::string fresh;
    const bool is_there = engine_->get(key, old);
    switch (change(is_there ? std::optional<std::string_view>(old) : std::nullopt, fresh)) {
        case map::edit::keep:
            return outcome(false, is_there);
        case map::edit::remove:
            return remove(mine, key);
        case map::edit::replace:
            break;
    }
    if (fresh.size() > max_value_size) {
        return failure(map_detail::too_large("modify the value", fresh.size(), max_value_size));
    }
    return put(mine, key, fresh);
}

// ------------------------------------------------------------------------------------------ walks

namespace {

using records_seen = std::vector<std::pair<std::string, std::string>>;

/// The first batch is small because most scans are short (checkpoint_map/read.cpp).
constexpr std::size_t first_of_batches = 10;
constexpr std::size_t batch_growth = 4;
constexpr std::size_t most_batch_bytes = std::size_t{1} << 20;

/// Every 16th key must be greater than the one 16 before it (smaller, backwards); otherwise throws
/// `damage`. Guards a scan of a corrupt index against looping forever.
void check_order(const records_seen& batch, bool backwards) {
    constexpr std::size_t looked_at = 16;
    if (batch.size() <= looked_at || batch.size() % looked_at != 1) return;
    const std::string& before = batch[batch.size() - 1 - looked_at].first;
    const std::string& now = batch.back().first;
    if (backwards ? now < before : before < now) return;
    throw damage(0, "the keys of an index do not ascend");
}

}  // namespace

result<std::size_t> eager_byte_map::scan(std::optional<std::string_view> from, bool exclusive,
                                         bool backwards, const map::visitor& visit) const {
    if (!engine_->is_ordered()) {
        return failure({errc::usage, "scan the map", space().file().path().string(),
                        "its index, " + std::string(index()) + ", has no order",
                        "use walk(), or a region with an index that has one"});
    }
    std::string bound = from ? std::string(*from) : std::string(max_key_size, '\xff');
    std::size_t visited = 0;
    records_seen batch;
    std::size_t room = first_of_batches;
    for (;;) {
        batch.clear();
        u64 bytes = 0;
        bool is_full = false;
        const u64 most = room + (exclusive ? 1 : 0);
        const u64 found = engine_->scan(bound, most, backwards, [&](auto key, auto value) {
            if (is_full || (exclusive && key == bound)) return;
            // The visitor may stop before a long value, so it begins a batch of its own.
            is_full = !batch.empty() && bytes + value.size() > most_batch_bytes;
            if (is_full) return;
            bytes += value.size();
            batch.emplace_back(key, value);
            check_order(batch, backwards);
        });
        for (const auto& [key, value] : batch) {
            ++visited;
            if (!visit(key, value)) return visited;
        }
        if (found < most && !is_full) return visited;
        // All that was found is the bound itself.
        if (batch.empty()) throw damage(0, "nodes lead round in a circle");
        const std::string& last = batch.back().first;
        if (backwards ? last > bound : last < bound) {
            throw damage(0, "the keys of an index do not ascend");
        }
        // The next batch is larger, but its copy stays near most_batch_bytes.
        const u64 of_one = bytes / batch.size() + 1;
        room = std::clamp<std::size_t>(most_batch_bytes / of_one, 1, room * batch_growth);
        bound = std::move(batch.back().first);
        exclusive = true;
    }
}

result<std::size_t> eager_byte_map::walk(std::string& cursor, std::size_t about,
                                         const map::visitor& visit) const {
    if (is_ordered()) return map_engine::walk(cursor, about, visit);
    return walk_parts(cursor, about, visit);
}

/// Each part is visited completely and without copies: unordered records cannot be resumed in the
/// middle of a part.
std::size_t eager_byte_map::walk_parts(std::string& cursor, std::size_t about,
                                       const map::visitor& visit) const {
    u64 part = 0;
    std::from_chars(cursor.data(), cursor.data() + cursor.size(), part);
    std::size_t visited = 0;
    bool wants_more = true;
    while (part < engine_->parts() && wants_more && visited < about) {
        engine_->for_each_in(part++, [&](auto key, auto value) {
            ++visited;
            wants_more = visit(key, value) && wants_more;
        });
    }
    cursor = part < engine_->parts() ? std::to_string(part) : "";
    return visited;
}

// ---------------------------------------------------------------------------------------- figures

std::optional<u64> eager_byte_map::records() const {
    const std::optional<u64> before = space().records_at_opening();
    if (!before) return std::nullopt;
    auto n = static_cast<std::int64_t>(*before);
    for (const stripe& one : *stripes_) n += one.records.load(std::memory_order_relaxed);
    return static_cast<u64>(std::max<std::int64_t>(n, 0));
}

std::optional<u64> eager_byte_map::count_within(std::chrono::nanoseconds patience) const {
    const u64 end = now_ns() + static_cast<u64>(patience.count());
    u64 n = 0;
    bool in_time = true;
    const auto count = [&](auto, auto) {
        if (++n % 16 == 0) in_time = now_ns() < end;
        return in_time;
    };
    if (is_ordered()) {
        static_cast<void>(scan("", false, false, count));
    } else {
        std::string cursor;
        do {
            static_cast<void>(walk_parts(cursor, 1, count));
        } while (!cursor.empty() && in_time);
    }
    return in_time ? std::optional<u64>(n) : std::nullopt;
}

result<void> eager_byte_map::close() {
    std::optional<u64> n = records();
    if (!n && !space().file().read_only()) {
        try {
            n = count_within(std::chrono::seconds(2));
        } catch (const damage&) {
            n = std::nullopt;  // `check` will report the damage
        } catch (const std::bad_alloc&) {
            n = std::nullopt;
        }
    }
    return space().close(n);
}

result<audit_report> eager_byte_map::audit() {
    if (auto swept = wait_for_sweep(); !swept) return tl::unexpected(swept.error());
    return audit_live(space(), [this](heap_audit& a) { engine_->audit(a); });
}

statistics eager_byte_map::stats() const {
    statistics s = map_detail::common_statistics(*this);
    s.generation = file().super().generation;
    s.recovery_ns = opening_ns_;
    s.recovered_records = space().recovered_records();
    if (const epoch_manager* const epochs = space().epochs()) {
        s.pause = epochs->pauses();
        s.journal = epochs->journal_numbers();
    }
    s.free_bytes = std::min(s.region_bytes, space().heap().free_bytes());
    s.allocated_bytes = s.region_bytes - s.free_bytes;
    s.records = records();
    return s;
}

}  // namespace hf
