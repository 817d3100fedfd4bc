// server/counters.hpp: the server's counters, with memcached's names.
//
// Concurrency. Each worker has its own counters: one thread writes them, any thread may read them,
// without locked instructions. `stats` adds up the workers and subtracts the values of the last
// `stats reset`.
#pragma once

#include "base/bits.hpp"

#include <array>
#include <atomic>
#include <string_view>

namespace hf::detail {

enum class tally : u8 {
    cmd_get,
    cmd_set,
    cmd_flush,
    cmd_touch,
    get_hits,
    get_misses,
    get_expired,
    get_flushed,
    delete_misses,
    delete_hits,
    incr_misses,
    incr_hits,
    decr_misses,
    decr_hits,
    cas_misses,
    cas_hits,
    cas_badval,
    touch_hits,
    touch_misses,
    store_too_large,
    store_no_memory,
    total_items,
    bytes_read,
    bytes_written,
    conn_yields,
    crawler_reclaimed,
};

inline constexpr std::array<std::string_view, 26> tally_names{
    "cmd_get",          "cmd_set",     "cmd_flush",   "cmd_touch",     "get_hits",
    "get_misses",       "get_expired", "get_flushed", "delete_misses", "delete_hits",
    "incr_misses",      "incr_hits",   "decr_misses", "decr_hits",     "cas_misses",
    "cas_hits",         "cas_badval",  "touch_hits",  "touch_misses",  "store_too_large",
    "store_no_memory",  "total_items", "bytes_read",  "bytes_written", "conn_yields",
    "crawler_reclaimed"};

using tallies = std::array<u64, tally_names.size()>;

class counters {
   public:
    /// Only by the owning thread.
    void add(tally which, u64 n = 1) noexcept {
        auto& value = values_[static_cast<std::size_t>(which)];
        value.store(value.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    void add_to(tallies& sum) const noexcept {
        for (std::size_t i = 0; i < sum.size(); ++i) {
            sum[i] += values_[i].load(std::memory_order_relaxed);
        }
    }

   private:
    std::array<std::atomic<u64>, tally_names.size()> values_{};
};

}  // namespace hf::detail
