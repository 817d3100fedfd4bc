// heap/mend.hpp: mends what is wrong in a heap without its program: counts, lists, leaks.
//
// Purpose. check.hpp says what is wrong. Much of it follows from what is right: a count is the
// number of pointers that lead to the object, what nothing leads to is dead. That is mended.
// What would need what the damage has taken is not: an unknown type, the allocator's books, a list
// of types or roots. Then nothing is changed at all, for objects may be missing in the counts.
//
//   the finding               becomes
//   a wrong count             what was found
//   0, and not listed         doomed: the next opening destroys it, and what only it leads to
//   an orphan's slot          free
//   a list of the doomed      ends before what is none; who was behind it is doomed anew
//   object and proxy differ   the object has none, weak pointers to it are null
//   a pointer into nothing    null, if that was asked for: something was there, and is lost
//   unreachable cycles        cut, if that was asked for: then their counts are 0
//   memory of the dead        the allocator's
//
// Recovery. By transactions (transaction/commit_engine.hpp), each a part of what is to be done and
// none of it twice: where it is cut short, what is left is found and mended by the next run. Rounds
// of reading and mending, until there is nothing left: one finding may hide behind another.
//
// Concurrency. Nobody else may have the heap open (errc::busy).
#pragma once

#include "heap/check.hpp"

#include <filesystem>

namespace hf::nv {

struct mend_options {
    bool cut_pointers = false;  ///< those that lead to nothing become null
    bool collect = false;       ///< unreachable cycles are freed
};

/// What was mended.
struct mend_tally {
    u64 counts = 0;
    u64 lost = 0;  ///< objects that nothing led to: they are doomed
    u64 listed = 0;
    u64 proxies = 0;
    u64 pointers = 0;
    u64 dead = 0;
    u64 cycles = 0;  ///< objects of these
};

[[nodiscard]] bool can_mend(const heap_finding& f, const mend_options& options) noexcept;
/// How many findings forbid that anything is mended.
[[nodiscard]] u64 beyond_mending(const heap_facts& facts, const mend_options& options) noexcept;

/// Opens the heap, which recovers it where a crash has left it, mends it and closes it. Whatever is
/// still wrong a heap_look tells. errc::violation: it can't be mended; nothing was.
[[nodiscard]] result<mend_tally> mend_heap(const std::filesystem::path& path,
                                           const mend_options& options);

}  // namespace hf::nv
