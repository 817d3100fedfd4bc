// transaction/late_flushes.hpp: delays flushes of lines that are stored to repeatedly.
//
// Each of a hundred thousand commit records may store to the same line. Flushing it after
// each would dominate the cost of recovery, because a flush waits for the previous one of the line.
// So lines wait in a table by their number. A line is flushed when another needs its slot, or by
// finish(): after the last store to it. The caller fences after finish().
#pragma once

#include "persist/medium.hpp"
#include "region/region.hpp"

#include <array>
#include <utility>

namespace hf {

class late_flushes {
   public:
    /// Lines whose numbers differ by a multiple of this share one slot.
    static constexpr u64 places = 1024;

    explicit late_flushes(const region& r) noexcept : region_(r) {}
    late_flushes(const late_flushes&) = delete;
    late_flushes& operator=(const late_flushes&) = delete;
    ~late_flushes() = default;

    /// The line with that number in the region was stored to. 0 is the superblock's, and means
    /// none.
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
