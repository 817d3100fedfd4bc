// Graph mode through the runtime: refusals, every kind of edge, bounds, two modes on one file.
#include "section/opened_group.hpp"

#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

namespace hf {
namespace {

using test::in_child;
using test::store;

class graph_mode_of_runtime : public test::on_tmpfs {
   protected:
    void TearDown() override { static_cast<void>(hf_group_close()); }
    void open(const test::way& how = test::in_graph_mode) const {
        auto o = test::by_hand(how.stores, how.mode);
        ASSERT_EQ(hf_group_open(file.c_str(), &o), 0) << hf_section_error();
    }
    void refuses(const hf_group_options& o, const char* why) const {
        EXPECT_NE(hf_group_open(file.c_str(), &o), 0);
        EXPECT_NE(std::string(hf_section_error()).find(why), std::string::npos)
            << hf_section_error();
    }
    /// Four words, each in a line of its own.
    static u64* words() {
        hf_region* const r = hf_region_open("words");
        auto* p = static_cast<u64*>(hf_root_get(r, "words"));
        if (p == nullptr) {
            hf_section_begin();
            p = static_cast<u64*>(hf_zeroed(r, 32, 8));
            hf_root_set(r, "words", p);
            hf_section_end();
        }
        return p;
    }
    /// The program runs in a child that is killed after it; then the group is opened here.
    u64* after_a_kill(const std::function<void(u64*)>& program) const {
        const int ended = in_child([&] {
            open();
            program(words());
            ::raise(SIGKILL);
            return 0;
        });
        EXPECT_EQ(ended, 1000 + SIGKILL);
        open();
        return words();
    }
    using step = std::atomic<int>;
    /// This thread's section never ends, and does `release` in its midst; a thread that was there
    /// before does `acquire` once the step is 1, and then a whole section, whose store is returned
    /// as recovery left it.
    u64 second_after(const std::function<void(step&)>& release,
                     const std::function<void()>& acquire) const {
        const u64* const w = after_a_kill([&](u64* v) {
            static step at{0};
            static const std::function<void()> edge = acquire;
            static u64* const second = v + 8;
            std::thread([] {
                while (at != 1) ::usleep(100);
                edge();
                hf_section_begin();
                store(*second, 2);
                hf_section_end();
                at = 2;
            }).detach();
            hf_section_begin();
            store(v[0], 1);
            release(at);
            int none = 0;
            at.compare_exchange_strong(none, 1);
            while (at != 2) ::usleep(100);
        });
        EXPECT_EQ(w[0], 0U);
        return w[8];
    }
};

// ------------------------------------------------------------------------------------ the options

TEST_F(graph_mode_of_runtime, is_refused_with_stores_found_by_pages) {
    refuses(test::by_hand(HF_STORES_TRACKED, HF_MODE_GRAPH), "announce stores");
}

TEST_F(graph_mode_of_runtime, the_environment_decides_for_programs_that_do_not_ask) {
    ::setenv("HOLDFAST_SECTION_MODE", "graph", 1);
    open(test::announced);
    hf_section_numbers n{};
    store(words()[0], 1);
    hf_section_numbers_get(&n);
    EXPECT_GT(n.entries, 0U);
    EXPECT_EQ(hf_group_close(), 0);
    ::setenv("HOLDFAST_SECTION_MODE", "grpah", 1);
    refuses(test::by_hand(HF_STORES_ANNOUNCED), "no such mode");
    ::unsetenv("HOLDFAST_SECTION_MODE");
}

TEST_F(graph_mode_of_runtime, a_clean_file_opens_in_either_mode_and_a_crashed_one_in_its_own) {
    for (const auto& [before, after] : {std::pair{test::announced, test::in_graph_mode},
                                        std::pair{test::in_graph_mode, test::announced}}) {
        const int ended = in_child([&, first = before] {
            open(first);
            const std::lock_guard guard(*new std::mutex);
            store(words()[0], 5);
            ::raise(SIGKILL);
            return 0;
        });
        ASSERT_EQ(ended, 1000 + SIGKILL);
        refuses(test::by_hand(after.stores, after.mode), "not closed in order");
        open(before);
        EXPECT_EQ(hf_group_recovered(), 1);
        store(words()[8], 6);
        EXPECT_EQ(hf_group_close(), 0);
        open(after);
        EXPECT_EQ(words()[8], 6U);
        EXPECT_EQ(words()[0], 0U);
        store(words()[8], 0);
        EXPECT_EQ(hf_group_close(), 0);
        ::unlink(file.c_str());
    }
}

TEST_F(graph_mode_of_runtime, a_closed_session_leaves_nothing_to_undo) {
    open();
    std::deque<std::mutex> locks;
    for (u64 i = 1; i < 100; ++i) {
        const std::lock_guard guard(locks.emplace_back());
        store(words()[0], i);
    }
    store(words()[8], 7);
    EXPECT_EQ(hf_group_close(), 0) << hf_section_error();
    open();
    hf_section_numbers n{};
    hf_section_numbers_get(&n);
    EXPECT_EQ(n.undone_sections, 0U);
    EXPECT_EQ(words()[0], 99U);
    EXPECT_EQ(words()[8], 7U);
}

TEST_F(graph_mode_of_runtime, tickets_become_durable_when_their_section_is_kept) {
    open();
    u64* const w = words();
    store(w[0], 1);
    const u64 mine = hf_section_ticket();
    EXPECT_EQ(hf_wait_stable(), 0) << hf_section_error();
    EXPECT_GE(hf_section_durable(), mine);
}

// -------------------------------------------------------------------------------- the edges

TEST_F(graph_mode_of_runtime, without_an_edge_the_second_section_is_kept) {
    EXPECT_EQ(second_after([](step&) {}, [] {}), 2U);
}

TEST_F(graph_mode_of_runtime, a_mutex_orders) {
    static std::mutex m;
    const auto use = [] { const std::lock_guard guard(m); };
    EXPECT_EQ(second_after([=](step&) { use(); }, use), 0U);
}

TEST_F(graph_mode_of_runtime, read_write_locks_order_all_but_two_readers) {
    static std::shared_mutex m;
    const auto read = [] { const std::shared_lock guard(m); };
    const auto write = [] { const std::unique_lock guard(m); };
    EXPECT_EQ(second_after([=](step&) { write(); }, read), 0U);
    ASSERT_EQ(hf_group_close(), 0);
    EXPECT_EQ(second_after([=](step&) { read(); }, write), 0U);
    ASSERT_EQ(hf_group_close(), 0);
    EXPECT_EQ(second_after([=](step&) { read(); }, read), 2U);
}

TEST_F(graph_mode_of_runtime, a_spin_lock_and_a_semaphore_order) {
    static ::pthread_spinlock_t spin;
    static ::sem_t posted;
    ::pthread_spin_init(&spin, 0);
    ::sem_init(&posted, 0, 0);
    const auto use = [] {
        ::pthread_spin_lock(&spin);
        ::pthread_spin_unlock(&spin);
    };
    EXPECT_EQ(second_after([=](step&) { use(); }, use), 0U);
    ASSERT_EQ(hf_group_close(), 0);
    EXPECT_EQ(second_after([](step&) { ::sem_post(&posted); }, [] { ::sem_wait(&posted); }), 0U);
}

TEST_F(graph_mode_of_runtime, a_barrier_orders) {
    static ::pthread_barrier_t both;
    ::pthread_barrier_init(&both, nullptr, 2);
    const auto meet = [] { ::pthread_barrier_wait(&both); };
    EXPECT_EQ(second_after(
                  [=](step& at) {
                      at = 1;
                      meet();
                  },
                  meet),
              0U);
}

TEST_F(graph_mode_of_runtime, a_condition_wait_inside_a_section_hands_its_mutex_over) {
    static std::mutex m;
    static std::condition_variable changed;
    static bool is_over = false;
    const auto wait = [](step& at) {
        std::unique_lock lock(m);
        at = 1;
        changed.wait(lock, [] { return is_over; });
    };
    const auto end_it = [] {
        const std::lock_guard guard(m);
        is_over = true;
        changed.notify_all();
    };
    EXPECT_EQ(second_after(wait, end_it), 0U);
}

TEST_F(graph_mode_of_runtime, a_lock_that_makes_no_section_still_orders) {
    static std::mutex m;
    ASSERT_EQ(hf_not_a_consistency_lock(m.native_handle()), 0);
    const auto use = [] { const std::lock_guard guard(m); };
    EXPECT_EQ(second_after([=](step&) { use(); }, use), 0U);
}

TEST_F(graph_mode_of_runtime, allocation_orders_sections_that_share_a_slab) {
    const auto allocate = [] { static_cast<void>(hf_alloc(hf_region_find("words"), 40)); };
    EXPECT_EQ(second_after([=](step&) { allocate(); }, allocate), 0U)
        << "a word of the slab's bits would have lost a bit";
}

/// The section begins, another thread is created in it, and runs a whole section.
template <class Create>
void create_inside_a_section(u64* v, Create create) {
    static std::atomic<bool> is_over{false};
    static u64* const second = v + 8;
    hf_section_begin();
    store(v[0], 1);
    create([] {
        hf_section_begin();
        store(*second, 2);
        hf_section_end();
        is_over = true;
    });
    while (!is_over) ::usleep(100);
}

TEST_F(graph_mode_of_runtime, creation_of_a_thread_orders) {
    const u64* w = after_a_kill(
        [](u64* v) { create_inside_a_section(v, [](auto run) { std::thread(run).detach(); }); });
    EXPECT_EQ(w[8], 0U);
    ASSERT_EQ(hf_group_close(), 0);
    w = after_a_kill([](u64* v) {
        create_inside_a_section(v, [](auto run) {
            thrd_t t{};
            static const auto again = run;
            static_cast<void>(thrd_create(&t, [](void*) { return again(), 0; }, nullptr));
        });
    });
    EXPECT_EQ(w[8], 0U) << "C11";
}

TEST_F(graph_mode_of_runtime, joining_a_thread_orders_and_so_does_a_semaphore) {
    const u64* const w = after_a_kill([](u64* v) {
        static std::atomic<bool> go{false};
        static ::sem_t posted;
        ::sem_init(&posted, 0, 0);
        // It depends on a section that never ends, passes that on by a semaphore, and ends.
        static std::mutex m;
        static u64* const first = v;
        std::thread second([] {
            while (!go) ::usleep(100);
            {
                const std::lock_guard guard(m);
            }
            ::sem_post(&posted);
        });
        std::thread third([] {
            ::sem_wait(&posted);
            const std::lock_guard guard(*new std::mutex);
            store(first[8], 2);
        });
        std::thread never([] {
            hf_section_begin();
            store(first[0], 1);
            {
                const std::lock_guard inner(m);
            }
            go = true;
            for (;;) ::pause();
        });
        second.join();
        third.join();
        const std::lock_guard guard(*new std::mutex);
        store(v[16], 3);
        never.detach();
        static_cast<void>(hf_section_ticket());
    });
    EXPECT_EQ(w[0], 0U);
    EXPECT_EQ(w[8], 0U) << "by the semaphore";
    EXPECT_EQ(w[16], 0U) << "by the join";
}

TEST_F(graph_mode_of_runtime, a_condition_wait_with_one_lock_ends_the_section) {
    const u64* const w = after_a_kill([](u64* v) {
        static std::mutex m;
        static std::condition_variable changed;
        static u64* const first = v;
        std::thread([] {
            std::unique_lock lock(m);
            store(first[0], 1);
            changed.wait(lock, [] { return false; });
        }).detach();
        ::usleep(50'000);
        static_cast<void>(hf_section_cut());
    });
    EXPECT_EQ(w[0], 1U);
}

// -------------------------------------------------------------------------------- the bounds

TEST_F(graph_mode_of_runtime, a_log_that_stays_full_ends_the_process_with_one_message) {
    const auto fill = [this] {
        auto o = test::by_hand(HF_STORES_ANNOUNCED, HF_MODE_GRAPH);
        o.log_bytes = 64 << 10;
        o.patience_us = 20'000;
        if (hf_group_open(file.c_str(), &o) != 0) return;
        u64* const w = words();
        hf_section_begin();  // never ends, and each section of the other thread depends on it
        static std::mutex m;
        {
            const std::lock_guard inner(m);
        }
        std::thread([w] {
            for (u64 i = 0;; ++i) {
                const std::lock_guard guard(m);
                store(w[8], i);
            }
        }).join();
    };
    EXPECT_DEATH(fill(), "a section log stays full");
}

TEST_F(graph_mode_of_runtime, a_long_run_needs_no_more_than_its_log) {
    auto o = test::by_hand(HF_STORES_ANNOUNCED, HF_MODE_GRAPH);
    o.log_bytes = 64 << 10;
    ASSERT_EQ(hf_group_open(file.c_str(), &o), 0) << hf_section_error();
    u64* const w = words();
    std::mutex m;
    for (u64 i = 0; i < 20'000; ++i) {
        const std::lock_guard guard(m);
        store(w[i % 4 * 8], i);
    }
    hf_section_numbers n{};
    hf_section_numbers_get(&n);
    EXPECT_GT(n.log_waits, 5U);
    EXPECT_GE(n.entries, 60'000U);
}

}  // namespace
}  // namespace hf
