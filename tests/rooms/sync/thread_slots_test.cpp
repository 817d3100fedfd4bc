// Slots that outlive their threads, and threads that outlive their objects (thread_slots.hpp).
#include "sync/thread_slots.hpp"

#include <gtest/gtest.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <thread>
#include <vector>

namespace hf {
namespace {

struct note {
    u32 index;
    u64 text = 0;  // plain: the next owner must see it without further ado
};
using notes = thread_slots<note>;

notes::maker maker() {
    return [](u32 index) { return std::make_unique<note>(note{index}); };
}

template <class Work>
void in_a_thread(Work&& work) {
    std::thread(work).join();
}

TEST(thread_slots, the_next_thread_takes_the_slot_over_with_what_is_in_it) {
    notes n(1, 8, maker());
    for (u64 i = 0; i < 50; ++i) {
        in_a_thread([&] {
            EXPECT_EQ(n.mine().index, 1U);
            EXPECT_EQ(n.mine().text, i);
            n.mine().text = i + 1;
        });
    }
    EXPECT_EQ(n.used(), 2U);
    EXPECT_EQ(n.at(1).text, 50U);
}

TEST(thread_slots, slots_below_the_first_are_there_and_belong_to_no_thread) {
    notes n(2, 4, maker());
    EXPECT_EQ(n.used(), 2U);
    EXPECT_EQ(n.at(0).index, 0U);
    EXPECT_EQ(n.at(1).index, 1U);
    in_a_thread([&] { EXPECT_EQ(n.mine().index, 2U); });
}

TEST(thread_slots, a_thread_has_one_slot_in_each_of_several_objects) {
    notes a(0, 4, maker()), b(1, 4, maker());
    in_a_thread([&] {
        note* const in_a = &a.mine();
        note* const in_b = &b.mine();
        EXPECT_NE(in_a, in_b);
        for (int i = 0; i < 10; ++i) {
            EXPECT_EQ(&a.mine(), in_a);
            EXPECT_EQ(&b.mine(), in_b);
        }
    });
    EXPECT_EQ(a.used(), 1U);
    EXPECT_EQ(b.used(), 2U);
}

TEST(thread_slots, a_new_object_at_the_place_of_one_that_is_gone_is_not_taken_for_it) {
    std::optional<notes> n;
    for (u64 i = 0; i < 20; ++i) {
        n.emplace(0, 4, maker());
        EXPECT_EQ(n->mine().text, 0U) << "a slot of an object that is gone";
        n->mine().text = i + 1;
    }
}

TEST(thread_slots, a_slot_for_which_there_is_no_memory_is_not_taken) {
    bool is_out_of_memory = true;
    notes n(0, 4, [&](u32 index) {
        if (is_out_of_memory) throw std::bad_alloc();
        return std::make_unique<note>(note{index});
    });
    in_a_thread([&] { EXPECT_THROW((void)n.mine(), std::bad_alloc); });
    EXPECT_EQ(n.used(), 0U);
    is_out_of_memory = false;
    in_a_thread([&] { EXPECT_EQ(n.mine().index, 0U); });
    EXPECT_EQ(n.used(), 1U);
}

TEST(thread_slots, a_thread_may_end_after_its_object) {
    auto n = std::make_unique<notes>(0, 4, maker());
    std::atomic<int> step{0};
    std::thread t([&] {
        n->mine().text = 1;
        step = 1;
        while (step != 2) ::sched_yield();
    });
    while (step != 1) ::sched_yield();
    n.reset();
    step = 2;
    t.join();
}

TEST(thread_slots, with_all_slots_taken_a_thread_waits_for_one_that_ends) {
    notes n(0, 2, maker());
    std::atomic<bool> may_end{false};
    std::atomic<u32> in{0}, late{0};
    std::vector<std::thread> first;
    for (int i = 0; i < 2; ++i) {
        first.emplace_back([&] {
            (void)n.mine();
            ++in;
            while (!may_end) ::sched_yield();
        });
    }
    while (in != 2) ::sched_yield();
    std::thread third([&] {
        (void)n.mine();
        late = 1;
    });
    for (int i = 0; i < 1000; ++i) {
        ASSERT_EQ(late, 0U);
        ::sched_yield();
    }
    may_end = true;
    for (std::thread& t : first) t.join();
    third.join();
    EXPECT_EQ(late, 1U);
    EXPECT_EQ(n.used(), 2U);
}

TEST(thread_slots, work_on_an_idle_slot_is_done_only_while_nobody_owns_it) {
    notes n(0, 2, maker());
    bool done = false;
    EXPECT_TRUE(n.with_idle(0, [&] { done = true; })) << "not made yet, so nobody's";
    EXPECT_TRUE(done);
    in_a_thread([&] {
        (void)n.mine();
        EXPECT_FALSE(n.with_idle(0, [] { FAIL() << "it has an owner"; }));
    });
    EXPECT_TRUE(n.with_idle(0, [&] { n.at(0).text = 7; }));
    in_a_thread([&] { EXPECT_EQ(n.mine().text, 7U); });
}

// T2: a thread takes the lowest slot that is free, in whatever order threads start and end.
TEST(thread_slots, the_lowest_free_slot_is_taken) {
    constexpr u32 first = 2, end = 6;
    notes n(first, end, maker());
    std::array<std::thread, end> threads;
    std::array<std::atomic<int>, end> step{};  // 1: has its slot; 2: may end
    const auto begin = [&](u32 expected) {
        const u32 at = expected;
        step[at] = 0;
        threads[at] = std::thread([&, at] {
            EXPECT_EQ(n.mine().index, at);
            EXPECT_EQ(&n.mine(), &n.at(at));
            step[at] = 1;
            while (step[at] != 2) ::sched_yield();
        });
        while (step[at] != 1) ::sched_yield();
    };
    const auto end_one = [&](u32 at) {
        step[at] = 2;
        threads[at].join();
    };
    for (u32 i = first; i < end; ++i) {
        EXPECT_EQ(n.used(), i);
        begin(i);
        EXPECT_EQ(n.used(), i + 1);
    }
    for (u32 low = first; low < end; ++low) {
        for (u32 high = low + 1; high < end; ++high) {
            end_one(low);
            end_one(high);
            EXPECT_TRUE(n.with_idle(low, [] {}));
            EXPECT_TRUE(n.with_idle(high, [] {}));
            begin(low);
            EXPECT_FALSE(n.with_idle(low, [] {}));
            EXPECT_TRUE(n.with_idle(high, [] {}));
            begin(high);
            EXPECT_EQ(n.used(), end);
        }
    }
    for (u32 i = first; i < end; ++i) end_one(i);
}

TEST(thread_slots, a_thread_forgets_no_object_that_lives_when_others_have_gone) {
    notes stays(0, 4, maker());
    in_a_thread([&] {
        note* const mine = &stays.mine();
        for (int i = 0; i < 10; ++i) {
            notes goes(1, 4, maker());
            EXPECT_EQ(goes.mine().index, 1U);
            EXPECT_EQ(&stays.mine(), mine);
            EXPECT_EQ(goes.mine().index, 1U);
        }
        EXPECT_EQ(&stays.mine(), mine);
        EXPECT_EQ(stays.used(), 1U);
    });
    in_a_thread([&] { EXPECT_EQ(stays.mine().index, 0U) << "given back"; });
}

// A destructor of another pthread key may run after the slots were given back, and take one again.
TEST(thread_slots, a_slot_that_is_taken_while_the_thread_ends_is_given_back_too) {
    static notes* used_late = nullptr;
    notes n(0, 4, maker());
    used_late = &n;
    pthread_key_t early = 0;
    pthread_key_t late = 0;
    // Keys' destructors run in the order of the keys: one of these two is after the slots'.
    ASSERT_EQ(::pthread_key_create(&early, [](void*) { ++used_late->mine().text; }), 0);
    in_a_thread([&] { (void)n.mine(); });
    ASSERT_EQ(::pthread_key_create(&late, [](void*) { ++used_late->mine().text; }), 0);
    for (u64 i = 1; i <= 100; ++i) {
        in_a_thread([&] {
            (void)n.mine();
            ::pthread_setspecific(early, &n);
            ::pthread_setspecific(late, &n);
        });
        EXPECT_EQ(n.at(0).text, 2 * i);
        EXPECT_TRUE(n.with_idle(0, [] {})) << "a slot is lost";
    }
    EXPECT_EQ(n.used(), 1U);
    ::pthread_key_delete(early);
    ::pthread_key_delete(late);
}

TEST(thread_slots, a_child_of_fork_has_none_of_an_object_of_its_parent) {
    notes n(1, 3, maker());
    EXPECT_DEATH((void)n.mine(),
                 "holdfast: fatal: cannot use the region: this process is a child "
                 "of fork");
    n.mine().text = 7;  // from now on the thread remembers it
    EXPECT_DEATH((void)n.mine(), "child of fork");
    const pid_t child = ::fork();
    if (child == 0) {
        notes own(1, 3, maker());
        own.mine().text = 1;
        const bool is_free = [&] {
            bool got = false;
            in_a_thread([&] { got = own.mine().index == 2; });
            return got;
        }();
        ::_exit(is_free && own.mine().text == 1 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "objects of its own work in the child";
    EXPECT_EQ(n.mine().text, 7U);
}

TEST(thread_slots, an_object_has_slots_for_threads) {
    EXPECT_DEATH(notes(3, 3, maker()), "without slots for threads");
    EXPECT_DEATH(notes(4, 3, maker()), "without slots for threads");
    notes one(2, 3, maker());
    in_a_thread([&] { EXPECT_EQ(one.mine().index, 2U); });
    EXPECT_EQ(one.used(), 3U);
}

TEST(thread_slots, crowds_of_short_lived_threads_share_few_slots_one_owner_at_a_time) {
    constexpr u32 at_a_time = 6, waves = 60;
    notes n(1, at_a_time, maker());  // one slot too few for all
    for (u32 w = 0; w < waves; ++w) {
        std::vector<std::thread> crowd;
        for (u32 i = 0; i < at_a_time; ++i) {
            crowd.emplace_back([&] {
                for (int k = 0; k < 10; ++k) ++n.mine().text;
            });
        }
        for (std::thread& t : crowd) t.join();
    }
    u64 sum = 0;
    for (u32 i = 1; i < n.used(); ++i) sum += n.at(i).text;
    EXPECT_EQ(sum, u64{10} * at_a_time * waves);
    EXPECT_LE(n.used(), at_a_time);
}

}  // namespace
}  // namespace hf
