// server/total_output.hpp: the unread output of all connections together.
//
// Purpose. A client that does not read costs at most its own bound and one value (session.hpp, S2).
// A thousand such clients could still take gigabytes. So each connection adds its unread bytes to
// one sum. While the sum is at its bound,
//   - a session stops at small_bound unread bytes of its own, and continues when its client reads;
//   - a value of large_data bytes or more, which does not fit below the bound, is not sent: the
//     answer is memcached's "SERVER_ERROR out of memory writing get response".
//
// T1  The sum is at most: bound + small_bound and one short value for each connection + one turn of
//     each worker, because a connection reports its bytes once a turn, after it has tried to send.
//
// Concurrency. Any thread; relaxed, because the sum orders nothing.
#pragma once

#include "base/bits.hpp"

#include <atomic>

namespace hf::detail {

struct total_output {
    /// Unread bytes that each client may have while the sum is at its bound.
    static constexpr u64 small_bound = 16384;

    [[nodiscard]] bool is_full() const noexcept { return !fits(0); }
    /// Whether `size` bytes more stay below the bound.
    [[nodiscard]] bool fits(u64 size) const noexcept {
        return unread.load(std::memory_order_relaxed) + size < bound;
    }
    /// A connection's unread bytes have changed.
    void change(u64 from, u64 to) noexcept {
        if (from != to) unread.fetch_add(to - from, std::memory_order_relaxed);
    }

    std::atomic<u64> unread{0};
    u64 bound = ~u64{0};
};

}  // namespace hf::detail
