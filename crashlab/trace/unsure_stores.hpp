// trace/unsure_stores.hpp: whose store each byte has been given last, as long as it is not sure.
//
// Purpose. A load is worth an event only if it reads what another thread stored and a crash could
// still take away (lint/dirty_reads.hpp). This decides it at once: a line is known here while
// something in it is unsure, so a load of any other line costs one look-up.
//
// A store is sure when its line was flushed behind it (or it was streamed) and the thread that did
// so has passed a fence; a file write, when the file was synced. That is the floor of the model
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
    /// The event with this number, in their order.
    void take(const event& e, u32 number);

    /// f(where, size, number of the store) for each stretch of [at, at + size) that one unsure
    /// store wrote.
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
    /// Of each byte, its newest store's number plus one; 0: it is sure.
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
