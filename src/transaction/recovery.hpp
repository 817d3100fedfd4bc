// transaction/recovery.hpp: applies the commit records that a crash has left.
//
// Only those of the interrupted epoch count: older ones are installed (commit_log.hpp).
// All complete records, of all lanes, are applied in the order of their versions, so two that
// change one line are applied in that order, and so are two that change a bit of the allocator's. A
// commit is durable if another that has read from it is (commit_engine.hpp), so the result is a
// state that existed.
//
// Persist order. T4: the applied records are durable before a word of them is installed. A
// killed process may have left one only in the caches, and after a power cut with half
// of it installed, nothing would complete it. T3: the installed words are durable before the
// session begins, after which the records belong to an older epoch (epoch/epoch_manager.hpp, O1).
// After an interruption before that, they are applied again.
//
// Bad input. errc::corrupt: a record with an offset outside of the region, an incomplete one in the
// middle of a log (R2 of commit_record.hpp), or changes of words that are not the allocator's.
// Nothing has been changed then.
#pragma once

#include "base/bits.hpp"
#include "region/region.hpp"

namespace hf {

struct applied_records {
    u64 records = 0;
    u64 bytes = 0;
};

/// Applies the records of that epoch. Call it before the heap is opened.
[[nodiscard]] result<applied_records> apply_records(region& r, u64 epoch);

}  // namespace hf
