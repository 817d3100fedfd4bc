// The redo engine: the record holds the new words; when it is durable, the transaction is. The
// places themselves are written back with the epoch's other lines.
//
//   record: flush | fence |  T1  | place, note
//
// Small fresh blocks are in the record, too. More of them are made durable first, which is a second
// fence: a record that is whole might else be there after a crash without them.
//
//   fresh blocks: flush | fence |  T0  | record: flush | fence |  T1  | place, note
//
// Persist order.
//  T0  New blocks that are not in the record are durable before the record is begun.
//  T1  The record is durable before any word of it is in place, and before atomic() returns. So
//      values that another transaction has read of this one are durable.
//
// Recovery: recovery.hpp.
#include "persist/persist_point.hpp"
#include "transaction/commit_engine.hpp"

namespace hf {
namespace {

/// Maximum number of bytes of fresh blocks that are logged. Two or three lines more in the log cost
/// less than a fence.
constexpr u64 most_logged_fresh = 256;

class redo_engine final : public commit_engine {
   public:
    using commit_engine::commit_engine;

    // As a rule there is more room than the record can need, and its words are not counted.
    result<void> prepare(context& t) override {
        const record_body body = body_of(t);
        if (t.log().has_room(most_record_bytes(body), t.epoch())) return {};
        return t.engine_state().make_room(t, record_bytes(body));
    }
    void commit(context& t, u64 version) noexcept(!crashes_throw) override {
        const medium& med = file().med();
        const record_body body = body_of(t);
        if (body.fresh.size() != t.fresh().size()) {
            t.flush_fresh();
            med.fence();
            HF_PERSIST_POINT("transaction T0: what was allocated is durable before its record");
        } else {
            t.note_fresh();
        }
        t.log().lay(t.epoch(), version, body);
        med.fence();
        HF_PERSIST_POINT("transaction T1: a redo record is durable before its words are in place");
        t.place_lines();
        t.place_heap_changes();
    }

   private:
    [[nodiscard]] static record_body body_of(context& t) {
        const bool logs_fresh = t.fresh_bytes() <= most_logged_fresh;
        return {record_kind::redo, t.lines(),
                logs_fresh ? t.fresh() : std::span<const fresh_block>{}, t.heap_changes()};
    }
};

}  // namespace

std::unique_ptr<commit_engine> make_redo_engine(region& r) {
    return std::make_unique<redo_engine>(r);
}

}  // namespace hf
