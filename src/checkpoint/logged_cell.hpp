// logged_cell.hpp: in-cache-line logs for 8-byte fields, as building blocks (Cohen et al., ASPLOS
// 2019, section 4.1).
//
// Purpose. logged_group<N> has N 8-byte values and, in the same cache line, a log of their
// values at the start of the epoch of their last change. logged_cell is a group of one. A data
// structure made of such groups, each within one line, rolls back to an epoch's start without
// flushes or fences during the epoch.
//
//   | now[0] .. now[N-1] | before[0] .. before[N-1] | epoch |     8 (2N + 1) bytes of one line
//
// Invariants.
//  G1  The first change in an epoch writes before[] := now[], then epoch, then now[]; each a
//      release store to the same line. So a prefix on the medium is: logs partly written under the
//      old epoch (harmless: the old epoch is complete, its logs are never used); or all logs and
//      the new epoch; or some new values too.
//  G2  Values change only after begin() in the same epoch.
//
// Recovery (R1). epoch failed -> now[] := before[]. Until epoch changes, repeating this is
// harmless; then the group is stamped with the recovering epoch, whose logs equal the values.
//
// Concurrency. One writer at a time; now[] may be read concurrently. A compiler would reorder
// plain stores, hence the atomics; on x86-64 they cost nothing.
#pragma once

#include "base/bits.hpp"
#include "checkpoint/failed_set.hpp"

#include <array>
#include <atomic>

namespace hf {

template <unsigned N>
struct logged_group {
    static_assert(8 * (2 * N + 1) <= line_size, "a group lies in one cache line");

    std::array<std::atomic<u64>, N> now{};
    std::array<std::atomic<u64>, N> before{};
    std::atomic<u64> epoch{0};

    [[nodiscard]] u64 get(unsigned i) const noexcept {
        return now[i].load(std::memory_order_acquire);
    }

    /// Writes the log if this is the first change in `current`. Returns true if so: the caller then
    /// records the line as dirty. The group must have been recovered.
    bool begin(u64 current) noexcept {
        if (epoch.load(std::memory_order_relaxed) == current) return false;
        for (unsigned i = 0; i < N; ++i) {
            before[i].store(now[i].load(std::memory_order_relaxed), std::memory_order_release);
        }
#if !defined(HF_MUTATION_group_epoch)  // a seeded bug, for the tests of the tests
        epoch.store(current, std::memory_order_release);
#endif
        return true;
    }

    /// Changes value i; call begin() first.
    void set(unsigned i, u64 value) noexcept { now[i].store(value, std::memory_order_release); }

    /// Rolls a failed epoch back (R1) and stamps the group with `current`. True if anything was
    /// written.
    bool recover(const failed_set& failed, u64 current) noexcept {
        if (!failed.contains(epoch.load(std::memory_order_acquire))) return false;
        for (unsigned i = 0; i < N; ++i) {
            now[i].store(before[i].load(std::memory_order_relaxed), std::memory_order_release);
        }
        epoch.store(current, std::memory_order_release);
        return true;
    }
};

using logged_cell = logged_group<1>;

}  // namespace hf
