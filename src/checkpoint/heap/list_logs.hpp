// checkpoint/heap/list_logs.hpp: how changes of list_heap's lists are logged: rolled back, or not
// at all.
#pragma once

#include "checkpoint/heap/layout.hpp"
#include "checkpoint/operation.hpp"

#include <span>

namespace hf {

/// Within an epoch but without an operation: the argument of epoch_manager::with_world_stopped().
class stopped_world {
   public:
    stopped_world(checkpoint_state& c, lane& system) noexcept : state_(c), lane_(system) {}

    [[nodiscard]] u64 epoch() const noexcept { return lane_.epoch; }
    [[nodiscard]] const failed_set& failed() const noexcept { return state_.failed(); }
    [[nodiscard]] lane& my_lane() const noexcept { return lane_; }

   private:
    checkpoint_state& state_;
    lane& lane_;
};

/// The lists roll back to an epoch's start: the policy of the disciplines `logged` and `incll`.
struct rolled_back_lists {
    static constexpr bool are_kept = true;

    /// The first change of a group in the epoch of `op`: an operation, or a stopped_world.
    template <class Inside>
    static void begin(Inside& op, class_lists& g) {
        const u64 live = g.live.load(std::memory_order_relaxed) & 0xffffffff;
        g.live.store(live << 32 | live, std::memory_order_release);
        g.lists.begin(op.epoch());
        op.my_lane().note_sticky(&g, sizeof(g));
    }

    template <class Inside>
    static void set_next(Inside& op, compact_cell& header, u64 next) {
        header.write(next >> 4, op.failed(), op.epoch());
        op.my_lane().note_once(&header, sizeof(header));
    }

    /// Rolls all list heads back.
    static void recover(std::span<class_lists> all, checkpoint_state& c) {
        const failed_set& failed = c.failed();
        const medium& med = c.file().med();
        if (failed.empty()) return;
        for (class_lists& g : all) {
            if (!failed.contains(g.lists.epoch.load(std::memory_order_relaxed))) continue;
            const u64 before = g.live.load(std::memory_order_relaxed) >> 32;
            g.live.store(before << 32 | before, std::memory_order_release);
            // Stamp 0, not the running epoch: the first change in this session must record the
            // line.
            g.lists.recover(failed, 0);
            med.flush(&g, sizeof(g));
        }
        med.fence();
    }
};

/// No logs: the lists end with the process. The policy of the discipline `transient`.
struct unlogged_lists {
    static constexpr bool are_kept = false;

    template <class Inside>
    static void begin(Inside& op, class_lists& g) noexcept {
        g.lists.epoch.store(op.epoch(), std::memory_order_relaxed);
    }
    template <class Inside>
    static void set_next(Inside&, compact_cell& header, u64 next) noexcept {
        // As value << 4, which is how a cell keeps it: offsets have four low zeros.
        header.now.store(next, std::memory_order_relaxed);
    }
    static void recover(std::span<class_lists>, checkpoint_state&) noexcept {}
};

}  // namespace hf
