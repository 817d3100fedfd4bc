// transaction/home_words.hpp: stores to a line's home while its second slot holds the committed
// version.
//
// Such a store needs neither flush nor note: after a crash the second slot is read, and before the
// slot is given up consolidation flushes the home (S3 of shadow_engine.cpp). These stores stand in
// a file of their own, so that the crash lab's lint knows them (crashlab/lint/lint.hpp,
// volatile_place). The order of one line's words still holds.
#pragma once

#include "persist/ordered.hpp"
#include "transaction/write_set.hpp"

#include <atomic>

namespace hf {

inline void store_in_working_image(std::atomic<u64>* home, const written_line& l) noexcept {
    each_word(l.mask, [&](unsigned i) { ordered_store(home[i], l.words[i]); });
}

}  // namespace hf
