#include "section/graph/lane_log.hpp"

#include "base/check.hpp"
#include "persist/persist_point.hpp"

#include <algorithm>
#include <bit>

namespace hf::graph {

u64 region_seed(const region& r) noexcept {
    return checksum64(r.super().uuid, sizeof r.super().uuid, 0x5ec7105e);
}

lane_log::lane_log(region& r, const segment& s, const log_identity& of)
    : region_(r), view_(r, s), of_(of) {
    store_head(0, 0);
    r.med().fence();
    HF_PERSIST_POINT("section_graph G6: an empty log durable before its first entry");
}

void lane_log::append(log_entry e) noexcept {
    const u64 position = next_.load(std::memory_order_relaxed);
    HF_CHECK(used() < capacity(), "L2: an entry of a section log without room for it");
    const u64 durable = durable_.load(std::memory_order_relaxed);
    e.unfenced = static_cast<u16>(std::min(position - durable, max_unfenced));
    e.check = entry_check(e, of_, position);
    const auto words = std::bit_cast<std::array<u64, 4>>(e);
    auto* const to = reinterpret_cast<u64*>(&view_.at(position));
    for (unsigned i = 0; i < 4; ++i) ordered_store(to[i], words[i]);
    next_.store(position + 1, std::memory_order_release);
}

void lane_log::persist() noexcept {
    const u64 position = next_.load(std::memory_order_relaxed);
    if (durable_.load(std::memory_order_relaxed) >= position) return;
    flush_written(position);
    region_.med().fence();
    set_durable(position);
}

void lane_log::flush_written(u64 position) const noexcept {
    // Entries are in pairs: the line of an odd position was begun by the entry before it.
    u64 from = durable_.load(std::memory_order_relaxed);
    while (from < position) {
        const u64 slot = from % capacity();
        const u64 count = std::min(position - from, capacity() - slot);
        region_.med().flush(&view_.at(from), count * entry_bytes);
        from += count;
    }
}

void lane_log::set_durable(u64 position) noexcept {
    u64 seen = durable_.load(std::memory_order_relaxed);
    while (seen < position &&
           !durable_.compare_exchange_weak(seen, position, std::memory_order_relaxed)) {
    }
}

void lane_log::drop_until(u64 kept, u64 position) noexcept { store_head(kept, position); }

void lane_log::store_head(u64 kept, u64 position) noexcept {
    ordered_store(view_.head().kept, pack_checked(kept, kept_seed(of_.region, of_.lane)));
    ordered_store(view_.head().position,
                  pack_checked(position, position_seed(of_.region, of_.lane)));
    region_.med().flush_line(&view_.head());
}

}  // namespace hf::graph
