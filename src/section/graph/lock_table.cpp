#include "section/graph/lock_table.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace hf::graph {
namespace {

constexpr std::size_t first_slots = 16;

void add(std::vector<section_id>& into, const section_id& id) {
    if (id.number == 0) return;
    const auto same = std::find_if(into.begin(), into.end(),
                                   [&](const section_id& s) { return s.lane == id.lane; });
    if (same == into.end()) {
        into.push_back(id);
    } else {
        same->number = std::max(same->number, id.number);
    }
}

[[nodiscard]] u64 hash_of(const void* object) noexcept {
    return reinterpret_cast<u64>(object) * 0x9e3779b97f4a7c15U;
}
/// The shard has the hash's first 6 bits.
[[nodiscard]] std::size_t home_of(const void* object, std::size_t slots) noexcept {
    return (hash_of(object) >> 26) & (slots - 1);
}

}  // namespace

lock_table::shard& lock_table::shard_of(const void* object) noexcept {
    return shards_[hash_of(object) >> 58];
}

/// The object's slot, or the free one where it would be. At least one slot is free.
lock_table::entry& lock_table::shard::slot_of(const void* object) noexcept {
    std::size_t i = home_of(object, slots.size());
    while (slots[i].object != nullptr && slots[i].object != object)
        i = (i + 1) & (slots.size() - 1);
    return slots[i];
}

/// As many slots as asked for, with the entries that `stays` says of.
void lock_table::shard::rebuild(std::size_t count, const std::function<bool(const entry&)>& stays) {
    std::vector<entry> before = std::exchange(slots, std::vector<entry>(count));
    used = 0;
    for (entry& e : before) {
        if (e.object == nullptr || !stays(e)) continue;
        slot_of(e.object) = std::move(e);
        ++used;
    }
}

u64 lock_table::acquire(const void* object, access how, std::vector<section_id>& into) {
    shard& s = shard_of(object);
    const std::lock_guard guard(s.mutex);
    if (s.slots.empty()) return 0;
    const entry& e = s.slot_of(object);
    if (e.object == nullptr) return 0;
    add(into, e.exclusive);
    if (how == access::exclusive) {
        for (const section_id& id : e.shared) add(into, id);
    }
    return e.clock;
}

void lock_table::release(const void* object, access how, section_id by, u64 clock) {
    shard& s = shard_of(object);
    const std::lock_guard guard(s.mutex);
    if (2 * (s.used + 1) > s.slots.size()) {
        s.rebuild(std::max(2 * s.slots.size(), first_slots), [](const entry&) { return true; });
    }
    entry& e = s.slot_of(object);
    if (e.object == nullptr) {
        e.object = object;
        ++s.used;
    }
    e.clock = std::max(e.clock, clock);
    if (how == access::exclusive) {
        e.exclusive = by;
        e.shared.clear();
    } else {
        add(e.shared, by);
    }
}

void lock_table::forget(const void* object) {
    shard& s = shard_of(object);
    const std::lock_guard guard(s.mutex);
    if (s.slots.empty() || s.slot_of(object).object == nullptr) return;
    s.rebuild(s.slots.size(), [object](const entry& e) { return e.object != object; });
}

void lock_table::drop_stable(const std::function<bool(const section_id&)>& is_stable) {
    const auto is_needed = [&](const entry& e) {
        return (e.exclusive.number != 0 && !is_stable(e.exclusive)) ||
               !std::all_of(e.shared.begin(), e.shared.end(), is_stable);
    };
    for (shard& s : shards_) {
        const std::lock_guard guard(s.mutex);
        if (s.used != 0) s.rebuild(s.slots.size(), is_needed);
    }
}

std::size_t lock_table::size() {
    std::size_t n = 0;
    for (shard& s : shards_) {
        const std::lock_guard guard(s.mutex);
        n += s.used;
    }
    return n;
}

}  // namespace hf::graph
