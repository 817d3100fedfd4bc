// holdfast/nv/counter.hpp: a counter that many threads add to, split into one cache line a thread.
// Written with the public interface alone.
//
// Transactions conflict on cache lines. With one word as the counter, any two transactions that
// insert would conflict, wherever their entries are. Here each thread adds to its own part; parts
// may be negative, and their sum is the counter. Cost in a transaction: add() loads and stores one
// word that usually no other thread writes; get() loads `parts` words, and conflicts with all
// transactions that add.
//
// Literature: the sloppy counters of Boyd-Wickizer et al., "An Analysis of Linux Scalability to
// Many Cores" (OSDI 2010).
#pragma once

#include <holdfast/nv/transaction.hpp>

#include <cstddef>
#include <cstdint>

namespace hf::nv {

class counter {
   public:
    static constexpr std::size_t parts = 8;

    counter() = default;
    counter(const counter&) = delete;
    counter& operator=(const counter&) = delete;
    ~counter() = default;

    [[nodiscard]] std::size_t get() const {
        std::uint64_t sum = 0;
        for (const part& each : parts_) sum += each.number;
        return sum;
    }
    void add(transaction& t, std::int64_t by) {
        p<std::uint64_t>& mine = parts_[t.thread_number() % parts].number;
        mine.set(t, mine + static_cast<std::uint64_t>(by));
    }
    void clear(transaction& t) {
        for (part& each : parts_) each.number.set(t, 0);
    }

   private:
    /// The number comes last, so that fields before the counter, which all threads read, do not
    /// share a line with the first part.
    struct part {
        bytes<56> apart;
        p<std::uint64_t> number;
    };
    array<part, parts> parts_;

   public:
    static constexpr auto nv_members = std::tuple{&counter::parts_};
};

}  // namespace hf::nv
