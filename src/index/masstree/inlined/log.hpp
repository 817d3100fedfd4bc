// masstree/inlined/log.hpp: the in-cache-line logs of a leaf with inlined values
// (inlined/leaf.hpp).
//
// Purpose. Extends incll/leaf_log.hpp, whose line 0, V2, V4 and recovery of the permutation apply
// here, too. Only the log of a value line differs: an eight-byte value leaves no spare bits in its
// word.
//
//        63        35 34      32 31 28 27 16 15        0
//       | epoch 28..0 | slot 0-4 | kind | sum | check 4 |      head; `old value` is the word before
//
//     Kind none: a stamp without a log. The sum covers epoch, slot, kind and offset, and for a log
//     also the old value and the slot's key, from which a rollback computes a check.
//
// Invariants.
//  V1  A slot that was used when the epoch began changes only after its line contains a log of it
//      stamped with the running epoch, or the leaf is in the external log. All of it is in one line
//      and written in this order by release stores: a stamp of the epoch (head), the old value, the
//      head that makes it a log, then the value, then its check. Any prefix of this is consistent:
//      with a stamp the old value has no meaning, and no old value is written while the head is a
//      log. Only the check's kind is logged: the rest follows from the old word and the slot's
//      key, which V5 preserves. An undo must not make damaged contents look sound: a slot whose
//      value contradicts its check goes to the external log, and the head's sum covers the key.
//  V3  All heads have the same upper epoch bits, from bit 29 on, as the leaf's node_epoch, on the
//      medium too; otherwise the leaf goes to the external log. Persist points U3 and U4 correspond
//      to U1 and U2.
//  V5  A slot is filled only if it was free when the epoch began; otherwise the leaf goes to the
//      external log first. So no log of a failed epoch is for a slot whose key has changed since.
//
// A line has one log. If a second slot of the line changes in an epoch, the leaf goes to the
// external log. A free slot cannot serve as a log, which needs a word and 48 bits.
//
// Possible combinations on the medium: as in incll/leaf_log.hpp, for each value line independently.
//
// Recovery (R1). For each value line with a log of a failed epoch: restore the value, then its
// check, then replace the log by a stamp of the running epoch; then line 0. Any prefix is restored
// again by the same rules.
#pragma once

#include "base/check.hpp"
#include "base/damage.hpp"
#include "checkpoint/operation.hpp"
#include "index/masstree/incll/leaf_log.hpp"
#include "index/masstree/inlined/leaf.hpp"

namespace hf::masstree_detail::inlined {

inline constexpr unsigned epoch_bits = 29;

/// Fields of a head, without the check that shares its word.
namespace head {
inline constexpr u64 check_field = 0xffff;
inline constexpr u64 low_mask = (u64{1} << epoch_bits) - 1;

[[nodiscard]] constexpr u64 low_epoch(u64 w) noexcept { return w >> 35; }
[[nodiscard]] constexpr unsigned slot_in_line(u64 w) noexcept {
    return static_cast<unsigned>(w >> 32) & 7;
}
[[nodiscard]] constexpr unsigned kind(u64 w) noexcept {
    return static_cast<unsigned>(w >> 28) & 15;
}
[[nodiscard]] constexpr bool is_log(u64 w) noexcept { return kind(w) != cell_kind::none; }
[[nodiscard]] constexpr u64 epoch(u64 w, u64 node_epoch) noexcept {
    return (node_epoch & ~low_mask) | low_epoch(w);
}
/// `key`: the slot's sum_of_key().
[[nodiscard]] constexpr u64 sealed(u64 plain, u64 old_value, unsigned key, u64 place) noexcept {
    const unsigned told = seal::twelve_of(plain >> 28 ^ place << 5) ^ 0x5a3;
    const unsigned of_log = is_log(plain) ? seal::twelve_of(old_value) ^ key : 0;
    return plain | u64{told ^ of_log} << 16;
}
[[nodiscard]] constexpr u64 make(u64 epoch, unsigned slot_in_line, const cell& old, unsigned key,
                                 u64 place) noexcept {
    return sealed((epoch & low_mask) << 35 | u64{slot_in_line} << 32 | u64{old.kind} << 28,
                  old.word, key, place);
}
/// A head without a log.
[[nodiscard]] constexpr u64 stamp(u64 epoch, u64 place) noexcept {
    return make(epoch, 0, {}, 0, place);
}
}  // namespace head

[[nodiscard]] inline bool same_upper(u64 a, u64 b) noexcept {
    return a >> epoch_bits == b >> epoch_bits;
}

/// Keeps the check in the same word.
inline void set_head(inlined_leaf::value_line& line, u64 head) noexcept {
    store(line.head, head | (load(line.head) & head::check_field));
}
/// The head without the check in the same word.
[[nodiscard]] inline u64 head_of(const inlined_leaf::value_line& line) noexcept {
    return load(line.head) & ~head::check_field;
}
/// The slot that the log refers to if w is the head of `line`.
[[nodiscard]] inline unsigned slot_of_log(const inlined_leaf& n,
                                          const inlined_leaf::value_line& line, u64 w) noexcept {
    const auto first = static_cast<unsigned>(&line - n.lines.data()) * inlined_slots_per_line;
    return first + head::slot_in_line(w);
}
/// Whether w is a valid head of this line with its old value and keys.
[[nodiscard]] inline bool fits_line(const inlined_leaf& n, const inlined_leaf::value_line& line,
                                    u64 w, unsigned used) noexcept {
    constexpr u64 sum = u64{0xfff} << 16;
    const unsigned slot = slot_of_log(n, line, w);
    unsigned key = 0;
    if (head::is_log(w)) {
        if (!cell_kind::is_known(head::kind(w)) || slot >= inlined_leaf::width) return false;
        if ((used >> slot & 1) == 0) return true;
        key = n.sum_of_key(slot);
    } else if (head::slot_in_line(w) != 0) {
        return false;
    }
    return head::sealed(w & ~sum, load(line.old_value), key, n.place()) == w;
}
/// Whether a head is what was stored. `used`: the slots in use, or in use after a rollback. A log
/// of a finished epoch may refer to an unused slot whose key has changed: a power failure may have
/// lost the stamp that preceded the new key, but not the key.
///
/// Needs no lock. A writer stores a stamp over a log before it stores another old value or key (V1,
/// V5), and a head never repeats: its epoch grows, and within an epoch the stamp precedes the log.
/// So while the head is unchanged, the words it covers are, too.
[[nodiscard]] inline bool is_sealed_head(const inlined_leaf& n,
                                         const inlined_leaf::value_line& line,
                                         unsigned used) noexcept {
    u64 w = head_of(line);
    while (!fits_line(n, line, w, used)) {
        const u64 now = head_of(line);
        if (now == w) return false;
        w = now;
    }
    return true;
}
/// The slots in use after a rollback.
[[nodiscard]] inline unsigned used_at_start(const inlined_leaf& n,
                                            const failed_set& failed) noexcept {
    return leaf_permutation(recovered_permutation(n, failed)).used();
}

/// Stamps the line of `slot` before a store to it that needs no log.
inline void begin_value_line(inlined_leaf& n, lane& l, u64 epoch, unsigned slot) {
    inlined_leaf::value_line& line = n.line_of(slot);
    if (head::low_epoch(load(line.head)) == (epoch & head::low_mask)) return;
    set_head(line, head::stamp(epoch, n.place()));
    l.note_sticky(&line, sizeof(word));
}

/// Logs the contents of `slot` in its line (V1). False: the leaf must go to the external log.
[[nodiscard]] inline bool log_value(inlined_leaf& n, lane& l, u64 epoch, unsigned slot) {
    HF_ASSERT(same_upper(n.epoch(), epoch), "V3: logs have the upper bits of line 0");
    inlined_leaf::value_line& line = n.line_of(slot);
    const unsigned in_line = slot % inlined_slots_per_line;
    if (n.epoch() == epoch && (free_at_start(n, epoch) >> slot & 1) != 0) {
        return true;  // filled in this epoch, its line is stamped: a rollback drops the slot
    }
    begin_value_line(n, l, epoch, slot);
    if (const u64 w = load(line.head); head::is_log(w)) return head::slot_in_line(w) == in_line;
    if (!n.is_sound(slot)) [[unlikely]] {
        return false;
    }
    const cell old = n.at(slot);
    store(line.old_value, old.word);
    set_head(line, head::make(epoch, in_line, old, n.sum_of_key(slot), n.place()));
    return true;
}

/// Whether the free slot `slot` may be filled without the external log (V5).
[[nodiscard]] inline bool may_fill(const inlined_leaf& n, u64 epoch, unsigned slot) noexcept {
    return (free_at_start(n, epoch) >> slot & 1) != 0;
}

/// Resets all logs to the running epoch and empty (V3), after the leaf was logged externally or
/// created. In a new leaf `order` has been set.
inline void restamp(inlined_leaf& n, u64 epoch) noexcept {
    for (auto& line : n.lines) set_head(line, head::stamp(epoch, n.place()));
    store(n.permutation_log, load(n.order));
    n.set_epoch(epoch);
    store(n.log_epoch, epoch);
}

/// Whether any log of the leaf is of a failed epoch. Requires node_epoch < horizon.
[[nodiscard]] bool needs_recovery(const inlined_leaf& n, const failed_set& failed) noexcept;

/// Rolls the leaf back (R1), if that is still needed.
void recover(inlined_leaf& n, lane& l, const failed_set& failed, u64 epoch);

/// Throws damage unless every word that a rollback uses matches its seal.
void check_logs(const inlined_leaf& n, const failed_set& failed);

/// Returns after the leaf was rolled back. Requires node_epoch < horizon.
void settle(inlined_leaf& n, lane& l, const failed_set& failed, u64 epoch);

}  // namespace hf::masstree_detail::inlined
