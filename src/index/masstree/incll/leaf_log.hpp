// masstree/incll/leaf_log.hpp: the in-cache-line logs of a leaf (Cohen et al., ASPLOS 2019,
// sections 4.1 and 4.3).
//
// Purpose. Undoes a leaf's changes of a failed epoch from logs in the changed cache lines
// themselves. Two kinds of log:
//
//   line 0      permutation log + node epoch: the permutation at the start of epoch node_epoch
//   lines 3, 4  value logs, words of the form
//
//        63        48 47  40 39                              4 3              1   0
//       | epoch 15..0 | seal | old record or layer, bits 39..4 | slot in line | old kind |
//
//     The slot in its line is 0 to 6. value_log_0 and value_log_1 always exist. Beyond the paper,
//     the value word of a free slot serves as a further log of its line. Value words have 14 or 15
//     in the low four bits, logs 0 to 13.
//
// Invariants.
//  V1  A value changes only after its line contains a log of it stamped with the running epoch, or
//      the leaf is in the external log. Log and value are in one line and written in this order by
//      release stores.
//  V2  The permutation changes only after line 0 was stamped: permutation log, then node epoch,
//      then permutation, in one line. Every stamp of node_epoch refreshes the permutation log.
//  V3  All log words of a leaf have the same upper 48 epoch bits as its node_epoch, on the medium
//      too. A first change in an epoch that would break this (once in 2^16 epochs, when the upper
//      bits change) goes to the external log, which restores the whole leaf; then all logs are
//      restamped. A recovery that would break it makes the value lines durable before line 0, and
//      line 0 before any later store (persist points U1 and U2).
//  V4  Value updates do not write line 0. A leaf's newest log can thus be newer than node_epoch,
//      but has the same upper bits.
//  V5  A slot is filled only if it was free when the epoch began, and contains no log of this epoch
//      (the paper's insAllowed, decided per slot); otherwise the leaf goes to the external log
//      first.
//
// Possible combinations on the medium after a crash in epoch e, for a leaf with node_epoch f < e
// and the same upper bits:
//   line 0 old, value line old    nothing to undo
//   line 0 old, value line new    log stamped upper(f) | e's low bits = e, failed: value restored
//   line 0 new, value line old    permutation restored;
//                                 the value log's epoch is older than e,
//                                 so it is not used
//   both new                      both restored, independently of one another
// Key lines need no log: they change only in slots that the restored permutation does not contain.
//
// Damage. All of these words are sealed (checkpoint/seal.hpp); settle() verifies the seals before
// it uses a word.
//
// Recovery (R1). recover() in epoch c restores values, then clears their logs, line by line; then
// it sets permutation, permutation log and node epoch := c. Any prefix of these stores on the
// medium, after any further crashes, is restored by the same rules: a line whose logs are not
// cleared is restored to the same values again as long as its epoch is in the failed set, where it
// remains until a pass over all leaves is durable.
//
// Concurrency. recover() holds a striped volatile lock. Every reader and writer of a leaf first
// calls settle(), which returns only when nothing is left to undo and no recovery is running. "No
// failed log" alone does not suffice, because a recovery clears its last failed log before its last
// store; but a thread that sees the cleared log also sees the recovery lock held, or released after
// the last store. Line 0's new epoch does not suffice either: if its upper bits are new, a writer
// could log with them in a value line, and that line might become durable before line 0 (V3, U2).
// So a thread that finds a leaf with an epoch newer than all failed ones waits for the lock, too.
// recover() neither takes the leaf's lock nor marks its version: no thread has passed settle()
// before.
#pragma once

#include "base/check.hpp"
#include "base/damage.hpp"
#include "checkpoint/operation.hpp"
#include "index/masstree/checkpoint/external_adapter.hpp"
#include "index/masstree/record.hpp"
#include "sync/spin_lock.hpp"

namespace hf::masstree_detail {

/// Fields of a value log word.
namespace log_word {
inline constexpr u64 cleared = 0xe;  ///< in the low bits: not a log

inline constexpr u64 offset_field = window_mask & value_word::offset_field;

/// Makes a log word for the leaf at offset `place`.
[[nodiscard]] constexpr u64 make(u64 epoch, unsigned slot_in_line, u64 old_value,
                                 u64 place) noexcept {
    const u64 kind = value_word::is_layer(old_value) ? 1 : 0;
    const u64 plain =
        (epoch << 48) | (old_value & offset_field) | static_cast<u64>(slot_in_line) << 1 | kind;
    return seal::narrow::put(plain, place);
}
/// A stamp without a log: says that the line is recorded as dirty and its log is free.
[[nodiscard]] constexpr u64 stamp(u64 epoch, u64 place) noexcept {
    return seal::narrow::put((epoch << 48) | cleared, place);
}
[[nodiscard]] constexpr bool is_log(u64 w) noexcept { return (w & 0xf) < 0xe; }
[[nodiscard]] constexpr u64 low_epoch(u64 w) noexcept { return w >> 48; }
[[nodiscard]] constexpr unsigned slot_in_line(u64 w) noexcept {
    return static_cast<unsigned>(w >> 1) & 7;
}
/// The old value word, without its seal.
[[nodiscard]] constexpr u64 old_value(u64 w) noexcept {
    return (w & offset_field) | ((w & 1) != 0 ? value_word::layer_kind : value_word::record_kind);
}
/// The full epoch, by V3.
[[nodiscard]] constexpr u64 epoch(u64 w, u64 node_epoch) noexcept {
    return (node_epoch & ~u64{0xffff}) | low_epoch(w);
}
}  // namespace log_word

inline constexpr unsigned slots_per_line = 7;

[[nodiscard]] inline bool same_upper(u64 a, u64 b) noexcept { return (a >> 16) == (b >> 16); }

[[nodiscard]] inline word& value_log(durable_leaf& n, unsigned line) noexcept {
    return line == 0 ? n.value_log_0 : n.value_log_1;
}

inline void note_value_line(lane& l, const durable_leaf& n, unsigned line) {
    l.note_sticky(&n.values[line * slots_per_line], sizeof(word));
}

/// Stamps line 0 for the running epoch (V2). The leaf is locked, recovered, and same_upper().
inline void begin_permutation(leaf_head& n, lane& l, u64 epoch) {
    if (n.epoch() == epoch) return;
    store(n.permutation_log, load(n.order));
#if !defined(HF_MUTATION_leaf_epoch)  // a seeded bug, for the tests of the tests
    n.set_epoch(epoch);
#endif
    l.note_sticky(&n, 3 * line_size - 16);  // lines 0 to 2: an insert also writes a key
}

/// The slots that are unused at the start of the epoch, and again after a rollback.
[[nodiscard]] inline unsigned free_at_start(const leaf_head& n, u64 epoch) noexcept {
    const u64 word_at_start = n.epoch() == epoch ? load(n.permutation_log) : load(n.order);
    return ~leaf_permutation(word_at_start).used() & ((1U << durable_leaf::width) - 1);
}

/// Logs the value of `slot` in its line (V1). False: no free log; the leaf must go to the external
/// log.
[[nodiscard]] inline bool log_value(durable_leaf& n, lane& l, u64 epoch, unsigned slot) {
    HF_ASSERT(same_upper(n.epoch(), epoch), "V3: logs have the upper bits of line 0");
    const unsigned line = slot / slots_per_line;
    const unsigned in_line = slot % slots_per_line;
    const u64 low = epoch & 0xffff;
    word& log = value_log(n, line);
    const u64 w = load(log);
    if (n.epoch() == epoch && (free_at_start(n, epoch) >> slot & 1) != 0) {
        return true;  // filled in this epoch, its line is stamped: a rollback drops the slot
    }
    const u64 entry = log_word::make(epoch, in_line, load(n.values[slot]), n.place());
    if (log_word::low_epoch(w) != low) {
        store(log, entry);
        note_value_line(l, n, line);
        return true;
    }
    if (!log_word::is_log(w)) {
        store(log, entry);
        return true;
    }
    if (log_word::slot_in_line(w) == in_line) return true;
    const unsigned spare = free_at_start(n, epoch) & ~leaf_permutation(load(n.order)).used();
    int room = -1;
    for (unsigned i = 0; i < slots_per_line; ++i) {
        const unsigned s = line * slots_per_line + i;
        if ((spare >> s & 1) == 0) continue;
        const u64 other = load(n.values[s]);
        const bool log_of_now = log_word::is_log(other) && log_word::low_epoch(other) == low;
        if (log_of_now && log_word::slot_in_line(other) == in_line) return true;
        if (!log_of_now) room = static_cast<int>(s);
    }
    if (room < 0) return false;
    // The slot may have been emptied in this epoch: readers with the old permutation must retry.
    n.version.mark_inserting();
    store(n.values[static_cast<unsigned>(room)], entry);
    return true;
}

/// Stamps the line of `slot` before an unlogged store to it (the slot was free at the epoch's
/// start).
inline void begin_value_line(durable_leaf& n, lane& l, u64 epoch, unsigned slot) {
    const unsigned line = slot / slots_per_line;
    word& log = value_log(n, line);
    if (log_word::low_epoch(load(log)) == (epoch & 0xffff)) return;
    store(log, log_word::stamp(epoch, n.place()));
    note_value_line(l, n, line);
}

/// Whether the free slot `slot` may be filled without the external log (V5).
[[nodiscard]] inline bool may_fill(const durable_leaf& n, u64 epoch, unsigned slot) noexcept {
    if ((free_at_start(n, epoch) >> slot & 1) == 0) return false;
    const u64 w = load(n.values[slot]);
    return !(log_word::is_log(w) && log_word::low_epoch(w) == (epoch & 0xffff));
}

/// Whether a free slot may contain this word: a former value, or none.
[[nodiscard]] inline bool is_settled(const durable_leaf& n, u64 w) noexcept {
    return w == log_word::cleared || (!log_word::is_log(w) && n.is_value(w));
}

/// Resets all logs to the running epoch and empty (V3), after the leaf was logged externally or
/// created. In a new leaf, whose block may contain arbitrary bytes, `order` has been set.
inline void restamp(durable_leaf& n, u64 epoch) noexcept {
    const unsigned used = leaf_permutation(load(n.order)).used();
    for (unsigned s = 0; s < durable_leaf::width; ++s) {
        if ((used >> s & 1) == 0 && !is_settled(n, load(n.values[s]))) {
            store(n.values[s], log_word::cleared);
        }
    }
    store(n.value_log_0, log_word::stamp(epoch, n.place()));
    store(n.value_log_1, log_word::stamp(epoch, n.place()));
    store(n.permutation_log, load(n.order));
    n.set_epoch(epoch);
    store(n.log_epoch, epoch);
}

/// The permutation after a rollback.
[[nodiscard]] inline u64 recovered_permutation(const leaf_head& n,
                                               const failed_set& failed) noexcept {
    return failed.contains(n.epoch()) ? load(n.permutation_log) : load(n.order);
}
/// Held while a leaf is rolled back; shared by several leaves.
[[nodiscard]] spin_lock& recovery_lock(const leaf_head& n) noexcept;
/// Waits until a recovery of the leaf that was running at the call has ended.
void await_recovery(const leaf_head& n) noexcept;

/// Whether any log of the leaf is of a failed epoch. Requires node_epoch < horizon.
[[nodiscard]] bool needs_recovery(const durable_leaf& n, const failed_set& failed) noexcept;

/// Rolls the leaf back (R1), if that is still needed.
void recover(durable_leaf& n, lane& l, const failed_set& failed, u64 epoch);

[[nodiscard]] inline bool is_sealed_log(const durable_leaf& n, u64 w) noexcept {
    return seal::narrow::fits(w, n.place());
}
/// Whether a slot may contain this word: a value or a log.
[[nodiscard]] inline bool is_sound_slot(const durable_leaf& n, u64 w) noexcept {
    return is_settled(n, w) || (log_word::is_log(w) && is_sealed_log(n, w));
}

/// Throws damage at the word, unless it is sound.
void demand_seal(bool is_sound, const word& w, const char* why);
/// Throws damage unless epoch and permutations match their seals.
void check_line_0(const leaf_head& n);
/// Throws damage unless every word that a rollback uses matches its seal.
void check_logs(const durable_leaf& n);

/// Returns after the leaf was rolled back. Requires node_epoch < horizon.
void settle(durable_leaf& n, lane& l, const failed_set& failed, u64 epoch);

}  // namespace hf::masstree_detail
