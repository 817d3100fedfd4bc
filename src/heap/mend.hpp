// heap/mend.hpp: repairs a heap without its program: counts, lists, leaks.
//
// Purpose. check.hpp finds damage. Much of it can be repaired from undamaged data: a count is the
// number of pointers to the object, an unreferenced object is dead.
// Damage to data that cannot be derived is not repaired: an unknown type, the allocator's data, a
// list of types or roots. Then nothing is changed at all, because counts may lack missing objects.
//
//   finding                   repair
//   a wrong count             set to the number found
//   0, and not listed         doomed: the next open destroys it, and what only it references
//   an orphan's slot          freed
//   a list of the doomed      truncated before the wrong entry; later entries are doomed again
//   object and proxy differ   the object gets none, weak pointers to it become null
//   an invalid pointer        null, if requested: its target is lost
//   unreachable cycles        cut, if requested: then their counts are 0
//   memory of the dead        freed
//
// Recovery. By transactions (transaction/commit_engine.hpp), each an idempotent part of the
// repair: after an interruption the next run finds and repairs the rest. Repeats
// reading and repairing until nothing is left, because one finding may hide another.
//
// Concurrency. No other process may have the heap open (errc::busy).
#pragma once

#include "heap/check.hpp"

#include <filesystem>

namespace hf::nv {

struct mend_options {
    bool cut_pointers = false;  ///< set invalid pointers to null
    bool collect = false;       ///< unreachable cycles are freed
};

/// Numbers of repairs.
struct mend_tally {
    u64 counts = 0;
    u64 lost = 0;  ///< unreferenced objects, now doomed
    u64 listed = 0;
    u64 proxies = 0;
    u64 pointers = 0;
    u64 dead = 0;
    u64 cycles = 0;  ///< objects in cycles
};

[[nodiscard]] bool can_mend(const heap_finding& f, const mend_options& options) noexcept;
/// Number of findings that prevent any repair.
[[nodiscard]] u64 beyond_mending(const heap_facts& facts, const mend_options& options) noexcept;

/// Opens the heap, with recovery after a crash, repairs it and closes it. A heap_look finds
/// remaining damage. errc::violation: it cannot be repaired; nothing was changed.
[[nodiscard]] result<mend_tally> mend_heap(const std::filesystem::path& path,
                                           const mend_options& options);

}  // namespace hf::nv
