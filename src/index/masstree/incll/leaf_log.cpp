#include "index/masstree/incll/leaf_log.hpp"

#include "persist/persist_point.hpp"

#include <algorithm>
#include <array>
#include <mutex>

namespace hf::masstree_detail {

namespace {

[[nodiscard]] bool is_failed_log(u64 w, u64 node_epoch, const failed_set& failed) noexcept {
    return log_word::is_log(w) && failed.contains(log_word::epoch(w, node_epoch));
}

/// Restores the values of one line from its logs, then clears them.
void recover_line(durable_leaf& n, unsigned line, unsigned used, const failed_set& failed,
                  u64 epoch) {
    const u64 node_epoch = n.epoch();
    const unsigned first = line * slots_per_line;
    const auto restore = [&](u64 w) {
        if (is_failed_log(w, node_epoch, failed)) {
            store(n.values[first + log_word::slot_in_line(w)],
                  n.sealed_value(log_word::old_value(w)));
        }
    };
    word& log = value_log(n, line);
    restore(load(log));
    for (unsigned s = first; s < first + slots_per_line; ++s) {
        if ((used >> s & 1) == 0) restore(load(n.values[s]));
    }
    for (unsigned s = first; s < first + slots_per_line; ++s) {
        if ((used >> s & 1) == 0 && log_word::is_log(load(n.values[s]))) {
            store(n.values[s], log_word::cleared);
        }
    }
    store(log, log_word::stamp(epoch, n.place()));
}

}  // namespace

// Locks are volatile: a lock word in the leaf would be garbage after a crash (Cohen et al., ASPLOS
// 2019, section 4.3).
spin_lock& recovery_lock(const leaf_head& n) noexcept {
    constexpr std::size_t stripes = 1024;
    static std::array<spin_lock, stripes> locks;
    return locks[(reinterpret_cast<u64>(&n) / node_block) % stripes];
}

void await_recovery(const leaf_head& n) noexcept {
    backoff pause;
    while (recovery_lock(n).is_held()) pause.wait();
}

bool needs_recovery(const durable_leaf& n, const failed_set& failed) noexcept {
    const u64 node_epoch = n.epoch();
    if (failed.contains(node_epoch)) return true;
    if (is_failed_log(load(n.value_log_0), node_epoch, failed)) return true;
    if (is_failed_log(load(n.value_log_1), node_epoch, failed)) return true;
    const unsigned used = leaf_permutation(load(n.order)).used();
    for (unsigned s = 0; s < durable_leaf::width; ++s) {
        if ((used >> s & 1) == 0 && is_failed_log(load(n.values[s]), node_epoch, failed)) {
            return true;
        }
    }
    return false;
}

void recover(durable_leaf& n, lane& l, const failed_set& failed, u64 epoch) {
    const std::lock_guard guard(recovery_lock(n));
    // Checked again: while this thread waited for the lock, another may have recovered the leaf,
    // and it may have changed since.
    if (n.epoch() >= failed.horizon() || !needs_recovery(n, failed)) return;
    l.mark_written();
    const u64 permutation_now = recovered_permutation(n, failed);
    const unsigned used = leaf_permutation(permutation_now).used();
    // The distance is computed from the first failed epoch, too: if an earlier process was killed
    // within this recovery, line 0's new upper bits may be in the caches only. The first failed
    // epoch is remembered until the whole recovery is durable.
    const u64 oldest = std::min(n.epoch(), failed.ranges().front().first);
    const bool far = !same_upper(oldest, epoch);
    recover_line(n, 0, used, failed, epoch);
    recover_line(n, 1, used, failed, epoch);
    if (far) {  // V3: the value lines must not be read with line 0's new upper bits
        l.med.persist(&n.value_log_0, 2 * line_size);
        HF_PERSIST_POINT(
            "masstree U1: value lines durable before line 0 gets new upper epoch bits");
    }
    store(n.order, permutation_now);
    store(n.permutation_log, permutation_now);
    n.set_epoch(epoch);
    if (far) {  // V3 again: line 0 must have the new upper bits before a log does
        l.med.persist(&n, sizeof(word));
        HF_PERSIST_POINT("masstree U2: line 0 durable before a value line is logged with its bits");
    }
    note_node(l, &n);
    HF_ASSERT(!needs_recovery(n, failed), "R1: nothing is left to undo");
}

void demand_seal(bool is_sound, const word& w, const char* why) {
    if (!is_sound) throw damage(seal::place_of(&w), why);
}

void check_line_0(const leaf_head& n) {
    demand_seal(n.has_sound_epoch(), n.node_epoch, "a leaf's epoch contradicts its seal");
    demand_seal(n.is_order(load(n.order)), n.order, "a leaf's permutation contradicts its seal");
    demand_seal(n.is_order(load(n.permutation_log)), n.permutation_log,
                "the log of a leaf's permutation contradicts its seal");
}

void check_logs(const durable_leaf& n) {
    check_line_0(n);
    for (const word* w : {&n.value_log_0, &n.value_log_1}) {
        demand_seal(is_sealed_log(n, load(*w)), *w, "a leaf's value log contradicts its seal");
    }
    for (const word& w : n.values) {
        demand_seal(is_sound_slot(n, load(w)), w,
                    "a value of a leaf, or the log in its place, contradicts its seal");
    }
}

void settle(durable_leaf& n, lane& l, const failed_set& failed, u64 epoch) {
    if (needs_recovery(n, failed)) {
        recover(n, l, failed, epoch);
        return;
    }
    await_recovery(n);
}

}  // namespace hf::masstree_detail
