// Words that are loaded at once belong to one moment, told step by step.
#include <holdfast/nv/at_once.hpp>

#include "heap_of_nodes.hpp"
#include "support/sync_points.hpp"

#include <thread>
#include <utility>

namespace hf::test {
namespace {

using nv::detail::words_at_once;
constexpr u32 words = 30;

struct row {
    static constexpr std::string_view nv_name = "row";
    nv::array<nv::p<u64>, words> word;  ///< 4 lines, with the object's header before it
};

class at_once : public on_tmpfs {
   protected:
    at_once() : heap(open_heap(file)), root(must(heap.root<row>("row"))) {
        must(heap.atomic([&](nv::tx<>& tx) { root.set(tx, tx.make<row>()); }));
    }
    /// In a thread of its own, done on return.
    void put_elsewhere(std::initializer_list<u32> which, u64 value) {
        std::thread([&] {
            must(heap.atomic([&](nv::tx<>& tx) {
                for (const u32 i : which) root->word[i].set(tx, value);
            }));
        }).join();
    }
    /// Two words of the row; `between` runs before the second.
    template <class F>
    std::pair<u64, u64> load(u32 a, u32 b, F&& between) {
        const row& r = *root.get();
        return words_at_once::load<words_at_once::lines_of<row>(0, sizeof(row))>(
            *transaction::running(), std::addressof(r), std::addressof(r) + 1, [&](const auto& of) {
                const u64 first = of(r.word[a]);
                between();
                return std::pair{first, of(r.word[b])};
            });
    }
    std::pair<u64, u64> load(u32 a, u32 b) {
        return load(a, b, [] {});
    }
    void changes_in_between(u32 a, u32 b) {
        int calls = 0;
        const auto [first, second] = load(a, b, [&] {
            if (++calls == 1) put_elsewhere({a, b}, first_value + 1);
        });
        EXPECT_EQ(first, second) << "of words " << a << " and " << b;
    }

    static constexpr u64 first_value = 1;
    nv::heap<> heap;
    nv::root<row> root;
};

TEST_F(at_once, a_node_of_four_lines_takes_no_fifth) {
    EXPECT_EQ((words_at_once::lines_of<row>(0, sizeof(row))), 4U);
    EXPECT_EQ((words_at_once::lines_of<row>(120, 8)), 1U);
    struct odd {
        nv::array<nv::p<u64>, 9> word;  // its blocks begin anywhere
    };
    EXPECT_EQ((words_at_once::lines_of<odd>(0, sizeof(odd))), 3U);
}

TEST_F(at_once, who_writes_sees_no_half_of_a_change) {
    for (const u32 last : {1U, 8U, 29U}) {
        put_elsewhere({0, last}, first_value);
        must(heap.atomic([&](nv::tx<>&) { changes_in_between(0, last); }));
    }
}

TEST_F(at_once, who_reads_by_the_clock_sees_no_half_of_a_change) {
    for (const u32 last : {1U, 8U, 29U}) {
        put_elsewhere({0, last}, first_value);
        must(heap.read([&](nv::tx<>&) { changes_in_between(0, last); }));
    }
}

TEST_F(at_once, what_was_loaded_is_still_so_at_each_later_moment) {
    for (const u32 changed : {0U, 8U, 16U, 24U, 29U}) {
        auto other = must(heap.root<node>("other"));
        must(heap.atomic([&](nv::tx<>& tx) { other.set(tx, tx.make<node>(0)); }));
        int attempts = 0;
        must(heap.atomic([&](nv::tx<>&) {
            ++attempts;
            (void)load(2, 3);
            if (attempts != 1) return;
            std::thread([&] {
                must(heap.atomic([&](nv::tx<>& tx) {
                    root->word[changed].set(tx, attempts + 1);
                    other->value.set(tx, 1);
                }));
            }).join();
            EXPECT_EQ(other->value, 0) << "newer than what it stands beside";
        }));
        EXPECT_EQ(attempts, 2) << "word " << changed << " has changed behind the look at its line";
    }
}

// The clock has moved before the words are in place. So the snapshot of who begins between the two
// includes the commit, and its version, when the lines are given back, is not newer than that.
TEST_F(at_once, who_begins_while_a_commit_is_under_way_sees_no_half_of_it) {
    if (!sync_points::exist) GTEST_SKIP() << "without persist points";
    for (const u32 last : {1U, 8U, 29U}) {
        put_elsewhere({0, last}, first_value);
        sync_points points;
        points.hold("transaction T1");
        std::thread other([&] { put_elsewhere({0, last}, first_value + 1); });
        points.await("transaction T1");
        const auto let_go = [&] {
            if (!other.joinable()) return;
            points.release("transaction T1");
            other.join();
        };
        int attempts = 0;
        must(heap.atomic([&](nv::tx<>&) {
            if (++attempts == 2) let_go();
            const auto [first, second] = load(0, last, let_go);
            EXPECT_EQ(first, second) << "of words 0 and " << last;
        }));
        let_go();
    }
}

// There is room for so many lines that were read; then more is made, and none is forgotten.
TEST_F(at_once, however_much_was_loaded_it_is_still_so) {
    auto other = must(heap.root<node>("other"));
    must(heap.atomic([&](nv::tx<>& tx) { other.set(tx, tx.make<node>(0)); }));
    for (const u32 apart : {0U, 1U, 2U, 3U}) {  // lines beyond a multiple
        put_elsewhere({0, 29}, 0);
        must(heap.atomic([&](nv::tx<>& tx) { other->value.set(tx, 0); }));
        int attempts = 0;
        must(heap.atomic([&](nv::tx<>&) {
            ++attempts;
            for (u32 i = 0; i < apart; ++i) (void)root->word[8 * i].get();
            for (u32 i = 0; i < 20'000; ++i) {
                ASSERT_EQ(load(0, 29), (std::pair<u64, u64>{attempts - 1, attempts - 1}));
            }
            if (attempts != 1) return;
            std::thread([&] {
                must(heap.atomic([&](nv::tx<>& tx) {
                    for (const u32 w : {0U, 29U}) root->word[w].set(tx, 1);
                    other->value.set(tx, 1);
                }));
            }).join();
            EXPECT_EQ(other->value, 0) << "newer than what it stands beside";
        }));
        EXPECT_EQ(attempts, 2);
    }
}

TEST_F(at_once, a_change_before_the_look_is_seen) {
    must(heap.atomic([&](nv::tx<>&) {
        put_elsewhere({0, 29}, 7);
        EXPECT_EQ(load(0, 29), (std::pair<u64, u64>{7, 7}));
    }));
    must(heap.read([&](nv::tx<>&) {
        put_elsewhere({0, 29}, 8);
        EXPECT_EQ(load(0, 29), (std::pair<u64, u64>{8, 8}));
    }));
}

TEST_F(at_once, what_the_transaction_stored_itself_is_seen) {
    must(heap.atomic([&](nv::tx<>& tx) {
        root->word[29].set(tx, 9);
        EXPECT_EQ(load(0, 29), (std::pair<u64, u64>{0, 9}));
    }));
}

}  // namespace
}  // namespace hf::test
