#include "art_fixture.hpp"
#include "index/common/index_audit.hpp"
#include "index/common/index_states.hpp"
#include "index/common/index_store.hpp"

namespace hf::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(art, index_store, ::testing::Types<art_family>);
INSTANTIATE_TYPED_TEST_SUITE_P(art, index_audits, ::testing::Types<art_family>);
INSTANTIATE_TYPED_TEST_SUITE_P(art, index_states, ::testing::Types<art_family>);

class art_store : public on_tmpfs {};
using numbers = art_family::numbers_in_file;

// In the original P-ART, an N48's child is unpublished before its index, so after a crash another
// key's child is found under the old byte. Here a slot that is reused for another byte must never
// be found by the old one.
TEST_F(art_store, reused_slot_is_not_found_by_its_old_byte) {
    numbers t(file);
    for (u64 k = 0; k < 47; ++k) t.insert(k, k);
    for (int round = 0; round < 5; ++round) {
        t.remove(static_cast<u64>(round));
        t.open_again();  // hints have the old byte, or whatever a crash left
        t.insert(100 + static_cast<u64>(round), 7);
        for (u64 k = 0; k <= static_cast<u64>(round); ++k) ASSERT_FALSE(t.get(k));
        ASSERT_EQ(t.get(100 + static_cast<u64>(round)), 7U);
    }
    t.expect_sound();
}

// A stored count that disagrees with the children would lose some when the node is copied. Here the
// first writer of a session derives the count from the words, so a node never grows without need.
TEST_F(art_store, counts_of_an_earlier_session_are_ignored) {
    numbers t(file);
    for (u64 k = 0; k < 10; ++k) t.insert(k, k);
    t.open_again();
    for (u64 k = 10; k < 16; ++k) t.insert(k, k);
    t.open_again();
    for (u64 k = 16; k < 60; ++k) t.insert(k, k);
    t.open_again();
    for (u64 k = 0; k < 58; ++k) ASSERT_TRUE(t.remove(k));
    EXPECT_EQ(t.all(), (numbers::entries{{58, 58}, {59, 59}}));
    t.expect_sound();
}

// A node whose only remaining entry is a node is removed together with the record.
TEST_F(art_store, node_with_one_child_left_is_merged) {
    numbers t(file);
    const auto key = [](u64 first, u64 second, u64 third) {
        return first << 56 | second << 48 | third << 40;
    };
    const auto nodes = [&] { return t.audit().tree.interiors; };
    for (const u64 k : {key(1, 0, 0), key(1, 1, 0), key(1, 1, 1), key(1, 1, 2), key(2, 0, 0)}) {
        t.insert(k, k);
    }
    ASSERT_EQ(nodes(), 3U) << "the root, one for the second byte, one for the third";
    ASSERT_TRUE(t.remove(key(2, 0, 0)));
    EXPECT_EQ(nodes(), 3U);
    ASSERT_TRUE(t.remove(key(1, 0, 0)));
    EXPECT_EQ(nodes(), 2U);
    t.expect_sound();
    EXPECT_EQ(t.all().size(), 3U);
}

// A crash during such a removal leaves the slot empty and the nodes not merged. Inserts use the
// node as it is; the next removal on its path merges it.
TEST_F(art_store, node_with_one_child_after_a_crash_is_merged_by_the_next_removal) {
    numbers t(file);
    const auto nodes = [&] { return t.audit().tree.interiors; };
    for (const u64 k : {0x100U, 0x201U, 0x202U}) t.insert(k, k);
    ASSERT_EQ(nodes(), 3U) << "the root, one for the seventh byte, one for the eighth";
    const auto blocks = blocks_of(t);
    unsigned emptied = 0;
    for (const auto& p : blocks.at("a node of an ART")) {
        auto* const words = t.space->file().at<u64>(p.payload);
        for (u64 i = 0; i < p.room / sizeof(u64); ++i) {
            using namespace art_detail;
            if (slot_word::what_of(words[i]) != what::record) continue;
            const u64 at = slot_word::offset_of(words[i]);
            const bool is_record = std::ranges::any_of(
                blocks.at("a record"), [&](const auto& r) { return r.payload == at; });
            if (!is_record ||
                integer_keys::key_of(*t.space->file().at<integer_keys::record>(at)) != 0x100) {
                continue;
            }
            words[i] = 0;
            ++emptied;
        }
    }
    ASSERT_EQ(emptied, 1U);
    t.open_again();
    ASSERT_FALSE(t.get(0x100));
    ASSERT_EQ(nodes(), 3U);
    t.insert(0x203, 0x203);
    t.update(0x203, 1);
    EXPECT_EQ(nodes(), 3U) << "who writes leaves it";
    ASSERT_TRUE(t.remove(0x203));
    EXPECT_EQ(nodes(), 2U) << "who removes does not";
    t.insert(0x100, 7);
    EXPECT_EQ(t.all(), (numbers::entries{{0x100, 7}, {0x201, 0x201}, {0x202, 0x202}}));
    t.expect_sound();
}

// ------------------------------------------------------------------------------ flushes and fences

// The cost of operations that do not change a node's size: the table in recipe.md.
TEST_F(art_store, operations_use_the_documented_number_of_flushes_and_fences) {
    numbers t(file);
    for (u64 k = 0; k < 30; ++k) t.insert(k, k);  // an N48 with a free slot
    for (u64 k = 40; k < 400; k += 2) t.insert(k << 20, k);
    using cost = std::pair<u64, u64>;
    EXPECT_EQ(cost_of([&] { t.insert(30, 1); }), cost(2, 2));
    EXPECT_EQ(cost_of([&] { t.update(30, 2); }), cost(1, 1));
    EXPECT_EQ(cost_of([&] { t.remove(30); }), cost(1, 1));
    EXPECT_EQ(cost_of([&] { std::ignore = t.get(29); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { std::ignore = t.get(31); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { std::ignore = t.scan(0, 100); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { t.insert(5, 1); }), cost(0, 0));
}

TEST_F(art_store, batch_uses_two_fences) {
    if (best_flush_instruction() == flush_instruction::none) GTEST_SKIP();
    numbers t(file);
    EXPECT_EQ(fences_of_batch(t, 100, batch_entries), 2U);
    art_family::bytes_in_file strings(dir / "strings.hf");
    EXPECT_EQ(fences_of_batch(strings, 100, batch_entries), 2U);
}

// Bulk load into an empty index. Decimal digits make small nodes: a new one for every sixth key.
TEST_F(art_store, bulk_load_uses_few_fences) {
    constexpr u64 batches = 100;
    numbers t(file);
    EXPECT_LE(cost_of_load(t, batches * batch_entries).second, 20 * batches);
    art_family::bytes_in_file strings(dir / "strings.hf");
    EXPECT_LE(cost_of_load(strings, batches * batch_entries).second, 56 * batches);
}

}  // namespace
}  // namespace hf::test
