// Waiting for a condition ends the section and begins another (rule C5).
#include "section/opened_group.hpp"

#include <pthread.h>
#include <threads.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace hf {
namespace {

using namespace std::chrono_literals;

class section_conditions : public test::on_tmpfs {
   protected:
    void SetUp() override {
        auto o = test::by_hand(HF_STORES_ANNOUNCED);
        o.patience_us = 1000;
        ASSERT_EQ(hf_group_open(file.c_str(), &o), 0) << hf_section_error();
    }
    void TearDown() override { static_cast<void>(hf_group_close()); }

    /// Within a while: the waiting thread needs a moment to begin to wait.
    static bool can_cut() {
        for (int i = 0; i < 200; ++i) {
            if (hf_section_cut() == 0) return true;
            std::this_thread::sleep_for(1ms);
        }
        return false;
    }

    std::mutex m;
    std::condition_variable c;
    std::atomic<bool> waits{false};
    bool go = false;

    void signal() {
        {
            const std::lock_guard guard(m);
            go = true;
        }
        c.notify_all();
    }
};

TEST_F(section_conditions, a_cut_succeeds_while_a_thread_waits_with_its_only_lock) {
    std::thread waiter([&] {
        std::unique_lock lock(m);
        waits = true;
        c.wait(lock, [&] { return go; });
        EXPECT_EQ(hf_section_depth(), 1) << "it holds the mutex again";
    });
    while (!waits) std::this_thread::yield();
    EXPECT_TRUE(can_cut()) << hf_section_error();
    signal();
    waiter.join();
    EXPECT_TRUE(can_cut());
}

TEST_F(section_conditions, no_cut_succeeds_while_a_thread_waits_with_another_lock_held) {
    pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;  // the report names the caller of its lock
    std::thread waiter([&] {
        ::pthread_mutex_lock(&outer);
        {
            std::unique_lock lock(m);
            waits = true;
            c.wait(lock, [&] { return go; });
            EXPECT_EQ(hf_section_depth(), 2);
        }
        ::pthread_mutex_unlock(&outer);
    });
    while (!waits) std::this_thread::yield();
    for (int i = 0; i < 20; ++i) EXPECT_NE(hf_section_cut(), 0);
    hf_section_numbers n{};
    hf_section_numbers_get(&n);
    EXPECT_NE(n.in_the_way, nullptr);
    char text[1000];
    hf_section_report(text, sizeof text);
    // Without debug information, the function's name is all that the report can tell.
    EXPECT_TRUE(std::string(text).find("condition_test.cpp") != std::string::npos ||
                std::string(text).find("no_cut_succeeds_while") != std::string::npos)
        << text;
    signal();
    waiter.join();
    EXPECT_TRUE(can_cut());
}

TEST_F(section_conditions, timed_waits_return_inside_with_the_mutex_held) {
    std::unique_lock lock(m);
    EXPECT_EQ(c.wait_for(lock, 1ms), std::cv_status::timeout);
    EXPECT_EQ(hf_section_depth(), 1);
    EXPECT_EQ(c.wait_until(lock, std::chrono::system_clock::now()), std::cv_status::timeout);
    EXPECT_EQ(hf_section_depth(), 1);
    lock.unlock();
    mtx_t cm;
    cnd_t cc;
    ::mtx_init(&cm, mtx_plain);
    ::cnd_init(&cc);
    ::mtx_lock(&cm);
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    EXPECT_EQ(::cnd_timedwait(&cc, &cm, &now), thrd_timedout);
    EXPECT_EQ(hf_section_depth(), 1);
    ::mtx_unlock(&cm);
    EXPECT_EQ(hf_section_depth(), 0);
}

// The cleanup handler gives the mutex back, so it must find the thread inside.
TEST_F(section_conditions, a_cancelled_wait_runs_its_cleanup_inside) {
    static int depth_in_cleanup;
    static pthread_mutex_t pm = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t pc = PTHREAD_COND_INITIALIZER;
    static std::atomic<bool> begun;
    depth_in_cleanup = -1;
    begun = false;
    pthread_t waiter{};
    ASSERT_EQ(::pthread_create(
                  &waiter, nullptr,
                  [](void*) -> void* {
                      ::pthread_mutex_lock(&pm);
                      pthread_cleanup_push(
                          [](void*) {
                              depth_in_cleanup = hf_section_depth();
                              ::pthread_mutex_unlock(&pm);
                          },
                          nullptr);
                      begun = true;
                      for (;;) ::pthread_cond_wait(&pc, &pm);
                      pthread_cleanup_pop(1);
                      return nullptr;
                  },
                  nullptr),
              0);
    while (!begun) std::this_thread::yield();
    ASSERT_TRUE(can_cut());
    ::pthread_cancel(waiter);
    ::pthread_join(waiter, nullptr);
    EXPECT_EQ(depth_in_cleanup, 1);
    EXPECT_TRUE(can_cut());
    EXPECT_EQ(::pthread_mutex_trylock(&pm), 0) << "it was given back";
    ::pthread_mutex_unlock(&pm);
}

// The paper's queue: cuts go on at full speed while threads wait for each other all the time.
TEST_F(section_conditions, a_queue_and_cuts_go_on_together) {
    constexpr int items = 3000;
    int queued = 0;
    int taken = 0;
    std::condition_variable not_full;
    std::thread producer([&] {
        for (int i = 0; i < items; ++i) {
            std::unique_lock lock(m);
            not_full.wait(lock, [&] { return queued < 4; });
            ++queued;
            c.notify_one();
        }
    });
    std::thread consumer([&] {
        for (int i = 0; i < items; ++i) {
            std::unique_lock lock(m);
            c.wait(lock, [&] { return queued > 0; });
            --queued;
            ++taken;
            not_full.notify_one();
        }
    });
    int cuts = 0;
    while (cuts < 20) cuts += hf_section_cut() == 0 ? 1 : 0;
    producer.join();
    consumer.join();
    EXPECT_EQ(taken, items);
}

}  // namespace
}  // namespace hf
