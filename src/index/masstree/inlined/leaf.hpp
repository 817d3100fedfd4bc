// masstree/inlined/leaf.hpp: a leaf that stores small values itself.
//
// Purpose. A value of up to eight bytes with a key of up to eight needs no record: the leaf stores
// its bytes instead of a record's offset. A get reads no record line, an update allocates, frees
// and flushes none, and 8 + 8 bytes do not occupy a 32-byte block.
//
//   line 0       header | version, perm, perm log, node epoch, log epoch, next
//   line 1       lengths and home, low key, keys 0-5
//   line 2       keys 6-13
//   lines 3-5    old value | log head | checks 0-3 | values 0-4           (the last one: 0-3)
//
//   log head     | epoch 29 | slot in line 3 | kind 4 | sum 12 | check 4: 16 |     inlined/log.hpp
//   check        | sum 12 | kind 4 |           one per slot: four in `checks`, one in the log head
//
// Lines 0 to 2 are those of checkpoint/leaf.hpp, so code that searches keys works for both.
//
// A slot's check. Its kind defines the value word: the bytes of a value of that size, or a sealed
// offset of a record or layer (seal.hpp). For an inlined value, its sum covers the word, the key's
// slice and length, and the leaf's offset. It replaces a record's checksum and a value word's seal:
// it detects every single flipped bit of word, slice and length, and all but one of 4,096 other
// damages. For a record or a layer, whose word and record have checksums of their own, the sum does
// not depend on the word, so replacing a record is one store.
//
// Readers. A word and its check are two words, which cannot be read atomically. So the kind of a
// used slot changes only under a mark of the leaf's version: a reader whose version is unchanged
// has the kind that belongs to its word. If the kind stays the same, any stored word is a valid
// value of that kind; only its sum may be that of the previous or next value. So a reader that
// finds a mismatch reads again, and reads under the leaf's lock before it reports damage.
#pragma once

#include "index/masstree/cell.hpp"
#include "index/masstree/checkpoint/leaf.hpp"
#include "index/masstree/record.hpp"

namespace hf::masstree_detail {

inline constexpr unsigned inlined_lines = 3;
inline constexpr unsigned inlined_slots_per_line = 5;

struct inlined_leaf : leaf_head {
    struct value_line {
        word old_value;
        word head;
        word checks;
        std::array<word, inlined_slots_per_line> values;
    };
    std::array<value_line, inlined_lines> lines;

    [[nodiscard]] value_line& line_of(unsigned slot) noexcept {
        return lines[slot / inlined_slots_per_line];
    }
    [[nodiscard]] const value_line& line_of(unsigned slot) const noexcept {
        return lines[slot / inlined_slots_per_line];
    }
    [[nodiscard]] word& value(unsigned slot) noexcept {
        return line_of(slot).values[slot % inlined_slots_per_line];
    }
    [[nodiscard]] const word& value(unsigned slot) const noexcept {
        return line_of(slot).values[slot % inlined_slots_per_line];
    }

    [[nodiscard]] unsigned check(unsigned slot) const noexcept {
        const value_line& l = line_of(slot);
        const unsigned i = slot % inlined_slots_per_line;
        const u64 w = i < 4 ? load(l.checks) >> 16 * i : load(l.head);
        return static_cast<unsigned>(w & 0xffff);
    }
    /// One store. The caller holds the leaf's lock.
    void set_check(unsigned slot, unsigned check) noexcept {
        value_line& l = line_of(slot);
        const unsigned i = slot % inlined_slots_per_line;
        word& w = i < 4 ? l.checks : l.head;
        const unsigned shift = i < 4 ? 16 * i : 0;
        store(w, (load(w) & ~(u64{0xffff} << shift)) | u64{check} << shift);
    }

    /// Word and check belong together only if the reader's version is unchanged.
    [[nodiscard]] cell at(unsigned slot) const noexcept {
        const unsigned its = check(slot);
        return {load(value(slot)), its & 15, its};
    }
    /// The check for contents `c` with the slot's current key.
    [[nodiscard]] unsigned check_of(unsigned slot, const cell& c) const noexcept {
        return sum_of(c, load(keys[slot]), length_class(load(lengths), slot)) << 4 | c.kind;
    }
    /// Whether contents read by at() are what was stored for this key.
    [[nodiscard]] bool fits(const cell& c, u64 slice, unsigned length) const noexcept {
        return cell_kind::is_known(c.kind) && c.check == (sum_of(c, slice, length) << 4 | c.kind);
    }
    [[nodiscard]] bool is_sound(unsigned slot) const noexcept {
        const cell c = at(slot);
        if (!fits(c, load(keys[slot]), length_class(load(lengths), slot))) return false;
        return cell_kind::is_inline(c.kind) || is_value(c.word);
    }
    /// Stores `c`; the slot's key has been set. Records and layers: with their seals. Stores the
    /// word, then the check if it changes.
    void put(unsigned slot, const cell& c) noexcept {
        store(value(slot), c.word);
        if (const unsigned now = check_of(slot, c); now != check(slot)) set_check(slot, now);
    }

    /// Twelve check bits of a key in this leaf.
    [[nodiscard]] unsigned sum_of_key(u64 slice, unsigned length) const noexcept {
        return seal::twelve_of(slice ^ place() << 5) ^ (length * 0x2b5 & 0xfff);
    }
    [[nodiscard]] unsigned sum_of_key(unsigned slot) const noexcept {
        return sum_of_key(load(keys[slot]), length_class(load(lengths), slot));
    }

   private:
    /// The sum combines check bits of the value, the key, the kind and the length. Kind and length
    /// are multiplied by odd constants so that their contributions differ: one flipped bit in any
    /// of them changes the sum.
    [[nodiscard]] unsigned sum_of(const cell& c, u64 slice, unsigned length) const noexcept {
        const u64 of_value = cell_kind::is_inline(c.kind) ? c.word : 0;
        return seal::twelve_of(of_value) ^ sum_of_key(slice, length) ^ (c.kind * 0x6a3 & 0xfff);
    }
};
static_assert(sizeof(inlined_leaf) == inlined_node_payload);
static_assert(sizeof(inlined_leaf::value_line) == line_size);

}  // namespace hf::masstree_detail
