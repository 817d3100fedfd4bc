// heap/upgrade.hpp: converts all objects of a type to another layout.
//
// Purpose. heap.upgrade<Old, New>(f). The heap has two descriptions of one name meanwhile; the
// newest counts. Objects move, because they may become larger, so pointers are redirected:
//
//   control.upgrade := Old, New      the new description exists; roots of the type are refused
//   convert, each object of Old      the new object is made and filled by f
//        old  | count + 1 | moved |      the old one refers to the new one, which counts it; and is
//             | the new one       |      held itself, so that it is destroyed only in the last
//             phase
//        the old one's proxy refers to the new one: weak pointers follow
//   redirect, each pointer and root  points to the new object, if it pointed to a moved one
//   bury, each moved one             unreferenced now: its pointers' targets lose a count, it is
//                                    freed
//   control.upgrade := 0
//
// Invariant. J1 to J4 of core.hpp hold in every committed state, if the two references of a
// pair are counted (check.cpp counts them).
//
// Recovery. Each phase finds its remaining work in the heap: objects of Old that have not moved,
// pointers to those that have, moved ones. So an interrupted upgrade continues with
// the next call, and a complete phase finds nothing. A new object without other references
// is held by its old one, so nothing leaks in between.
//
// Persist order. None of its own: transactions (transaction/commit_engine.hpp).
// Concurrency. No transaction may run and no reference may exist. Cost: eight bytes of memory for
// an object, and for a pointer to one.
#pragma once

#include "base/bits.hpp"

namespace hf::nv::detail {

/// control_block::upgrade; zeros: no upgrade is unfinished.
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
