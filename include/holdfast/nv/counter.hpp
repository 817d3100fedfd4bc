// holdfast/nv/counter.hpp: a number that many threads add to, in parts of a cache line each.
// Written with the public interface alone.
//
// Lines are what transactions conflict on. So a number of entries in one word would make any two
// transactions that insert conflict, wherever their entries are. Here each adds to the part of its
// thread; parts may be negative, their sum is the number. What a transaction pays: add() loads and
// stores a word that, as a rule, no other thread does; get() loads `parts` words, and conflicts
// with all that add.
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
    /// The number is last: so what lies before the counter, and is read by all, is not on a line
    /// with the first of them.
    struct part {
        bytes<56> apart;
        p<std::uint64_t> number;
    };
    array<part, parts> parts_;

   public:
    static constexpr auto nv_members = std::tuple{&counter::parts_};
};

}  // namespace hf::nv
