// transaction/commit_engine.hpp: how a commit becomes durable. Chosen when the region is made.
//
// Purpose. What a transaction means is the same with every engine: transaction.hpp and context.hpp
// see to it. An engine gets the private copies of a transaction that owns all it has stored to, and
// brings them to the medium and into place such that a crash leaves all or nothing. Each does it
// with a constant number of fences, however many lines there are.
//
//   redo   one fence. The record holds the new words; when it is durable, the transaction is. The
//          places themselves are written back with the epoch's other lines.
//             record: flush | fence |  T1  | place, note
//          Small fresh blocks are in the record, too. More of them are made durable first, which is
//          a second fence: a record that is whole might else be there after a crash without them.
//             fresh blocks: flush | fence |  T0  | record: flush | fence |  T1  | place, note
//   undo   three fences; the paper's log (Coburn et al., section 3.5), but for the whole
//          transaction at once. The record holds the old words.
//             fresh blocks, record: flush  | fence |  U1  | place: flush | fence |  U2  |
//             done: flush | fence |  U3
//   none   no fence: what survives is made so by the epoch's end alone (medium `file`), or nothing
//          is to survive.
//
// Persist order.
//  T0  What was allocated, and is not in the record, is durable before the record is begun.
//  T1  A redo record is durable before any word of it is in place, and before atomic() returns.
//  U1  An undo record, and what was allocated, are durable before any word changes in place.
//  U2  The places are durable before the record is done.
//  U3  It is done, durably, before others see the places, and before atomic() returns.
//  T2  Words in place, the allocator's included, are durable before their records are overwritten:
//      they are noted in the lane, and an epoch's records give way in the next (commit_log.hpp).
//
// Recovery: recovery.hpp. A third engine, without a log, is to come: shadow pages.
//
// Concurrency. Two commits at once change different lines (ownership), and other bits of the
// allocator's words. What one has read of the other was durable before it could be read (T1, U3).
#pragma once

#include "transaction/context.hpp"

#include <memory>

namespace hf {

/// In the region's superblock: transaction_area.hpp.
enum class engine_kind : u32 { redo = 1, undo = 2 };

class commit_engine {
   public:
    commit_engine() = default;
    commit_engine(const commit_engine&) = delete;
    commit_engine& operator=(const commit_engine&) = delete;
    virtual ~commit_engine() = default;

    /// All that can fail.
    [[nodiscard]] virtual result<void> prepare(context& t) = 0;
    /// Makes it durable and puts it in place.
    virtual void commit(context& t, u64 version) noexcept(!crashes_throw) = 0;
};

/// For that medium, and a region of which something is to survive, or nothing.
[[nodiscard]] std::unique_ptr<commit_engine> make_engine(engine_kind kind, const medium& med,
                                                         bool durable);

}  // namespace hf
