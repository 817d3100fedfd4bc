#include "section/graph/lock_table.hpp"

#include <algorithm>
#include <mutex>

namespace hf::graph {
namespace {

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

}  // namespace

lock_table::shard& lock_table::shard_of(const void* object) noexcept {
    const auto address = reinterpret_cast<u64>(object);
    return shards_[(address * 0x9e3779b97f4a7c15U) >> 58];
}

u64 lock_table::acquire(const void* object, access how, std::vector<section_id>& into) {
    shard& s = shard_of(object);
    const std::lock_guard guard(s.mutex);
    const auto found = s.entries.find(object);
    if (found == s.entries.end()) return 0;
    const entry& e = found->second;
    add(into, e.exclusive);
    if (how == access::exclusive) {
        for (const section_id& id : e.shared) add(into, id);
    }
    return e.clock;
}

void lock_table::release(const void* object, access how, section_id by, u64 clock) {
    shard& s = shard_of(object);
    const std::lock_guard guard(s.mutex);
    entry& e = s.entries[object];
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
    s.entries.erase(object);
}

void lock_table::drop_stable(const std::function<bool(const section_id&)>& is_stable) {
    const auto is_over = [&](const entry& e) {
        return (e.exclusive.number == 0 || is_stable(e.exclusive)) &&
               std::all_of(e.shared.begin(), e.shared.end(), is_stable);
    };
    for (shard& s : shards_) {
        const std::lock_guard guard(s.mutex);
        std::erase_if(s.entries, [&](const auto& item) { return is_over(item.second); });
    }
}

std::size_t lock_table::size() {
    std::size_t n = 0;
    for (shard& s : shards_) {
        const std::lock_guard guard(s.mutex);
        n += s.entries.size();
    }
    return n;
}

}  // namespace hf::graph
