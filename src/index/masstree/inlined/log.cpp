#include "index/masstree/inlined/log.hpp"

#include "persist/persist_point.hpp"

#include <algorithm>
#include <mutex>

namespace hf::masstree_detail::inlined {

namespace {

[[nodiscard]] bool is_failed_log(u64 w, u64 node_epoch, const failed_set& failed) noexcept {
    return head::is_log(w) && failed.contains(head::epoch(w, node_epoch));
}

void recover_line(inlined_leaf& n, unsigned line, const failed_set& failed, u64 epoch) {
    inlined_leaf::value_line& l = n.lines[line];
    const u64 w = load(l.head);
    if (is_failed_log(w, n.epoch(), failed)) {
        n.put(line * inlined_slots_per_line + head::slot_in_line(w),
              {load(l.old_value), head::kind(w)});
    }
    set_head(l, head::stamp(epoch, n.place()));
}

}  // namespace

bool needs_recovery(const inlined_leaf& n, const failed_set& failed) noexcept {
    const u64 node_epoch = n.epoch();
    if (failed.contains(node_epoch)) return true;
    for (const auto& line : n.lines) {
        if (is_failed_log(load(line.head), node_epoch, failed)) return true;
    }
    return false;
}

void recover(inlined_leaf& n, lane& l, const failed_set& failed, u64 epoch) {
    const std::lock_guard guard(recovery_lock(n));
    // Checked again: while this thread waited for the lock, another may have recovered the leaf,
    // and it may have changed since.
    if (n.epoch() >= failed.horizon() || !needs_recovery(n, failed)) return;
    l.mark_written();
    const u64 permutation_now = recovered_permutation(n, failed);
    // The distance is computed from the first failed epoch, too: if an earlier process was killed
    // within this recovery, line 0's new upper bits may be in the caches only. The first failed
    // epoch is remembered until the whole recovery is durable.
    const u64 oldest = std::min(n.epoch(), failed.ranges().front().first);
    const bool far = !same_upper(oldest, epoch);
    for (unsigned line = 0; line < inlined_lines; ++line) recover_line(n, line, failed, epoch);
    if (far) {  // V3: the value lines must not be read with line 0's new upper bits
        l.med.persist(n.lines.data(), sizeof n.lines);
        HF_PERSIST_POINT(
            "masstree U3: inlined value lines durable before line 0 gets new upper epoch bits");
    }
    store(n.order, permutation_now);
    store(n.permutation_log, permutation_now);
    n.set_epoch(epoch);
    if (far) {  // V3 again: line 0 must have the new upper bits before a log does
        l.med.persist(&n, sizeof(word));
        HF_PERSIST_POINT(
            "masstree U4: line 0 durable before an inlined value line is logged with its bits");
    }
    l.note_sticky(&n, inlined_node_payload);
    HF_ASSERT(!needs_recovery(n, failed), "R1: nothing is left to undo");
}

void check_logs(const inlined_leaf& n, const failed_set& failed) {
    check_line_0(n);
    const unsigned used = used_at_start(n, failed);
    for (const auto& line : n.lines) {
        // A log of a failed epoch is for a slot that was used when that epoch began (V1).
        const u64 w = head_of(line);
        const bool counts = is_failed_log(w, n.epoch(), failed);
        const bool of_none = counts && (used >> slot_of_log(n, line, w) & 1) == 0;
        demand_seal(is_sealed_head(n, line, used) && !of_none, line.head,
                    "a leaf's value log contradicts its seal");
    }
}

void settle(inlined_leaf& n, lane& l, const failed_set& failed, u64 epoch) {
    if (needs_recovery(n, failed)) {
        recover(n, l, failed, epoch);
        return;
    }
    await_recovery(n);
}

}  // namespace hf::masstree_detail::inlined
