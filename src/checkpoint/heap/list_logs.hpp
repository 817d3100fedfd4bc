// checkpoint/heap/list_logs.hpp: how a change of list_heap's lists is logged: rolled back, or not
// at all.
#pragma once

#include "checkpoint/heap/layout.hpp"
#include "checkpoint/operation.hpp"

namespace hf {

/// The lists roll back to an epoch's start: the policy of the disciplines `logged` and `incll`.
struct rolled_back_lists {
    static constexpr bool are_kept = true;

    /// The first change of a group in the operation's epoch.
    static void begin(operation& op, class_lists& g) {
        const u64 live = g.live.load(std::memory_order_relaxed) & 0xffffffff;
        g.live.store(live << 32 | live, std::memory_order_release);
        g.lists.begin(op.epoch());
        op.my_lane().note_sticky(&g, sizeof(g));
    }

    static void set_next(operation& op, compact_cell& header, u64 next) {
        header.write(next >> 4, op.failed(), op.epoch());
        op.my_lane().note_once(&header, sizeof(header));
    }

    /// Rolls all list heads back.
    static void recover(heap_root& root, checkpoint_state& c) {
        const failed_set& failed = c.failed();
        const medium& med = c.file().med();
        if (failed.empty()) return;
        for (lane_lists& of_lane : root.lanes) {
            for (class_lists& g : of_lane.classes) {
                if (!failed.contains(g.lists.epoch.load(std::memory_order_relaxed))) continue;
                const u64 before = g.live.load(std::memory_order_relaxed) >> 32;
                g.live.store(before << 32 | before, std::memory_order_release);
                // Stamp 0, not the running epoch: the first change in this session must note the
                // line.
                g.lists.recover(failed, 0);
                med.flush(&g, sizeof(g));
            }
        }
        med.fence();
    }
};

/// No logs: the lists end with the process. The policy of the discipline `transient`.
struct unlogged_lists {
    static constexpr bool are_kept = false;

    static void begin(operation& op, class_lists& g) noexcept {
        g.lists.epoch.store(op.epoch(), std::memory_order_relaxed);
    }
    static void set_next(operation&, compact_cell& header, u64 next) noexcept {
        // As value << 4, which is how a cell keeps it: offsets have four low zeros.
        header.now.store(next, std::memory_order_relaxed);
    }
    static void recover(heap_root&, checkpoint_state&) noexcept {}
};

}  // namespace hf
