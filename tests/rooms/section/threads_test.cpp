// Threads that end, fork, exit and signal in the midst of sections.
#include "section/opened_group.hpp"
#include "section/runtime.hpp"
#include "support/effort.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace {
std::atomic<unsigned> sync_takes_ms{0};
std::atomic<bool> advice_is_refused{false};

/// A program whose constructors make many keys for themselves.
[[gnu::constructor(102)]] void make_keys() {
    for (int i = 0; i < 64; ++i) {
        pthread_key_t key{};
        static_cast<void>(::pthread_key_create(&key, nullptr));
    }
}
}  // namespace

/// In place of the C library's: a disk as slow as the test asks for.
extern "C" int fdatasync(int fd) {
    std::this_thread::sleep_for(std::chrono::milliseconds(sync_takes_ms.load()));
    return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

/// In place of the C library's: a kernel that knows no huge pages, if the test asks for it.
extern "C" int madvise(void* p, std::size_t n, int advice) noexcept {
    if (advice_is_refused.load()) {
        errno = EINVAL;
        return -1;
    }
    return static_cast<int>(::syscall(SYS_madvise, p, n, advice));
}

namespace hf {
namespace {

using namespace std::chrono_literals;
using test::in_child;

TEST(section_thread_key, has_its_place_in_each_thread_so_that_a_signal_handler_need_not_allocate) {
    constexpr unsigned places = 32;  // of glibc's pthread_setspecific()
    EXPECT_LT(section::runtime::end_of_thread_key(), places);
}

class section_threads : public test::on_tmpfs {
   protected:
    void open(bool clock = false, hf_stores stores = HF_STORES_ANNOUNCED) const {
        auto o = test::by_hand(stores);
        o.patience_us = 1000;
        o.by_hand = clock ? 0 : 1;
        ASSERT_EQ(hf_group_open(file.c_str(), &o), 0) << hf_section_error();
    }
    void TearDown() override { static_cast<void>(hf_group_close()); }
    static u64* word(const char* name) {
        hf_region* const r = hf_region_open("words");
        auto* p = static_cast<u64*>(hf_root_get(r, name));
        if (p == nullptr) {
            p = static_cast<u64*>(hf_zeroed(r, 1, 8));
            hf_root_set(r, name, p);
        }
        return p;
    }
};

TEST_F(section_threads, a_thread_that_ends_with_a_lock_stops_cuts_and_says_so) {
    const int ended = in_child([this] {
        open();
        static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        std::thread([&] { ::pthread_mutex_lock(&m); }).join();
        const bool cut = hf_section_cut() == 0;
        ::_exit(cut ? 1 : 0);
        return 0;
    });
    EXPECT_EQ(ended, 0);
}

TEST_F(section_threads, a_robust_mutex_of_a_dead_thread_ends_its_section_with_the_next_owners) {
    open();
    static pthread_mutex_t m;
    pthread_mutexattr_t a;
    ::pthread_mutexattr_init(&a);
    ::pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    ::pthread_mutex_init(&m, &a);
    std::thread([&] { ::pthread_mutex_lock(&m); }).join();
    EXPECT_NE(hf_section_cut(), 0) << "its change may be half done";
    EXPECT_EQ(::pthread_mutex_lock(&m), EOWNERDEAD);
    EXPECT_NE(hf_section_cut(), 0);
    ::pthread_mutex_consistent(&m);
    ::pthread_mutex_unlock(&m);
    EXPECT_EQ(hf_section_cut(), 0) << hf_section_error();
}

TEST_F(section_threads, records_of_threads_that_ended_are_used_again) {
    open();
    std::mutex m;
    for (int i = 0; i < 3000; ++i) {
        std::thread([&] { const std::lock_guard guard(m); }).join();
    }
    EXPECT_EQ(hf_section_cut(), 0);
}

TEST_F(section_threads, a_lock_in_a_thread_specific_destructor_is_a_section_as_well) {
    open();
    static std::mutex m;
    static std::atomic<int> depth;
    depth = 0;
    pthread_key_t key{};
    ASSERT_EQ(::pthread_key_create(&key,
                                   [](void*) {
                                       const std::lock_guard guard(m);
                                       depth = hf_section_depth();
                                   }),
              0);
    std::thread([&] {
        const std::lock_guard guard(m);
        ::pthread_setspecific(key, &key);
    }).join();
    EXPECT_EQ(depth, 1);
    EXPECT_EQ(hf_section_cut(), 0);
    ::pthread_key_delete(key);
}

TEST_F(section_threads, a_child_of_fork_has_no_group_and_its_locks_are_plain) {
    open();
    u64* const w = word("w");
    test::store(*w, u64{5});
    static std::mutex m;
    const int ended = in_child([w] {
        const std::lock_guard guard(m);
        if (hf_section_depth() != 0 || hf_region_open("words") != nullptr) return 3;
        *w = 6;  // not inherited: the child dies, the group is unharmed
        return 2;
    });
    if (test::is_sanitized) {  // a sanitizer reports the signal and exits: Address 1, Thread 66
        EXPECT_TRUE(ended == 1 || ended == 66) << ended;
    } else {
        EXPECT_EQ(ended, 1000 + SIGSEGV);
    }
    EXPECT_EQ(*w, 5U);
}

TEST_F(section_threads, exit_makes_a_last_cut_though_other_threads_run) {
    const int ended = in_child([this] {
        open(true);
        u64* const w = word("w");
        static std::mutex m;
        std::thread([] {
            for (;;) {
                const std::lock_guard guard(m);
            }
        }).detach();
        {
            const std::lock_guard guard(m);
            test::store(*w, u64{7});
        }
        std::exit(0);
        return 1;
    });
    EXPECT_EQ(ended, 0);
    open();
    EXPECT_EQ(hf_group_recovered(), 1);
    EXPECT_EQ(*word("w"), 7U);
}

TEST_F(section_threads, exit_waits_for_a_slow_disk_before_the_last_cut) {
    const test::directory_on_disk disk;
    if (disk.path().empty()) GTEST_SKIP() << "the working directory lies in memory";
    file = disk.path() / "group.hf";
    const int ended = in_child([this] {
        open(false, HF_STORES_TRACKED);
        u64* const w = word("w");
        if (hf_wait_stable() != 0) return 1;
        hf_section_numbers before{};
        hf_section_numbers_get(&before);
        sync_takes_ms = 2000;
        for (u64 i = 1; i <= 2; ++i) {  // one is being written, and one waits for that
            test::store(*w, i);
            if (hf_section_cut() != 0) return 2;
        }
        test::store(*w, u64{3});
        if (hf_section_cut() == 0) return 3;
        hf_section_numbers after{};
        hf_section_numbers_get(&after);
        if (after.disk_busy != before.disk_busy + 1 || after.failed != before.failed) return 4;
        sync_takes_ms = 100;
        std::exit(0);
        return 5;
    });
    EXPECT_EQ(ended, 0);
    open(false, HF_STORES_TRACKED);
    EXPECT_EQ(*word("w"), 3U);
    EXPECT_EQ(hf_group_close(), 0) << hf_section_error();
}

TEST_F(section_threads, hooks_keep_errno_though_a_thread_of_the_program_grows_the_log) {
    open();
    auto* const block = static_cast<char*>(hf_alloc(hf_region_open("words"), std::size_t{1} << 21));
    ASSERT_NE(block, nullptr) << hf_section_error();
    std::thread([&] {  // its record, and its log's segments, are made by the call
        advice_is_refused = true;
        errno = ERANGE;
        const int alone = hf_section_store(block, std::size_t{1} << 21);
        EXPECT_EQ(errno, ERANGE);
        advice_is_refused = false;
        if (alone != 0) hf_section_stored();
        EXPECT_EQ(errno, ERANGE);
    })
        .join();
}

TEST_F(section_threads, exit_inside_a_section_undoes_it) {
    const int ended = in_child([this] {
        open();
        u64* const w = word("w");
        test::store(*w, u64{1});
        if (hf_wait_stable() != 0) return 1;
        hf_section_begin();
        test::store(*w, u64{2});
        std::exit(0);
        return 1;
    });
    EXPECT_EQ(ended, 0);
    open();
    EXPECT_EQ(*word("w"), 1U);
}

TEST_F(section_threads, exec_is_a_crash_and_frees_the_file) {
    const int ended = in_child([this] {
        open();
        test::store(*word("w"), u64{1});
        if (hf_wait_stable() != 0) return 1;
        test::store(*word("w"), u64{2});
        ::execl("/bin/true", "true", nullptr);
        return 1;
    });
    EXPECT_EQ(ended, 0);
    open();
    EXPECT_EQ(*word("w"), 1U);
}

TEST_F(section_threads, a_signal_handler_is_a_part_of_its_thread) {
    open();
    static u64* w;
    w = word("w");
    ::signal(SIGUSR1, [](int) { test::store(*w, *w + 1); });
    hf_section_begin();
    ::raise(SIGUSR1);
    hf_section_end();
    ::raise(SIGUSR1);
    ::signal(SIGUSR1, SIG_DFL);
    EXPECT_EQ(*w, 2U);
    EXPECT_EQ(hf_section_depth(), 0);
}

// The thread waits inside the runtime for a cut that its own process prevents.
TEST_F(section_threads, a_signal_handler_that_stores_inside_the_runtime_ends_the_process) {
    EXPECT_DEATH(
        {
            open(true);
            static u64* w;
            w = word("w");
            ::signal(SIGUSR1, [](int) { test::store(*w, u64{1}); });
            const pthread_t waiting = ::pthread_self();
            std::atomic<bool> is_inside{false};
            std::thread([&] {
                hf_section_begin();
                is_inside = true;
                std::this_thread::sleep_for(100ms);
                ::pthread_kill(waiting, SIGUSR1);
                std::this_thread::sleep_for(20s);
            }).detach();
            while (!is_inside) std::this_thread::yield();
            static_cast<void>(hf_wait_stable());
        },
        "a signal handler that interrupted the section runtime stores");
}

// Its depth and its flag at the gate do not change at once (at_the_gate).
TEST_F(section_threads, a_signal_handler_that_stores_while_its_thread_enters_ends_the_process) {
    EXPECT_DEATH(
        {
            open(true);
            static u64* w;
            w = word("w");
            ::signal(SIGUSR1, [](int) { test::store(*w, u64{1}); });
            const pthread_t entering = ::pthread_self();
            std::thread([] {  // keeps the gate closed for a while at each cut
                for (;;) {
                    hf_section_begin();
                    std::this_thread::sleep_for(1ms);
                    hf_section_end();
                }
            })
                .detach();
            std::thread([entering] {
                for (;;) {
                    ::pthread_kill(entering, SIGUSR1);
                    std::this_thread::sleep_for(100us);
                }
            }).detach();
            const auto end = std::chrono::steady_clock::now() + 20s;
            while (std::chrono::steady_clock::now() < end) {
                hf_section_begin();
                hf_section_end();
            }
            std::_Exit(0);
        },
        "a signal handler that interrupted the section runtime stores");
}

// Two threads touch the words of one line for the first time, each under a lock of its own (C2).
TEST_F(section_threads, a_line_first_touched_by_two_threads_at_once_has_one_old_copy) {
    for (int round = 0; round < 5; ++round) {
        const int ended = in_child([this, round] {
            open();
            auto* const line = static_cast<u64*>(hf_aligned(hf_region_open("r"), 64, 64 * 64));
            hf_root_set(hf_region_open("r"), "line", line);
            hf_section_begin();
            for (u64 i = 0; i < 512; ++i) test::store(line[i], u64{100} + static_cast<u64>(round));
            hf_section_end();
            if (hf_wait_stable() != 0) return 1;
            std::atomic<int> ready{0};
            const auto work = [&](u64 first) {
                std::mutex mine;
                const std::lock_guard guard(mine);
                ++ready;
                while (ready < 2) {
                }
                for (u64 i = first; i < 512; i += 2) test::store(line[i], u64{1});
            };
            std::thread other([&] { work(1); });
            work(0);
            other.join();
            ::raise(SIGKILL);
            return 0;
        });
        ASSERT_EQ(ended, 1000 + SIGKILL);
        open();
        auto* const line = static_cast<u64*>(hf_root_get(hf_region_open("r"), "line"));
        for (int i = 0; i < 512; ++i) {
            ASSERT_EQ(line[i], 100U + static_cast<u64>(round)) << "word " << i;
        }
        ASSERT_EQ(hf_group_close(), 0);
    }
}

}  // namespace
}  // namespace hf
