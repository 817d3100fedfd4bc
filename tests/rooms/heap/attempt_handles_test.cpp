// Handles that an attempt made are refused by every later attempt, of the same transaction too.
#include <holdfast/nv/map.hpp>
#include <holdfast/nv/rb_map.hpp>
#include <holdfast/nv/unordered_map.hpp>

#include "heap_of_nodes.hpp"

#include <optional>
#include <thread>
#include <type_traits>

namespace hf::test {
namespace {

struct maps {
    static constexpr std::string_view nv_name = "maps";
    nv::p<u64> changes;
    nv::map<u64, nv::p<u64>> tree;
    nv::rb_map<u64, nv::p<u64>> red_black;
    nv::unordered_map<u64, nv::p<u64>> table;
};

class attempt_handles : public on_tmpfs {
   protected:
    attempt_handles()
        : heap(open_heap(file)),
          head(must(heap.root<node>("head"))),
          all(must(heap.root<maps>("maps"))) {
        must(heap.atomic([&](nv::tx<>& tx) {
            head.set(tx, tx.make<node>(1));
            all.set(tx, tx.make<maps>());
            for (u64 i = 0; i < 100; ++i) {
                all->tree.insert_or_assign(tx, i, i);
                all->red_black.insert_or_assign(tx, i, i);
                all->table.insert_or_assign(tx, i, i);
            }
        }));
    }
    /// Runs first(tx) in an attempt that is rolled back, then `again(tx)` in the next attempt.
    template <class First, class Again>
    [[nodiscard]] result<void> in_two_attempts(First&& first, Again&& again) {
        int attempts = 0;
        return heap.atomic([&](nv::tx<>& tx) {
            if (attempts++ == 0) {
                first(tx);
                tx.retry();
            }
            again(tx);
        });
    }
    template <class First, class Again>
    void expect_refused(First&& first, Again&& again) {
        const auto done = in_two_attempts(first, again);
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, errc::usage) << done.error().to_string();
        EXPECT_NE(done.error().to_string().find("a cursor was used"), std::string::npos)
            << done.error().to_string();
        (void)sound(heap);
    }
    nv::heap<> heap;
    nv::root<node> head;
    nv::root<maps> all;
};

TEST_F(attempt_handles, a_cursor_to_an_object_that_was_rolled_back_is_refused_by_the_next_attempt) {
    nv::cursor<node> kept;
    expect_refused([&](nv::tx<>& tx) { kept = tx.make<node>(42); },
                   [&](nv::tx<>& tx) { head.set(tx, kept); });
    expect_refused([&](nv::tx<>& tx) { kept = tx.make<node>(42); },
                   [&](nv::tx<>&) { (void)kept->value.get(); });
    must(heap.read([&](nv::tx<>&) { EXPECT_EQ(head->value, 1); }));
}

TEST_F(attempt_handles, a_cursor_that_was_read_is_refused_by_the_next_attempt) {
    nv::cursor<node> kept;
    expect_refused([&](nv::tx<>&) { kept = head.get(); },
                   [&](nv::tx<>& tx) { kept->next.set(tx, nullptr); });
}

TEST_F(attempt_handles, a_cursor_to_an_array_is_refused_by_the_next_attempt) {
    nv::cursor<nv::p<u64>[]> kept;
    expect_refused([&](nv::tx<>& tx) { kept = tx.make_array<nv::p<u64>[]>(3); },
                   [&](nv::tx<>&) { (void)kept.size(); });
}

TEST_F(attempt_handles, a_cursor_is_refused_after_a_conflict_with_another_thread) {
    nv::cursor<node> made;
    int attempts = 0;
    const auto done = heap.atomic([&](nv::tx<>& tx) {
        ++attempts;
        const u64 seen = all->changes;
        if (!made) made = tx.make<node>(42);
        if (attempts == 1) {
            std::thread([&] {
                must(heap.atomic([&](nv::tx<>& t2) { all->changes.set(t2, all->changes + 1); }));
            }).join();
        }
        all->changes.set(tx, seen + 1);
        head.set(tx, made);
    });
    EXPECT_EQ(attempts, 2);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, errc::usage);
    (void)sound(heap);
    must(heap.read([&](nv::tx<>&) { EXPECT_EQ(head->value, 1); }));
}

TEST_F(attempt_handles, a_cursor_that_each_attempt_makes_anew_is_accepted) {
    nv::cursor<node> made;
    must(in_two_attempts([&](nv::tx<>& tx) { made = tx.make<node>(41); },
                         [&](nv::tx<>& tx) {
                             made = tx.make<node>(42);
                             head.set(tx, made);
                         }));
    must(heap.read([&](nv::tx<>&) { EXPECT_EQ(head->value, 42); }));
}

TEST_F(attempt_handles, a_reference_to_an_object_that_was_rolled_back_is_refused) {
    nv::ref<node> kept;
    const auto done = in_two_attempts([&](nv::tx<>& tx) { kept = tx.make<node>(42); },
                                      [&](nv::tx<>& tx) { head.set(tx, kept); });
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().to_string().find("did not commit"), std::string::npos);
    nv::weak_ref<node> weak;
    must(in_two_attempts([&](nv::tx<>& tx) { weak = nv::weak_ref<node>(tx.make<node>(42)); },
                         [&](nv::tx<>&) { EXPECT_FALSE(weak.get()); }));
    (void)sound(heap);
}

// A place holds addresses of entries, and the block that held them may belong to another object.
template <class Map>
class places : public attempt_handles {};

struct tree_of {
    static auto& of(maps& m) { return m.tree; }
};
struct red_black_of {
    static auto& of(maps& m) { return m.red_black; }
};
struct table_of {
    static auto& of(maps& m) { return m.table; }
};
using map_kinds = ::testing::Types<tree_of, red_black_of, table_of>;
TYPED_TEST_SUITE(places, map_kinds);

TYPED_TEST(places, a_place_of_an_earlier_attempt_is_refused_by_erase_and_insert) {
    nv::root<maps>& held = this->all;
    using place = std::remove_cvref_t<decltype(TypeParam::of(*held.get()).place_of(1))>;
    for (const u64 key : {u64{7}, u64{1'000}}) {
        std::optional<place> kept;
        this->expect_refused(
            [&](nv::tx<>&) { kept.emplace(TypeParam::of(*held.get()).place_of(key)); },
            [&](nv::tx<>& tx) {
                auto& map = TypeParam::of(*held.get());
                if (*kept) {
                    map.erase_at(tx, *kept);
                } else {
                    static_cast<void>(map.insert_at(tx, *kept, key));
                }
            });
    }
}

}  // namespace
}  // namespace hf::test
