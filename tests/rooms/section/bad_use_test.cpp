// Uses that a program should not make, and surroundings that fail it: each works, or is one clear
// error (docs/sections.md, "Bad input"). More of them are in threads_test.cpp and locks_test.cpp.
#include "section/opened_group.hpp"
#include "support/full_disk.hpp"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <csetjmp>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace hf {
namespace {

using namespace std::chrono_literals;
using test::in_child;

class section_bad_use : public test::on_tmpfs {
   protected:
    void open(hf_stores stores = HF_STORES_ANNOUNCED, bool clock = false) const {
        auto o = test::by_hand(stores);
        o.patience_us = 1000;
        o.by_hand = clock ? 0 : 1;
        o.period_us = clock ? 100 : 0;
        ASSERT_EQ(hf_group_open(file.c_str(), &o), 0) << hf_section_error();
    }
    void TearDown() override { static_cast<void>(hf_group_close()); }
    static u64* words(std::size_t n = 8) {
        hf_region* const r = hf_region_open("words");
        auto* p = static_cast<u64*>(hf_root_get(r, "w"));
        if (p == nullptr) {
            p = static_cast<u64*>(hf_zeroed(r, n, 8));
            hf_root_set(r, "w", p);
        }
        return p;
    }
};

// --- leaving a section in unusual ways ---

TEST_F(section_bad_use, longjmp_out_of_a_section_leaves_it_open_until_the_lock_is_given_back) {
    open();
    u64* const w = words();
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    static std::jmp_buf back;
    if (setjmp(back) == 0) {
        ::pthread_mutex_lock(&m);
        test::store(w[0], u64{1});
        std::longjmp(back, 1);
    }
    EXPECT_EQ(hf_section_depth(), 1);
    test::store(w[1], u64{1});
    EXPECT_NE(hf_section_cut(), 0);
    ::pthread_mutex_unlock(&m);
    EXPECT_EQ(hf_section_depth(), 0);
    EXPECT_EQ(hf_section_cut(), 0) << hf_section_error();
}

TEST_F(section_bad_use, an_exception_ends_the_section_where_it_ends_the_lock) {
    open();
    u64* const w = words();
    std::mutex m;
    try {
        const std::lock_guard guard(m);
        test::store(w[0], u64{1});
        throw std::runtime_error("out");
    } catch (const std::runtime_error&) {
        EXPECT_EQ(hf_section_depth(), 0);
    }
    EXPECT_EQ(hf_section_cut(), 0) << hf_section_error();
}

// --- threads ---

TEST_F(section_bad_use, more_threads_than_the_table_holds_end_the_process_with_a_message) {
    EXPECT_DEATH(
        {
            open();
            pthread_attr_t small;
            ::pthread_attr_init(&small);
            ::pthread_attr_setstacksize(&small, 256 << 10);
            const auto stay = [](void*) -> void* {
                hf_section_begin();
                hf_section_end();
                for (;;) ::pause();
            };
            for (int i = 0; i < 1100; ++i) {
                pthread_t t;
                if (::pthread_create(&t, &small, stay, nullptr) != 0) std::exit(7);
            }
            std::this_thread::sleep_for(20s);
            std::exit(8);
        },
        "more than 1000 threads are inside sections");
}

TEST_F(section_bad_use, a_store_under_asynchronous_cancellation_names_the_source_line) {
    EXPECT_DEATH(
        {
            open();
            u64* const w = words();
            int before = 0;
            ::pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
            test::store(w[0], u64{1});
        },
        "a store is announced at .*asynchronous cancellation");
}

TEST_F(section_bad_use, a_lock_under_asynchronous_cancellation_names_the_lock) {
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    EXPECT_DEATH(
        {
            open();
            int before = 0;
            ::pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
            ::pthread_mutex_lock(&m);
        },
        "a lock is taken\\(0x.* at .*asynchronous cancellation");
}

TEST_F(section_bad_use, exit_while_cuts_run_ends_in_order_each_time) {
    for (int round = 0; round < 20; ++round) {
        const int ended = in_child([this, round] {
            open(HF_STORES_ANNOUNCED, true);
            u64* const w = words();
            static std::mutex m;
            for (int t = 0; t < 2; ++t) {
                std::thread([w] {
                    for (;;) {
                        const std::lock_guard guard(m);
                        test::store(w[0], w[0] + 1);
                        test::store(w[7], w[7] + 1);
                    }
                }).detach();
            }
            ::usleep(static_cast<unsigned>(1000 + 130 * round));
            std::exit(0);
            return 1;
        });
        ASSERT_EQ(ended, 0) << "round " << round;
        open();
        EXPECT_EQ(words()[0], words()[7]);
        ASSERT_EQ(hf_group_close(), 0);
    }
}

// --- files and disks ---

TEST_F(section_bad_use, a_file_cut_short_is_refused_in_one_line) {
    open();
    static_cast<void>(words());
    ASSERT_EQ(hf_group_close(), 0);
    const auto bytes = std::filesystem::file_size(file);
    for (const auto rest : {bytes / 2, bytes - 4096, std::uintmax_t{100}, std::uintmax_t{0}}) {
        std::filesystem::resize_file(file, rest);
        hf_group_options o = test::by_hand(HF_STORES_ANNOUNCED);
        if (rest == 0 && hf_group_open(file.c_str(), &o) == 0) {  // an empty file is a new one
            EXPECT_EQ(hf_group_created(), 1);
            continue;
        }
        EXPECT_NE(hf_group_open(file.c_str(), &o), 0) << rest << " bytes";
        const std::string error = hf_section_error();
        EXPECT_NE(error.find(file.string()), std::string::npos) << error;
        EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    }
}

TEST_F(section_bad_use, a_full_disk_lets_cuts_wait_and_loses_nothing) {
    const test::directory_on_disk disk;
    if (disk.path().empty()) GTEST_SKIP() << "the working directory lies in memory";
    file = disk.path() / "group.hf";
    open(HF_STORES_TRACKED);
    constexpr std::size_t n = (std::size_t{1} << 20) / 8;
    hf_region* const r = hf_region_open("large");
    auto* const w = static_cast<u64*>(hf_zeroed(r, n, 8));
    ASSERT_NE(w, nullptr) << hf_section_error();
    hf_root_set(r, "w", w);
    ASSERT_EQ(hf_wait_stable(), 0) << hf_section_error();
    {
        const test::full_disk full;
        std::string refused;
        for (u64 round = 1; round <= 20 && refused.empty(); ++round) {
            hf_section_begin();
            for (std::size_t i = 0; i < n; i += 512) w[i] = round;
            hf_section_end();
            static_cast<void>(hf_section_cut());
            if (hf_wait_stable() != 0) refused = hf_section_error();
        }
        EXPECT_NE(refused.find(file.string()), std::string::npos) << refused;
        hf_section_begin();
        for (std::size_t i = 0; i < n; i += 512) w[i] = 77;
        hf_section_end();
    }
    for (int i = 0; i < 500 && hf_wait_stable() != 0; ++i) ::usleep(10'000);
    ASSERT_EQ(hf_wait_stable(), 0) << hf_section_error();
    ASSERT_EQ(hf_group_close(), 0) << hf_section_error();
    open(HF_STORES_TRACKED);
    auto* const found = static_cast<u64*>(hf_root_get(hf_region_open("large"), "w"));
    for (std::size_t i = 0; i < n; i += 512) ASSERT_EQ(found[i], 77U);
    EXPECT_EQ(hf_group_close(), 0) << hf_section_error();
}

// --- a program without the plugin ---

TEST_F(section_bad_use, a_program_that_announces_nothing_is_told_once) {
    ::testing::internal::CaptureStderr();
    open();
    u64* const w = words();
    for (int i = 0; i < 3000; ++i) {
        hf_section_begin();
        w[0] += 1;  // as compiled without the plugin
        hf_section_end();
        if (i % 500 == 499) static_cast<void>(hf_section_cut());
    }
    ASSERT_EQ(hf_group_close(), 0);
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("no store was announced"), std::string::npos) << said;
    EXPECT_EQ(said.find("no store was announced"), said.rfind("no store was announced"));
    ::testing::internal::CaptureStderr();
    open();
    for (int i = 0; i < 3000; ++i) {
        hf_section_begin();
        test::store(words()[0], u64{0});
        hf_section_end();
    }
    ASSERT_EQ(hf_group_close(), 0);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace hf
