// Nodes and the words in them, without a tree.
#include "base/random.hpp"
#include "index/art/in_order.hpp"
#include "index/art/node.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

namespace hf::art_test {
namespace {

using namespace art_detail;

template <class How, std::size_t N>
void expect_as_by_bytes(const std::array<search::hint, N>& hints) {
    if (!How::is_there()) return;
    for (unsigned byte = 0; byte < 256; ++byte) {
        const auto b = static_cast<u8>(byte);
        EXPECT_EQ(How::equal(hints, b), search::by_bytes::equal(hints, b)) << byte;
    }
}

TEST(art_search, all_instruction_sets_find_the_same) {
    splitmix64 random(1);
    for (int round = 0; round < 200; ++round) {
        std::array<search::hint, 16> few;
        std::array<search::hint, 48> many;
        const u64 span = round % 2 == 0 ? 256 : 5;
        for (auto& h : few) h.store(static_cast<u8>(random() % span));
        for (auto& h : many) h.store(static_cast<u8>(random() % span));
        expect_as_by_bytes<search::by_sse2>(few);
        expect_as_by_bytes<search::by_sse2>(many);
        expect_as_by_bytes<search::by_avx2>(many);
    }
}

TEST(art_words, slot_word_stores_byte_kind_and_offset) {
    constexpr u64 w = slot_word::of(0xfe, what::n48, 0x123456789ab0);
    EXPECT_EQ(slot_word::byte_of(w), 0xfe);
    EXPECT_EQ(slot_word::what_of(w), what::n48);
    EXPECT_EQ(slot_word::offset_of(w), 0x123456789ab0U);
    EXPECT_EQ(slot_word::by(w, 3), slot_word::of(3, what::n48, 0x123456789ab0));
    EXPECT_TRUE(slot_word::is_node(w));
    EXPECT_FALSE(slot_word::is_node(slot_word::of(1, what::record, 64)));
    EXPECT_FALSE(slot_word::is_node(0));
}

template <class Path, class Key>
void expect_prefixes(const Key& k) {
    const u32 most = std::min<u32>(Path::length(k), 4095);
    for (u32 depth = 0; depth <= most; depth = depth * 2 + 1) {
        for (u32 level = depth; level <= most; level = level * 2 + 1) {
            const auto p = prefix<Path>::of(k, depth, level);
            const auto q = prefix<Path>::unpack(p.pack());
            EXPECT_EQ(q.level, level);
            EXPECT_EQ(q.length, level - depth);
            EXPECT_EQ(q.bytes, Path::chunk(k, depth, std::min(level - depth, Path::stored_bytes)));
            EXPECT_TRUE(q.fits(depth));
            EXPECT_FALSE(q.fits(depth + 1));
        }
    }
}
TEST(art_words, prefix_is_restored_from_its_word) {
    expect_prefixes<path_of<integer_keys>>(u64{0xf1e2d3c4b5a69788});
    expect_prefixes<path_of<byte_keys>>(std::string_view(std::string(4096, '\xee')));
}

template <class N>
class art_nodes : public ::testing::Test {};
using all_nodes = ::testing::Types<node4, node16, node48, node256>;
TYPED_TEST_SUITE(art_nodes, all_nodes);

template <class N>
std::unique_ptr<N> empty_node() {
    auto n = std::make_unique<N>();
    n->end.store(0);
    for (published& s : n->slots) s.store(0);
    n->make_hints();
    return n;
}
template <class N>
bool add(N& n, u8 byte) {
    published* slot = n.free_slot(byte);
    if (slot == nullptr) return false;
    n.note_added(slot, byte);
    slot->store(slot_word::of(byte, what::record, 64 * (byte + 1U)));
    return true;
}

// Adds and removes bytes until every slot has been reused. Byte 0 must not be confused with an
// empty slot.
TYPED_TEST(art_nodes, find_returns_exactly_the_existing_bytes) {
    auto n = empty_node<TypeParam>();
    splitmix64 random(2);
    std::set<u8> there;
    for (int i = 0; i < 5000; ++i) {
        const auto byte = static_cast<u8>(random() % (i % 400 < 200 ? 256 : 8));
        const auto found = n->find(byte, true);
        ASSERT_EQ(found.word != 0, there.contains(byte));
        ASSERT_EQ(n->find(byte, false).word, found.word);
        if (found.word != 0 && random() % 4 != 0) {
            found.at->store(0);
            n->note_removed();
            there.erase(byte);
        } else if (found.word == 0) {
            const bool has_room = there.size() < n->slots.size();
            ASSERT_EQ(add(*n, byte), has_room);
            if (has_room) there.insert(byte);
        }
        ASSERT_EQ(n->count(), there.size());
    }
}

// A crash keeps the words, and may bring back any older hints.
TYPED_TEST(art_nodes, find_works_without_hints_and_make_hints_restores_them) {
    auto n = empty_node<TypeParam>();
    std::set<u8> there;
    for (unsigned byte = 0; byte < 256 && add(*n, static_cast<u8>(byte)); byte += 3) {
        there.insert(static_cast<u8>(byte));
    }
    if constexpr (requires { n->hints; }) {
        splitmix64 random(3);
        for (auto& h : n->hints) h.store(static_cast<u8>(random()));
    }
    const auto expect_all = [&](bool hints) {
        for (unsigned byte = 0; byte < 256; ++byte) {
            const auto b = static_cast<u8>(byte);
            EXPECT_EQ(n->find(b, hints).word != 0, there.contains(b)) << byte;
        }
    };
    expect_all(false);
    n->make_hints();
    expect_all(true);
    EXPECT_EQ(n->count(), there.size());
}

/// Iterates from position `from`, and stops after `most` entries. Returns the positions, checking
/// their words.
template <bool Up, class N>
std::vector<u32> in_order(N& n, u32 from, std::size_t most) {
    std::vector<u32> seen;
    std::set<u64> met;
    const auto meet = [&](u64 w) {
        EXPECT_TRUE(slot_word::is_node(w));
        met.insert(w);
    };
    const bool stopped =
        each_in_order<Up>(n, from, meet, [&](u64 w, const published& slot, u32 position) {
            EXPECT_EQ(w, slot.load());
            EXPECT_EQ(&slot == &n.end, position == 0);
            if (position != 0) {
                EXPECT_EQ(slot_word::byte_of(w), position - 1);
            }
            if constexpr (N::kind == what::n16 || N::kind == what::n48) {
                EXPECT_EQ(met.contains(w), slot_word::is_node(w));
            }
            seen.push_back(position);
            return seen.size() == most;
        });
    EXPECT_EQ(stopped, seen.size() == most);
    return seen;
}

TYPED_TEST(art_nodes, iteration_is_ordered_from_each_position_in_both_directions) {
    splitmix64 random(4);
    for (const bool has_end : {false, true}) {
        for (const u64 span : {256, 40, 3}) {
            auto n = empty_node<TypeParam>();
            std::vector<u32> all;
            if (has_end) {
                n->end.store(slot_word::of(0, what::record, 64));
                all.push_back(0);
            }
            for (int i = 0; i < 60; ++i) {
                const auto byte = static_cast<u8>(random() % span);
                if (n->find(byte, true).word == 0 && add(*n, byte)) all.push_back(byte + 1U);
            }
            // Replace an entry by a gap, and a record by a node.
            if (all.size() > 2) {
                n->find(static_cast<u8>(all.back() - 1), true).at->store(0);
                n->note_removed();
                all.pop_back();
                published& some = *n->find(static_cast<u8>(all.back() - 1), true).at;
                some.store(slot_word::of(static_cast<u8>(all.back() - 1), what::n4, 6400));
            }
            std::ranges::sort(all);
            for (u32 from = 0; from <= 256; ++from) {
                const auto split = std::ranges::lower_bound(all, from);
                const std::vector<u32> up(split, all.end());
                std::vector<u32> down(all.begin(), std::ranges::upper_bound(all, from));
                std::ranges::reverse(down);
                EXPECT_EQ(in_order<true>(*n, from, 1000), up) << from;
                EXPECT_EQ(in_order<false>(*n, from, 1000), down) << from;
                EXPECT_EQ(in_order<true>(*n, from, 2).size(), std::min<std::size_t>(up.size(), 2));
            }
        }
    }
}

// A reader may load a byte twice, when it was removed from a later slot and inserted into an
// earlier one meanwhile. The word loaded last must be used.
TYPED_TEST(art_nodes, iteration_returns_a_byte_once_if_it_was_loaded_twice) {
    constexpr u32 slots = std::tuple_size_v<decltype(TypeParam::slots)>;
    if constexpr (slots < 256) {
        for (u32 second = 1; second < 4; ++second) {
            for (u32 first = 0; first < second; ++first) {
                auto n = empty_node<TypeParam>();
                for (u32 i = 0; i < 4; ++i) {
                    const auto byte = static_cast<u8>(i == first || i == second ? 7 : 6 + 2 * i);
                    n->slots[i].store(slot_word::of(byte, what::record, 64 * (i + 1U)));
                }
                const auto expect_once = [&](const auto& each) {
                    std::vector<u64> met;
                    each([&](u64 w, const published& /*slot*/, u32 position) {
                        if (position == 8) met.push_back(w);
                        return false;
                    });
                    EXPECT_EQ(met, std::vector<u64>{n->slots[second].load()});
                };
                const auto meet = [](u64) {};
                expect_once([&](const auto& put) { each_in_order<true>(*n, 0, meet, put); });
                expect_once([&](const auto& put) { each_in_order<false>(*n, 256, meet, put); });
            }
        }
    }
}

TEST(art_nodes_of_48, entry_is_in_the_home_line_of_its_byte_while_there_is_room) {
    auto n = empty_node<node48>();
    for (unsigned byte = 0; byte < 256; byte += 8) {
        ASSERT_TRUE(add(*n, static_cast<u8>(byte)));
        const auto found = n->find(static_cast<u8>(byte), true);
        const auto at = static_cast<std::size_t>(found.at - n->slots.data());
        EXPECT_EQ(at / 8 * 8, node48::home_of(static_cast<u8>(byte)));
    }
}

}  // namespace
}  // namespace hf::art_test
