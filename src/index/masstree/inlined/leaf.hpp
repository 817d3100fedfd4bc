// masstree/inlined/leaf.hpp: a leaf that has small values in itself.
//
// Purpose. A value of up to eight bytes under a key of up to eight needs no record: the leaf has
// its bytes where it has else a record's offset. A get of it reads no line of a record, an update
// allocates, frees and flushes none, and a record of 8 + 8 bytes takes no 32 bytes of a block.
//
//   line 0       header | version, perm, perm log, node epoch, log epoch, next
//   line 1       lengths and home, low key, keys 0-5
//   line 2       keys 6-13
//   lines 3-5    old value | log head | checks 0-3 | values 0-4           (the last one: 0-3)
//
//   log head     | epoch 29 | slot in line 3 | kind 4 | sum 12 | check 4: 16 |     inlined/log.hpp
//   check        | sum 12 | kind 4 |           of one slot; line by line, four in a word, one above
//
// Lines 0 to 2 are those of checkpoint/leaf.hpp, so all that looks for keys is the same for both.
//
// A slot's check. Its kind says what the value word is: the bytes of a value of so many, or a
// record's or a layer's sealed offset (seal.hpp). Its sum is, for a value in the leaf, over the
// word, the key's slice and length, and the leaf's place. It stands for a record's checksum and a
// value word's seal: every single flipped bit of word, slice and length shows, and all but one of
// 4,096 of other damage. For a record or a layer, whose word and record are sealed by themselves,
// it does not depend on the word: so a new record is one store, as elsewhere.
//
// Readers. A word and its check are two words, and no checksum makes them one. So the kind of a
// used slot changes under a mark of the leaf's version alone: a reader whose version holds has the
// kind that belongs to its word. Where the kind stays, a word is a value of that kind by itself,
// whichever store of it has been seen; only its sum may be that of the value before or behind, so
// who finds that they do not fit looks again, and under the leaf's lock before it calls it damage.
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
    /// One store; the leaf is the caller's.
    void set_check(unsigned slot, unsigned check) noexcept {
        value_line& l = line_of(slot);
        const unsigned i = slot % inlined_slots_per_line;
        word& w = i < 4 ? l.checks : l.head;
        const unsigned shift = i < 4 ? 16 * i : 0;
        store(w, (load(w) & ~(u64{0xffff} << shift)) | u64{check} << shift);
    }

    /// A reader's version must hold for the two to belong together.
    [[nodiscard]] cell at(unsigned slot) const noexcept {
        const unsigned its = check(slot);
        return {load(value(slot)), its & 15, its};
    }
    /// Of what the slot's key is now.
    [[nodiscard]] unsigned check_of(unsigned slot, const cell& c) const noexcept {
        return sum_of(c, load(keys[slot]), length_class(load(lengths), slot)) << 4 | c.kind;
    }
    /// Whether what at() has read from a slot of this key is what was put there.
    [[nodiscard]] bool fits(const cell& c, u64 slice, unsigned length) const noexcept {
        return cell_kind::is_known(c.kind) && c.check == (sum_of(c, slice, length) << 4 | c.kind);
    }
    [[nodiscard]] bool is_sound(unsigned slot) const noexcept {
        const cell c = at(slot);
        if (!fits(c, load(keys[slot]), length_class(load(lengths), slot))) return false;
        return cell_kind::is_inline(c.kind) || is_value(c.word);
    }
    /// The slot's key is there already. Records and layers: with their seals. A store of the word,
    /// then one of the check where that changes.
    void put(unsigned slot, const cell& c) noexcept {
        store(value(slot), c.word);
        if (const unsigned now = check_of(slot, c); now != check(slot)) set_check(slot, now);
    }

    /// Twelve bits of a key in this leaf.
    [[nodiscard]] unsigned sum_of_key(u64 slice, unsigned length) const noexcept {
        return seal::twelve_of(slice ^ place() << 5) ^ (length * 0x2b5 & 0xfff);
    }
    [[nodiscard]] unsigned sum_of_key(unsigned slot) const noexcept {
        return sum_of_key(load(keys[slot]), length_class(load(lengths), slot));
    }

   private:
    /// Of value and key a part each, and size and length beside them, times odd numbers, so that
    /// none is like another: a bit that flips in one of them changes the sum, whatever the others
    /// are.
    [[nodiscard]] unsigned sum_of(const cell& c, u64 slice, unsigned length) const noexcept {
        const u64 of_value = cell_kind::is_inline(c.kind) ? c.word : 0;
        return seal::twelve_of(of_value) ^ sum_of_key(slice, length) ^ (c.kind * 0x6a3 & 0xfff);
    }
};
static_assert(sizeof(inlined_leaf) == inlined_node_payload);
static_assert(sizeof(inlined_leaf::value_line) == line_size);

}  // namespace hf::masstree_detail
