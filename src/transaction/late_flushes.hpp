// transaction/late_flushes.hpp: flushes of lines that are stored to again and again, put off.
//
// A record of each of a hundred thousand commits may store to the same line. To flush it behind
// each costs more than all else that an opening does, for a flush waits for the one before it. So
// lines wait in a table by their number. One is flushed when another needs its place, and all that
// are left are at the end: each behind the last store to it. Whoever fences fences behind finish().
#pragma once

#include "persist/medium.hpp"
#include "region/region.hpp"

#include <array>
#include <utility>

namespace hf {

class late_flushes {
   public:
    /// Lines whose numbers differ by a multiple of this wait in one place.
    static constexpr u64 places = 1024;

    explicit late_flushes(const region& r) noexcept : region_(r) {}
    late_flushes(const late_flushes&) = delete;
    late_flushes& operator=(const late_flushes&) = delete;
    ~late_flushes() = default;

    /// The line of that number in the region has been stored to. 0 is the superblock's, and none.
    void add(u64 line) {
        u64& waits = lines_[line % places];
        if (waits == line) return;
        flush(waits);
        waits = line;
    }
    void finish() {
        for (u64& waits : lines_) flush(std::exchange(waits, 0));
    }

   private:
    void flush(u64 line) {
        if (line != 0) region_.med().flush_line(region_.at<std::byte>(line * line_size));
    }
    const region& region_;
    std::array<u64, places> lines_{};
};

}  // namespace hf
