// transaction/home_words.hpp: stores to a line's home while its second slot holds the committed
// version.
//
// Such a store needs neither flush nor note: after a crash the second slot is read, and before the
// slot is given up consolidation flushes the home (S3 of shadow_engine.cpp). These stores stand in
// a file of their own, so that the crash lab's lint knows them (crashlab/lint/lint.hpp,
// volatile_place). The order of one line's words still holds.
//
// A line that a commit writes home as a whole is streamed: no cache has to fetch it first. Other
// threads may load its words meanwhile, to find them owned. Streaming stores of eight bytes and
// more do not tear words. ThreadSanitizer takes them for plain stores; there the words are stored
// one by one and flushed.
#pragma once

#include "base/tsan.hpp"
#include "persist/medium.hpp"
#include "persist/ordered.hpp"
#include "transaction/write_set.hpp"

#include <atomic>

namespace hf {

inline void store_in_working_image(std::atomic<u64>* home, const written_line& l) noexcept {
    each_word(l.mask, [&](unsigned i) { ordered_store(home[i], l.words[i]); });
}

/// All words of the line have copies. Durable with the next fence.
inline void stream_to_working_image(const medium& med, std::atomic<u64>* home,
                                    const written_line& l) noexcept {
#ifdef HF_TSAN
    store_in_working_image(home, l);
    med.flush_line(home);
#else
    med.stream_line(home, l.words.data());
#endif
}

}  // namespace hf
