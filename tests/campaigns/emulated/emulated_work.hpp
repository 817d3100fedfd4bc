// tests/campaigns/emulated/emulated_work.hpp: transactions on an array and a hash table, once for a
// program that an emulator traces and once for accessors that report what they do.
#pragma once

#include "base/random.hpp"

#include <vector>

namespace hf::sim::test {

inline constexpr u64 emulated_heap_bytes = u64{5} << 20;
inline constexpr u64 emulated_transactions = 3'000;

/// Memory has load(word) and store(word, value), words of eight bytes, zeros at first.
template <class Memory>
class emulated_work {
   public:
    explicit emulated_work(Memory& m) : memory_(m) {
        for (u64 i = nodes; i != 0; --i) free_.push_back(i);
        for (u64 i = 0; i < elements; ++i) memory_.store(i, i);
    }

    /// Swaps two elements, and inserts a key into the table, or removes it.
    void transaction() {
        const u64 a = random_() % elements;
        const u64 b = random_() % elements;
        const u64 of_a = memory_.load(a);
        const u64 of_b = memory_.load(b);
        memory_.store(a, of_b);
        memory_.store(b, of_a);
        toggle(1 + random_() % (2 * nodes / 3));
    }

   private:
    static constexpr u64 elements = 1 << 16;
    static constexpr u64 buckets = 1 << 14;
    static constexpr u64 nodes = 1 << 16;
    static constexpr u64 node_words = 8;  ///< next, key, value

    static constexpr u64 bucket_of(u64 key) { return elements + key * 2'654'435'761 % buckets; }
    static constexpr u64 word_of(u64 node) { return elements + buckets + (node - 1) * node_words; }

    void toggle(u64 key) {
        u64 link = bucket_of(key);
        while (const u64 node = memory_.load(link)) {
            if (memory_.load(word_of(node) + 1) == key) {
                memory_.store(link, memory_.load(word_of(node)));
                free_.push_back(node);
                return;
            }
            link = word_of(node);
        }
        const u64 made = free_.back();
        free_.pop_back();
        memory_.store(word_of(made) + 1, key);
        memory_.store(word_of(made) + 2, key * key);
        memory_.store(link, made);
        memory_.store(word_of(made), 0);
    }

    Memory& memory_;
    std::vector<u64> free_;
    splitmix64 random_{17};
};

}  // namespace hf::sim::test
