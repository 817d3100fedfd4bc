#include "index/common/batch.hpp"

#include "support/must.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace hf::test {
namespace {

/// An index that leaves over the entries that a script selects: during the piece, or when they are
/// inserted afterwards.
struct leaving_index {
    using key = u64;
    using value = u64;
    struct operation {
        unsigned ways = 0;
        void arrived() { ++ways; }
    };
    using entries = std::span<const batch_entry<leaving_index>>;

    result<bool> insert(operation&, key k, value v) { return all.emplace(k, v).second; }
    result<u64> insert_piece(operation& op, entries piece) {
        ++pieces;
        batch_rest<leaving_index> rest(piece);
        std::map<key, std::pair<value, std::size_t>> placed;
        u64 inserted = rest.place_each(op, [&](std::size_t i) {
            const auto& [k, v] = piece[i];
            if (draw()) return placing::left;
            if (all.contains(k) || placed.contains(k)) return placing::there;
            placed[k] = {v, i};
            return placing::done;
        });
        for (const auto& [k, what] : placed) {
            if (draw()) {
                rest.leave(what.second);
                --inserted;
            } else {
                all.emplace(k, what.first);
            }
        }
        return rest.insert(*this, op, inserted);
    }
    /// Takes the next bit of the script.
    bool draw() {
        const bool bit = (script & 1) != 0;
        script >>= 1;
        return bit;
    }

    std::map<key, value> all;
    u32 script = 0;
    u32 pieces = 0;
};

TEST(index_batch, first_of_equal_keys_wins_whichever_entries_are_left_over) {
    const std::vector<std::pair<u64, u64>> entries{{7, 0}, {3, 1}, {7, 2}, {7, 3}, {3, 4}, {5, 5}};
    const std::map<u64, u64> wanted{{7, 0}, {3, 1}, {5, 5}};
    for (u32 script = 0; script < 1U << 12; ++script) {
        leaving_index index;
        index.script = script;
        leaving_index::operation op;
        ASSERT_EQ(must(index.insert_piece(op, entries)), wanted.size()) << script;
        ASSERT_EQ(index.all, wanted) << script;
    }
}

TEST(index_batch, left_over_entries_form_another_piece_if_some_were_inserted) {
    const std::vector<std::pair<u64, u64>> entries{{1, 0}, {2, 1}, {3, 2}, {4, 3}, {5, 4}};
    leaving_index::operation op;
    leaving_index some;
    some.script = 0b11110;
    EXPECT_EQ(must(some.insert_piece(op, entries)), entries.size());
    EXPECT_EQ(some.pieces, 2U);
    leaving_index none;
    none.script = 0b11111;
    EXPECT_EQ(must(none.insert_piece(op, entries)), entries.size());
    EXPECT_EQ(none.pieces, 1U);
}

}  // namespace
}  // namespace hf::test
