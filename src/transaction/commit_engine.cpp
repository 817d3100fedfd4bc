#include "transaction/commit_engine.hpp"

#include "persist/persist_point.hpp"

namespace hf {
namespace {

/// Up to so many bytes of fresh blocks are logged. Two or three lines more in the log cost less
/// than a fence.
constexpr u64 most_logged_fresh = 256;

class redo_engine final : public commit_engine {
   public:
    explicit redo_engine(const medium& med) noexcept : medium_(med) {}

    // As a rule there is more room than the record can need, and its words are not counted.
    result<void> prepare(context& t) override {
        const record_body body = body_of(t);
        if (t.log().has_room(most_record_bytes(body), t.epoch())) return {};
        return t.make_room(record_bytes(body));
    }
    void commit(context& t, u64 version) noexcept(!crashes_throw) override {
        const record_body body = body_of(t);
        if (body.fresh.size() != t.fresh().size()) {
            t.flush_fresh();
            medium_.fence();
            HF_PERSIST_POINT("transaction T0: what was allocated is durable before its record");
        } else {
            t.note_fresh();
        }
        t.log().lay(t.epoch(), version, body);
        medium_.fence();
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

    const medium& medium_;
};

class undo_engine final : public commit_engine {
   public:
    explicit undo_engine(const medium& med) noexcept : medium_(med) {}

    result<void> prepare(context& t) override { return t.make_room(record_bytes(body_of(t))); }
    void commit(context& t, u64 version) noexcept(!crashes_throw) override {
        t.flush_fresh();
        const u64 record = t.log().lay(t.epoch(), version, body_of(t));
        medium_.fence();
        HF_PERSIST_POINT("transaction U1: an undo record is durable before a word changes");
        t.place_lines();
        t.flush_lines();
        medium_.fence();
        HF_PERSIST_POINT("transaction U2: the places are durable before their record is done");
        medium_.persist(&mark_done(t.file(), record), sizeof(u64));
        HF_PERSIST_POINT("transaction U3: a record is done before others see its places");
        t.place_heap_changes();
    }

   private:
    [[nodiscard]] static record_body body_of(context& t) {
        return {record_kind::undo, t.lines(), {}, t.heap_changes()};
    }

    const medium& medium_;
};

/// Epochs reach the medium whole, or not at all.
class no_engine final : public commit_engine {
   public:
    result<void> prepare(context& t) override {
        static_cast<void>(t.heap_changes());
        return {};
    }
    void commit(context& t, u64) noexcept(!crashes_throw) override {
        t.note_fresh();
        t.place_lines();
        t.place_heap_changes();
    }
};

}  // namespace

std::unique_ptr<commit_engine> make_engine(engine_kind kind, const medium& med, bool durable) {
    if (!durable || med.is_atomic()) return std::make_unique<no_engine>();
    if (kind == engine_kind::undo) return std::make_unique<undo_engine>(med);
    return std::make_unique<redo_engine>(med);
}

}  // namespace hf
