// large_value.hpp: writes a value that is stored in an extent of its own.
//
// Purpose. An epoch boundary must not wait until megabytes are copied. So a put reserves an extent
// in one operation, fills and persists it outside of any operation, and links it in a second
// operation.
//
// Persist order. V1: the value's bytes are durable before a leaf refers to them. They are persisted
// explicitly, because they are on no dirty list that a boundary would write back.
#pragma once

#include <holdfast/map.hpp>

#include "base/check.hpp"
#include "checkpoint_map/engine.hpp"
#include "map_engine/map_engine.hpp"
#include "persist/persist_point.hpp"

#include <functional>
#include <optional>
#include <string_view>

namespace hf {

/// Frees a new record that was not stored, because of an error, a refused condition, or an
/// exception thrown by the caller's function.
template <class F>
struct undo_unless_stored {
    F undo;
    bool stored = false;
    explicit undo_unless_stored(F f) : undo(std::move(f)) {}
    ~undo_unless_stored() {
        if (!stored) undo();
    }
    undo_unless_stored(const undo_unless_stored&) = delete;
    undo_unless_stored& operator=(const undo_unless_stored&) = delete;
};

/// Puts a value that is larger than a block; `allowed` may be null.
template <class D>
result<write_outcome> store_large_value(engine<D>& machine, std::string_view key,
                                        std::string_view value, const write_condition* allowed) {
    masstree<D>& tree = machine.tree();
    heap<D>& memory = machine.memory();
    const u64 payload = masstree_detail::record_payload(key, value.size());
    lane& l = machine.epochs().my_lane();
    u64 fresh = 0;
    std::optional<private_pages::hold> hold;
    {
        operation op(machine.checkpoint(), l);
        auto reserved = memory.reserve_large(op, payload);
        if (!reserved) return tl::unexpected(reserved.error());
        fresh = *reserved;
        HF_ASSERT(is_large(payload), "a small value has no extent");
        const journalled_file* const journal = machine.epochs().journal();
        hold.emplace(journal != nullptr ? journal->copies() : nullptr, tree.record_at(fresh),
                     payload);
    }
    auto* r = tree.record_at(fresh);
    masstree_detail::fill_record(r, key, value, fresh);
    l.med.persist(r, payload);
    HF_PERSIST_POINT("store V1: a large value's bytes durable before it is linked");
    operation op(machine.checkpoint(), l);
    // after entering: a boundary that has captured the epoch before this operation must not evict
    // the pages
    hold.reset();
    bool committed = false;
    undo_unless_stored undo{[&] {
        if (committed) {
            // after the condition allowed the write, the log was full
            memory.deallocate(op, fresh, payload);
        } else {
            memory.cancel_large(fresh, payload);
        }
    }};
    const auto decide = [&](const masstree_detail::record* old) {
        const auto view = old != nullptr ? std::optional(old->value()) : std::nullopt;
        if (allowed != nullptr && !(*allowed)(view)) return decision{};
        memory.commit_large(op, fresh, payload);
        committed = true;
        return decision{decision::action::store, fresh};
    };
    auto done = tree.update(op, key, decide, allowed == nullptr);
    if (!done) return tl::unexpected(done.error());
    undo.stored = done->changed;
    return write_outcome{op.epoch(), done->changed, done->existed};
}

}  // namespace hf
