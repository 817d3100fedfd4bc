// Nodes: both implementations of the search agree, and drafts convert to nodes and back.
#include "base/random.hpp"
#include "index/hot/few.hpp"
#include "index/hot/grown.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace hf::hot_test {
namespace {

using namespace hot_detail;

template <class Keys>
struct random_node {
    using path = path_of<Keys>;
    using kept = std::conditional_t<path::is_short, u64, std::string>;
    std::set<kept> keys;
    draft d{};
    node_plan plan{};
    u64 word = 0;
    u32 grown = 0;  ///< number of entries added by grow(), without a draft
    alignas(64) std::array<std::byte, 1024> memory{};

    [[nodiscard]] node* at() { return reinterpret_cast<node*>(memory.data()); }

    /// Inserts keys one by one at the entry that the draft's search returns; words are 8 times an
    /// index.
    void fill(u32 count, const std::function<kept()>& next) {
        std::vector<kept> of_word;
        while (keys.size() < count) {
            const kept k = next();
            if (!keys.insert(k).second) continue;
            of_word.push_back(k);
            const u64 w = slot_word::of(what::record, 0, of_word.size() * 8);
            if (of_word.size() == 1) {
                d.words[0] = w;
                continue;
            }
            const u32 there = of_word.size() == 2 ? 0 : search::find<path>(at(), word, k);
            const kept& other = of_word[slot_word::offset_of(d.words[there]) / 8 - 1];
            const u32 bit = path::first_difference(other, k);
            if (of_word.size() == 2) {
                const u64 old = d.words[0];
                d.make_pair(bit, path::bit(k, bit) ? old : w, path::bit(k, bit) ? w : old, 1);
                write();
            } else {
                grow(there, bit, path::bit(k, bit), w);
            }
        }
        u32 i = 0;
        for (const kept& k : keys) {
            ASSERT_EQ(of_word[slot_word::offset_of(d.words[i]) / 8 - 1], k);
            ASSERT_EQ(search::find<path>(at(), word, k), i);
            ++i;
        }
    }
    /// Adds an entry to the draft, and checks that grow() makes the same node, if it can.
    void grow(u32 there, u32 bit, bool one, u64 w) {
        const bool may_grow = !has_groups(plan.kind) && d.count < most_entries &&
                              bit / 8 - plan.window < 8 && bit > d.bits[0];
        node_buffer buffer;
        std::memset(&buffer, 0xee, sizeof buffer);
        const newcomer comer{there, bit - 8 * plan.window, one, w};
        const auto made = hot_detail::grow(buffer, at(), word, comer, 1);
        d.add(there, bit, one, w);
        write();
        ASSERT_EQ(made.has_value(), may_grow);
        if (!made) return;
        ++grown;
        ASSERT_EQ(*made, word);
        ASSERT_EQ(std::memcmp(buffer.at.data(), at(), size_of(word)), 0);
        for (u32 i = size_of(word); i % line_size != 0; ++i) ASSERT_EQ(buffer.at[i], std::byte{});
    }
    void write() {
        plan = node_plan::of<path>(d);
        word = slot_word::of(plan.kind, d.count, 0);
        memory.fill(std::byte{});
        write_node(at(), word, plan, d, 1);
        draft again{};
        again.load(at(), word);
        ASSERT_EQ(again.count, d.count);
        ASSERT_EQ(again.bit_count, d.bit_count);
        for (u32 i = 0; i < d.bit_count; ++i) ASSERT_EQ(again.bits[i], d.bits[i]);
        for (u32 i = 0; i < d.count; ++i) {
            ASSERT_EQ(again.sparse[i], d.sparse[i]);
            ASSERT_EQ(again.words[i], d.words[i]);
        }
    }
};

TEST(hot_nodes, find_returns_each_keys_entry) {
    xoshiro256ss random(1);
    for (u32 round = 0; round < 200; ++round) {
        random_node<integer_keys> n;
        const u64 mask = round % 3 == 0 ? ~u64{0} : round % 3 == 1 ? 0xff : u64{0x8001100101} << 20;
        n.fill(2 + round % 31 % (mask == ~u64{0} ? 31 : 14), [&] { return random() & mask; });
        if (testing::Test::HasFatalFailure()) return;
    }
    std::set<what> kinds;
    for (u32 round = 0; round < 300; ++round) {
        random_node<byte_keys> n;
        n.fill(2 + round % 31, [&] {
            const u64 parts = 1 + round % 5 * 9;
            std::string k;
            for (u64 i = 0; i < parts; ++i) k += std::string(9, static_cast<char>(random() & 1));
            return k + std::to_string(random.below(40));
        });
        if (testing::Test::HasFatalFailure()) return;
        kinds.insert(n.plan.kind);
    }
    EXPECT_GE(kinds.size(), 2U);
}

TEST(hot_nodes, nodes_with_a_dead_record_grow_by_drafts) {
    xoshiro256ss random(7);
    random_node<integer_keys> n;
    n.fill(10, [&] { return random(); });
    EXPECT_EQ(n.grown, 8U);
    node_buffer buffer;
    const newcomer comer{0, 63, true, slot_word::of(what::record, 0, 8)};
    ASSERT_TRUE(grow(buffer, n.at(), n.word, comer, 1));
    for (u32 i = 0; i < 10; ++i) {
        random_node<integer_keys> other = n;
        other.at()->words(n.word)[i].fill(slot_word::of(what::dead, 0, 8));
        EXPECT_FALSE(grow(buffer, other.at(), n.word, comer, 1)) << i;
    }
}

TEST(hot_nodes, both_search_implementations_agree) {
    if (!search::by_vectors::is_there()) GTEST_SKIP() << "no AVX2 here";
    xoshiro256ss random(2);
    for (u32 round = 0; round < 2000; ++round) {
        const u64 from = random();
        const u64 mask = random() & random();
        ASSERT_EQ(search::by_vectors::extract(from, mask), search::by_words::extract(from, mask));
    }
    for (u32 count = 2; count <= most_entries; ++count) {
        random_node<integer_keys> n;
        const u64 mask = count % 2 == 0 ? ~u64{0} : 0xfff;
        n.fill(count, [&] { return random() & mask; });
        if (testing::Test::HasFatalFailure()) return;
        for (u32 i = 0; i < 500; ++i) {
            const auto dense = static_cast<u32>(random()) & ~u32{0} >> (32 - n.d.bit_count);
            ASSERT_EQ(search::by_vectors::fitting(n.at(), n.word, dense),
                      search::by_words::fitting(n.at(), n.word, dense));
        }
    }
}

TEST(hot_nodes, search_in_a_damaged_node_returns_an_existing_entry) {
    xoshiro256ss random(5);
    alignas(64) std::array<u64, 512> garbage{};
    auto* n = reinterpret_cast<node*>(garbage.data());
    for (u32 round = 0; round < 20000; ++round) {
        for (u64& each : garbage) each = random() & random();
        const u32 count = round % 4 == 0 ? 0 : static_cast<u32>(random.below(256));
        constexpr std::array kinds{what::s8, what::s16, what::s32, what::m16, what::m32};
        const what kind = kinds.at(random.below(kinds.size()));
        if (round % 8 == 1) n->masks[0] = 0;
        const u64 word = slot_word::of(kind, count, 0);
        const u32 limit = std::max(count == 0 ? 256U : count, 32U);
        ASSERT_LT(search::find<path_of<byte_keys>>(n, word, std::string_view("a key")), limit);
        const auto dense = static_cast<u32>(random());
        ASSERT_LT(search::by_words::fitting(n, word, dense), limit);
        if (search::by_vectors::is_there()) {
            ASSERT_LT(search::by_vectors::fitting(n, word, dense), 32U);
        }
        draft d;
        if (d.has_room_for(n, word)) d.load(n, word);
        node_buffer buffer;
        const auto entry = static_cast<u32>(random.below(40));
        const auto bit = static_cast<u32>(random.below(70));
        const auto made = grow(buffer, n, word, {entry, bit, round % 2 == 0, 0}, 1);
        if (made) {
            ASSERT_LE(size_of(*made), node_buffer::bytes);
        }
    }
}

/// Adds entries to a draft, as a batch does, until it is full and split.
void fill_and_split(draft d, xoshiro256ss& random, unsigned left) {
    while (d.count <= most_entries) {
        const auto entry = static_cast<u32>(random.below(d.count));
        d.add(entry, static_cast<u32>(random.below(64)), random.below(2) == 0, 0);
        ASSERT_LE(d.bit_count, most_entries);
    }
    draft zeros;
    draft ones;
    if (left == 0 || !d.split(zeros, ones)) return;
    ASSERT_EQ(zeros.count + ones.count, d.count);
    fill_and_split(zeros, random, left - 1);
    fill_and_split(ones, random, left - 1);
}

TEST(hot_nodes, damaged_nodes_accept_as_many_entries_as_sound_ones_or_none) {
    xoshiro256ss random(7);
    u32 taken = 0;
    for (u32 round = 0; round < 6000; ++round) {
        alignas(64) std::array<u64, 128> garbage{};
        for (u64& each : garbage) each = random() & random() & random();
        auto* n = reinterpret_cast<node*>(garbage.data());
        const u64 word = slot_word::of(round % 2 == 0 ? what::s16 : what::s32,
                                       static_cast<u32>(random.below(36)), 0);
        draft d;
        if (!d.has_room_for(n, word)) continue;
        d.load(n, word);
        ++taken;
        fill_and_split(d, random, 3);
    }
    EXPECT_GT(taken, 500U);
}

TEST(hot_nodes, remove_drops_the_entry_and_its_bits) {
    xoshiro256ss random(3);
    for (u32 round = 0; round < 100; ++round) {
        random_node<integer_keys> n;
        n.fill(32, [&] { return random() & 0xffff; });
        if (testing::Test::HasFatalFailure()) return;
        while (n.d.count > 2) {
            const auto gone = static_cast<u32>(random.below(n.d.count));
            n.keys.erase(std::next(n.keys.begin(), gone));
            n.d.remove(gone);
            ASSERT_LT(n.d.bit_count, n.d.count);
            n.write();
            u32 i = 0;
            for (const u64 k : n.keys) {
                ASSERT_EQ(search::find<path_of<integer_keys>>(n.at(), n.word, k), i++);
            }
        }
    }
}

TEST(hot_paths, order_is_that_of_strings) {
    xoshiro256ss random(4);
    using path = path_of<byte_keys>;
    for (u32 round = 0; round < 20000; ++round) {
        std::string a(random.below(14), 'a');
        for (char& c : a) c = static_cast<char>(random.below(3) * 127);
        std::string b = a.substr(0, random.below(a.size() + 1)) +
                        std::string(random.below(12), static_cast<char>(random.below(2)));
        const u32 bit = path::first_difference(a, b);
        ASSERT_EQ(bit == path::bits, a == b);
        if (a != b) {
            ASSERT_EQ(path::bit(b, bit), a < b);
            ASSERT_EQ(path::bit(a, bit), b < a);
        }
    }
}

// A path is computed repeatedly, and may be longer than the list's inline storage each time.
TEST(hot_few, contains_the_elements_added_since_clear) {
    few<u64, 3> list;
    for (u64 round = 0; round < 3; ++round) {
        for (u64 i = 0; i < 6; ++i) list.push(10 * round + i);
        ASSERT_EQ(list.size(), 6U);
        for (u32 i = 0; i < 6; ++i) EXPECT_EQ(list[i], 10 * round + i);
        list.cut(4);
        EXPECT_EQ(list.back(), 10 * round + 3);
        list.push(7);
        EXPECT_EQ(list.back(), 7U);
        EXPECT_EQ(list.size(), 5U);
        list.clear();
        EXPECT_TRUE(list.empty());
    }
}

TEST(hot_few_death, access_past_the_end_aborts) {
    if constexpr (!assertions_run) GTEST_SKIP() << "no assertions in this build";
    few<u64, 3> list;
    for (u64 i = 0; i < 5; ++i) list.push(i);
    list.cut(2);
    const auto& same = list;
    EXPECT_DEATH(std::ignore = list[2], "behind the last one");
    EXPECT_DEATH(std::ignore = same[4], "behind the last one");
}

}  // namespace
}  // namespace hf::hot_test
