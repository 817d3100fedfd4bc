// The undo engine: the log of Coburn et al., "NV-Heaps" (ASPLOS 2011), section 3.5, but for the
// whole transaction at once. The record holds the old words.
//
//   fresh blocks, record: flush | fence | U1 | place: flush | fence | U2 | done: flush | fence | U3
//
// Persist order.
//  U1  The record, and what was allocated, are durable before any word changes in place.
//  U2  The places are durable before the record is done.
//  U3  It is done, durably, before others see the places, and before atomic() returns.
//
// Recovery: recovery.hpp.
#include "persist/persist_point.hpp"
#include "transaction/commit_engine.hpp"

namespace hf {
namespace {

class undo_engine final : public commit_engine {
   public:
    using commit_engine::commit_engine;

    result<void> prepare(context& t) override {
        return t.engine_state().make_room(t, record_bytes(body_of(t)));
    }
    void commit(context& t, u64 version) noexcept(!crashes_throw) override {
        const medium& med = file().med();
        t.flush_fresh();
        const u64 record = t.log().lay(t.epoch(), version, body_of(t));
        med.fence();
        HF_PERSIST_POINT("transaction U1: an undo record is durable before a word changes");
        t.place_lines();
        t.flush_lines();
        med.fence();
        HF_PERSIST_POINT("transaction U2: the places are durable before their record is done");
        med.persist(&mark_done(t.file(), record), sizeof(u64));
        HF_PERSIST_POINT("transaction U3: a record is done before others see its places");
        t.place_heap_changes();
    }

   private:
    [[nodiscard]] static record_body body_of(context& t) {
        return {record_kind::undo, t.lines(), {}, t.heap_changes()};
    }
};

}  // namespace

std::unique_ptr<commit_engine> make_undo_engine(region& r) {
    return std::make_unique<undo_engine>(r);
}

}  // namespace hf
