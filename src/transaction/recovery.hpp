// transaction/recovery.hpp: what an opening makes of the commit records that a crash has left.
//
// Only those of the interrupted epoch count: what older ones say is in place (commit_log.hpp).
// All whole records, of all lanes, are applied in the order of their versions: two that change one
// line follow each other in it, and so do two that change a bit of the allocator's. A commit that
// another has read from is durable if that one is (commit_engine.hpp), so what is found is a state
// that was there.
//
// Persist order. T4: the records that are applied are durable before a word of them is in place: a
// process that was killed may have left one in the caches alone, and if the power went when half
// of it is in place, nothing would complete it. T3: what was applied is durable before the session
// begins, which makes the records those of an older epoch (epoch/epoch_manager.hpp, O1). Cut short
// before, it is done again.
//
// Bad input. errc::corrupt: a record that leads outside of the region, one of the middle of a log
// that is not whole (R2 of commit_record.hpp), or changes of what is no word of the allocator's.
// Nothing has been changed then.
#pragma once

#include "base/bits.hpp"
#include "region/region.hpp"
#include "transaction/commit_record.hpp"

#include <vector>

namespace hf {

struct applied_records {
    u64 records = 0;
    u64 bytes = 0;
};

/// The whole records of that epoch, of all logs, checked, in the order of their versions.
[[nodiscard]] result<std::vector<record_view>> read_records(const region& r, u64 epoch);
/// Applies the records of that epoch, of kind redo or undo; before the heap is opened.
[[nodiscard]] result<applied_records> apply_records(region& r, u64 epoch);

}  // namespace hf
