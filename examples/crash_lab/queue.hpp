// queue.hpp: a structure of one's own: a queue of numbers in persistent memory.
//
// It is all that a user of Holdfast writes to have a structure that survives crashes: each change
// happens inside an operation, each field that changes has its log in its own cache line, each line
// that is touched for the first time in an epoch is noted. queue_target.cpp has the crash lab look
// whether that was done right.
//
// On the medium, in the region's first segment:
//
//   | ends: pushed, popped, with their log | items: capacity times a value with its log |
//
// Item n lies at place n % capacity, each in a line of its own.
#pragma once

#include "checkpoint/logged_cell.hpp"
#include "checkpoint/opening.hpp"
#include "checkpoint/operation.hpp"

#include <optional>

namespace example {

using hf::u64;

class queue {
   public:
    static constexpr u64 capacity = 8;

    /// Opens or creates it in the region, in this order: region, log, structure, session.
    static hf::result<queue> open(const char* path, const hf::region_options& options) {
        auto file = hf::open_region(path, options);
        if (!file) return tl::unexpected(file.error());
        hf::checkpoint_options by_hand;
        by_hand.epoch = hf::no_clock;  // epochs end when we say so
        by_hand.recovery_threads = 1;
        queue q;
        q.up_ = hf::checkpointed_region(std::move(*file));
        hf::opening up(q.up_, by_hand);
        up.add(hf::recovery_phase::discipline, "queue", [&q] { return q.find_place(); });
        if (auto ok = up.run(); !ok) return tl::unexpected(ok.error());
        return q;
    }

    /// False: it is full.
    bool push(u64 value) {
        const hf::operation op(up_.checkpoint());
        touch(op, there_->ends);
        const u64 pushed = there_->ends.get(0);
        if (pushed - there_->ends.get(1) == capacity) return false;
        item& i = there_->items[pushed % capacity];
        touch(op, i);
        i.set(0, value);
        there_->ends.set(0, pushed + 1);
        return true;
    }

    std::optional<u64> pop() {
        const hf::operation op(up_.checkpoint());
        touch(op, there_->ends);
        const u64 popped = there_->ends.get(1);
        if (popped == there_->ends.get(0)) return std::nullopt;
        item& i = there_->items[popped % capacity];
        touch(op, i);
        there_->ends.set(1, popped + 1);
        return i.get(0);
    }

    u64 size() {
        const hf::operation op(up_.checkpoint());
        touch(op, there_->ends);
        return there_->ends.get(0) - there_->ends.get(1);
    }

    /// The n-th from the front; n < size().
    u64 peek(u64 n) {
        const hf::operation op(up_.checkpoint());
        touch(op, there_->ends);
        item& i = there_->items[(there_->ends.get(1) + n) % capacity];
        touch(op, i);
        return i.get(0);
    }

    hf::epoch_manager& epochs() { return up_.epochs(); }
    /// Whether a crash had left an epoch half done.
    bool was_undone() const { return up_.checkpoint().needs_recovery(); }

   private:
    struct alignas(hf::line_size) both_ends : hf::logged_group<2> {};
    struct alignas(hf::line_size) item : hf::logged_cell {};
    struct contents {
        both_ends ends;
        item items[capacity];
    };

    // Before a group is used: what a crashed epoch did to it is undone, its log is taken, and its
    // line is noted, so that the epoch's end writes it back.
    template <class Group>
    static void touch(const hf::operation& op, Group& g) {
        const bool undone = g.recover(op.failed(), op.epoch());
        const bool changed = g.begin(op.epoch()) || undone;
#ifdef EXAMPLE_FORGETS_TO_NOTE  // what the lab should find
        static_cast<void>(changed);
#else
        if (changed) op.my_lane().note_sticky(&g, sizeof(g));
#endif
        op.my_lane().mark_written();
    }

    // A fresh segment reads as zeros: an empty queue.
    hf::result<void> find_place() {
        auto all = up_.file().segments();
        if (all.empty()) {
            auto first = up_.file().grow(hf::segment_kind::heap, 1, 0);
            if (!first) return tl::unexpected(first.error());
            all.push_back(*first);
        }
        there_ = up_.file().at<contents>(all.front().offset);
        return {};
    }

    hf::checkpointed_region up_;
    contents* there_ = nullptr;
};

}  // namespace example
