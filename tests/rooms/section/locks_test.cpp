// Every kind of lock makes a section: while it is held no cut succeeds, after it one does.
#include "section/opened_group.hpp"

#include <pthread.h>
#include <threads.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <thread>

namespace hf {
namespace {

using namespace std::chrono_literals;

class section_locks : public test::on_tmpfs {
   protected:
    void SetUp() override {
        auto o = test::by_hand(HF_STORES_ANNOUNCED);
        o.patience_us = 1000;
        ASSERT_EQ(hf_group_open(file.c_str(), &o), 0) << hf_section_error();
    }
    void TearDown() override { static_cast<void>(hf_group_close()); }

    /// By another thread, as the clock would.
    static bool can_cut() {
        bool cut = false;
        std::thread([&] { cut = hf_section_cut() == 0; }).join();
        return cut;
    }
    /// `take` and `give` are one outermost section.
    static void expect_section(const std::function<void()>& take,
                               const std::function<void()>& give) {
        EXPECT_EQ(hf_section_depth(), 0);
        take();
        EXPECT_EQ(hf_section_depth(), 1);
        EXPECT_FALSE(can_cut()) << "a thread holds the lock";
        give();
        EXPECT_EQ(hf_section_depth(), 0);
        EXPECT_TRUE(can_cut()) << hf_section_error();
    }
    static timespec later(clockid_t clock) {
        timespec t{};
        ::clock_gettime(clock, &t);
        t.tv_sec += 20;
        return t;
    }
};

pthread_mutex_t made(int kind, bool robust = false) {
    pthread_mutexattr_t a;
    pthread_mutex_t m;
    ::pthread_mutexattr_init(&a);
    ::pthread_mutexattr_settype(&a, kind);
    if (robust) ::pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    ::pthread_mutex_init(&m, &a);
    ::pthread_mutexattr_destroy(&a);
    return m;
}

TEST_F(section_locks, mutexes_of_every_kind_make_a_section_however_they_are_taken) {
    for (const int kind :
         {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK}) {
        for (const bool robust : {false, true}) {
            pthread_mutex_t m = made(kind, robust);
            const auto give = [&] { EXPECT_EQ(::pthread_mutex_unlock(&m), 0); };
            expect_section([&] { EXPECT_EQ(::pthread_mutex_lock(&m), 0); }, give);
            expect_section([&] { EXPECT_EQ(::pthread_mutex_trylock(&m), 0); }, give);
            const timespec at = later(CLOCK_REALTIME);
            expect_section([&] { EXPECT_EQ(::pthread_mutex_timedlock(&m, &at), 0); }, give);
            const timespec mono = later(CLOCK_MONOTONIC);
            expect_section(
                [&] { EXPECT_EQ(::pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &mono), 0); }, give);
            EXPECT_EQ(::pthread_mutex_destroy(&m), 0);
        }
    }
}

TEST_F(section_locks, a_recursive_mutex_ends_its_section_with_its_last_unlock) {
    pthread_mutex_t m = made(PTHREAD_MUTEX_RECURSIVE);
    ::pthread_mutex_lock(&m);
    ::pthread_mutex_lock(&m);
    EXPECT_EQ(hf_section_depth(), 2);
    ::pthread_mutex_unlock(&m);
    EXPECT_FALSE(can_cut());
    ::pthread_mutex_unlock(&m);
    EXPECT_TRUE(can_cut());
}

TEST_F(section_locks, read_write_locks_and_spin_locks_make_sections) {
    pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
    const auto give = [&] { EXPECT_EQ(::pthread_rwlock_unlock(&l), 0); };
    const timespec at = later(CLOCK_REALTIME);
    expect_section([&] { ::pthread_rwlock_rdlock(&l); }, give);
    expect_section([&] { ::pthread_rwlock_wrlock(&l); }, give);
    expect_section([&] { ::pthread_rwlock_tryrdlock(&l); }, give);
    expect_section([&] { ::pthread_rwlock_trywrlock(&l); }, give);
    expect_section([&] { ::pthread_rwlock_timedrdlock(&l, &at); }, give);
    expect_section([&] { ::pthread_rwlock_timedwrlock(&l, &at); }, give);
    expect_section([&] { ::pthread_rwlock_clockrdlock(&l, CLOCK_REALTIME, &at); }, give);
    expect_section([&] { ::pthread_rwlock_clockwrlock(&l, CLOCK_REALTIME, &at); }, give);
    pthread_spinlock_t s{};
    ::pthread_spin_init(&s, PTHREAD_PROCESS_PRIVATE);
    const auto give_spin = [&] { EXPECT_EQ(::pthread_spin_unlock(&s), 0); };
    expect_section([&] { ::pthread_spin_lock(&s); }, give_spin);
    expect_section([&] { ::pthread_spin_trylock(&s); }, give_spin);
}

TEST_F(section_locks, locks_of_c_and_cpp_make_sections) {
    mtx_t m;
    ::mtx_init(&m, mtx_timed);
    const auto give = [&] { EXPECT_EQ(::mtx_unlock(&m), thrd_success); };
    const timespec at = later(CLOCK_REALTIME);
    expect_section([&] { EXPECT_EQ(::mtx_lock(&m), thrd_success); }, give);
    expect_section([&] { EXPECT_EQ(::mtx_trylock(&m), thrd_success); }, give);
    expect_section([&] { EXPECT_EQ(::mtx_timedlock(&m, &at), thrd_success); }, give);
    ::mtx_lock(&m);
    std::thread([&] { EXPECT_EQ(::mtx_trylock(&m), thrd_busy); }).join();
    ::mtx_unlock(&m);

    std::mutex plain;
    std::recursive_mutex recursive;
    std::timed_mutex timed;
    std::shared_mutex shared;
    expect_section([&] { plain.lock(); }, [&] { plain.unlock(); });
    expect_section([&] { recursive.lock(); }, [&] { recursive.unlock(); });
    expect_section([&] { EXPECT_TRUE(timed.try_lock_for(20s)); }, [&] { timed.unlock(); });
    expect_section([&] { shared.lock(); }, [&] { shared.unlock(); });
    expect_section([&] { shared.lock_shared(); }, [&] { shared.unlock_shared(); });
    {
        const std::scoped_lock both(plain, timed);
        EXPECT_EQ(hf_section_depth(), 2);
    }
    EXPECT_TRUE(can_cut());
}

// Hand over hand: the section lasts from the first lock to the last unlock.
TEST_F(section_locks, locks_that_do_not_nest_are_one_section) {
    pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_t c = PTHREAD_MUTEX_INITIALIZER;
    ::pthread_mutex_lock(&a);
    ::pthread_mutex_lock(&b);
    ::pthread_mutex_unlock(&a);
    EXPECT_FALSE(can_cut());
    ::pthread_mutex_lock(&c);
    ::pthread_mutex_unlock(&b);
    EXPECT_FALSE(can_cut());
    ::pthread_mutex_unlock(&c);
    EXPECT_TRUE(can_cut());
}

TEST_F(section_locks, a_try_that_fails_leaves_the_thread_outside) {
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    ::pthread_mutex_lock(&m);
    std::thread([&] {
        EXPECT_EQ(::pthread_mutex_trylock(&m), EBUSY);
        EXPECT_EQ(hf_section_depth(), 0);
        timespec soon{};
        ::clock_gettime(CLOCK_REALTIME, &soon);
        EXPECT_EQ(::pthread_mutex_timedlock(&m, &soon), ETIMEDOUT);
        EXPECT_EQ(hf_section_depth(), 0);
    }).join();
    ::pthread_mutex_unlock(&m);
}

// Rule C6: the thread that waits for its outermost lock is outside, so a cut succeeds between two
// owners although the queue is never empty.
TEST_F(section_locks, a_thread_that_waits_for_its_outermost_lock_is_outside) {
    hf_section_begin();  // holds no lock, and is inside
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    ::pthread_mutex_lock(&m);
    std::atomic<int> got{0};
    std::thread waiter([&] {
        ::pthread_mutex_lock(&m);
        got = hf_section_depth();
        ::pthread_mutex_unlock(&m);
    });
    std::this_thread::sleep_for(20ms);
    hf_section_numbers before{};
    hf_section_numbers_get(&before);
    ::pthread_mutex_unlock(&m);
    hf_section_end();
    waiter.join();
    EXPECT_EQ(got, 1);
    EXPECT_TRUE(can_cut());
}

TEST_F(section_locks, an_exempt_lock_makes_no_section) {
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    ASSERT_EQ(hf_not_a_consistency_lock(&m), 0);
    ::pthread_mutex_lock(&m);
    EXPECT_EQ(hf_section_depth(), 0);
    EXPECT_TRUE(can_cut());
    ::pthread_mutex_unlock(&m);
}

TEST_F(section_locks, a_lock_taken_before_the_group_was_opened_is_given_back_quietly) {
    ASSERT_EQ(hf_group_close(), 0);
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    ::pthread_mutex_lock(&m);
    SetUp();
    EXPECT_EQ(::pthread_mutex_unlock(&m), 0);
    EXPECT_EQ(hf_section_depth(), 0);
}

class section_locks_death : public test::on_tmpfs {
   protected:
    void open() const {
        auto o = test::by_hand(HF_STORES_ANNOUNCED);
        hf_group_open(file.c_str(), &o);
    }
};

TEST_F(section_locks_death, an_unlock_by_another_thread_names_function_and_lock) {
    EXPECT_DEATH(
        {
            open();
            pthread_mutex_t m = made(PTHREAD_MUTEX_NORMAL);
            ::pthread_mutex_lock(&m);
            std::thread([&] { ::pthread_mutex_unlock(&m); }).join();
        },
        "pthread_mutex_unlock.*another thread holds the lock");
}

TEST_F(section_locks_death, a_lock_destroyed_while_held_names_function_and_lock) {
    EXPECT_DEATH(
        {
            open();
            pthread_mutex_t m = made(PTHREAD_MUTEX_NORMAL);
            ::pthread_mutex_lock(&m);
            ::pthread_mutex_destroy(&m);
        },
        "pthread_mutex_destroy.*the calling thread holds the lock");
}

}  // namespace
}  // namespace hf
