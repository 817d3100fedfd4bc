// transaction/ownership.hpp: the owner of a line, or the commit that changed it last. Volatile.
//
// Records are found by a hash of the line's address (transaction.hpp); two lines with one record
// are owned together. A record is owned from the first store to one of its lines until the commit
// is installed, or the attempt has ended. Versions come from one clock. A commit takes its version
// when it owns all lines that it changes, so a reader whose snapshot includes it waits for the
// owner or sees all of it.
//
// A single-threaded heap (detail::isolation) needs no owners: there every record looks owned by
// another thread, so each load and store takes the slow path, which checks the isolation.
#pragma once

#include <holdfast/transaction.hpp>

#include "base/bits.hpp"

#include <atomic>
#include <memory>

namespace hf {

struct ownership {
    static constexpr u64 count = u64{1} << detail::ownership_bits;
    static constexpr unsigned nobody = 0xffff;  ///< no lane

    explicit ownership(detail::isolation kept)
        : records(std::make_unique<std::atomic<u64>[]>(count)) {
        if (kept == detail::isolation::threads) return;
        for (u64 i = 0; i < count; ++i) {
            records[i].store(mark_of(nobody), std::memory_order_relaxed);
        }
    }

    [[nodiscard]] static u64 index_of(u64 line) noexcept { return line & (count - 1); }
    [[nodiscard]] static bool is_owned(u64 record) noexcept {
        return (record & detail::owned_flag) != 0;
    }
    [[nodiscard]] static u64 mark_of(unsigned lane) noexcept { return detail::owned_flag | lane; }

    std::unique_ptr<std::atomic<u64>[]> records;
    alignas(line_size) std::atomic<u64> clock{0};  ///< version of the newest commit
};

}  // namespace hf
