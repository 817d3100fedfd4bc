// trace/unsure_stores.hpp: for each byte, the last store to it that is not durable.
//
// Purpose. A load is worth an event only if it reads what another thread stored and a crash could
// still lose (lint/dirty_reads.hpp). A line is in this table while something in it is not durable,
// so a load of any other line costs one look-up.
//
// A store is durable when its line was flushed after it (or it was streamed) and the thread that
// did so has passed a fence; a file write, when the file was synced. This is the floor of the model
// (model/line.hpp), for the newest store to each byte.
#pragma once

#include "crashlab/trace/event.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

namespace hf::lab {

class unsure_stores {
   public:
    /// Processes the event with this number, in order.
    void take(const event& e, u32 number);

    /// Calls f(where, size, number of the store) for each part of [at, at + size) that one
    /// non-durable store wrote.
    template <class F>
    void each_in(u64 at, u64 size, F&& f) const {
        for (const u64 end = at + size; at < end;) {
            const u64 stop = std::min(end, align_down(at, line_size) + line_size);
            const auto l = lines_.find(at / line_size);
            if (l != lines_.end()) each_of(l->second, at, stop, f);
            at = stop;
        }
    }

   private:
    /// For each byte, its newest store's number plus one; 0: it is durable.
    using bytes = std::array<u32, line_size>;
    struct capture {
        u64 line;
        u32 before;  ///< stores with smaller numbers
    };

    template <class F>
    static void each_of(const bytes& newest, u64 at, u64 stop, F&& f) {
        while (at < stop) {
            const u64 from = at;
            const u32 by = newest[from % line_size];
            while (at < stop && newest[at % line_size] == by) ++at;
            if (by != 0) f(from, at - from, by - 1);
        }
    }

    void store(const event& e, u32 number);
    void make_sure(std::vector<capture>& captured);
    void make_sure(const capture& c);

    std::unordered_map<u64, bytes> lines_;
    std::array<std::vector<capture>, max_threads> captured_;
    std::vector<capture> written_;  ///< by system calls
};

}  // namespace hf::lab
