// heap/upgrade.hpp: all objects of a type become ones of another layout.
//
// Purpose. heap.upgrade<Old, New>(f). The heap has two descriptions of one name meanwhile; the
// newest counts. Objects move, for they may have become larger, so pointers follow:
//
//   control.upgrade := Old, New      the new description is there; roots of the type are refused
//   convert, each object of Old      the new one is made and filled by f
//        old  | count + 1 | moved |      an old one leads to its new one, which that counts; and is
//             | the new one       |      held itself, so that it dies in the last phase only
//        the old one's proxy stands for the new one: weak pointers have followed
//   redirect, each pointer and root  leads to the new one, if it led to a moved one
//   bury, each moved one             nothing leads to it: its pointers are counted down, it goes
//   control.upgrade := 0
//
// Invariant. J1 to J4 of core.hpp hold in every state that has committed, with the two counts of a
// pair among what leads to it (check.cpp counts them).
//
// Recovery. Each phase finds what is left of it in the heap: objects of Old that have not moved,
// pointers to those that have, moved ones. So an upgrade that is cut short anywhere goes on with
// the next call, and a phase that is complete finds nothing. A new object without a count to its
// name is held by its old one, so nothing leaks in between.
//
// Persist order. None of its own: transactions (transaction/commit_engine.hpp).
// Concurrency. No transaction and no reference may be there. Cost: eight bytes of memory for an
// object, and for a pointer to one.
#pragma once

#include "base/bits.hpp"

namespace hf::nv::detail {

/// control_block::upgrade; zeros: none is going on.
struct upgrade_word {
    u16 from = 0;  ///< number of the old type
    u16 to = 0;

    [[nodiscard]] constexpr u64 pack() const noexcept { return u64{from} | u64{to} << 16; }
    [[nodiscard]] static constexpr upgrade_word unpack(u64 w) noexcept {
        return {static_cast<u16>(w), static_cast<u16>(w >> 16)};
    }
    [[nodiscard]] constexpr bool is_going_on() const noexcept { return from != 0; }
};

}  // namespace hf::nv::detail
