// The waiter reports each ticket once, and nothing for a full disk.
#include "server/durability_waiter.hpp"

#include "support/kernel.hpp"
#include "support/scratch.hpp"
#include "support/temporary_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace hf::test {
namespace {

/// Collects the waiter's reports.
class reports {
   public:
    void add(ticket t) {
        const std::lock_guard lock(mutex_);
        all_.push_back(t);
        changed_.notify_all();
    }
    void add_failure(const error& e) {
        const std::lock_guard lock(mutex_);
        has_failed_ = true;
        ADD_FAILURE() << e.to_string();
        changed_.notify_all();
    }
    /// Waits until `t` is reported, and returns all reports. Empty: the waiter failed.
    std::vector<ticket> up_to(ticket t) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return has_failed_ || reaches(t); });
        return has_failed_ ? std::vector<ticket>() : all_;
    }

   private:
    [[nodiscard]] bool reaches(ticket t) const { return !all_.empty() && all_.back() >= t; }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<ticket> all_;
    bool has_failed_ = false;
};

TEST(durability_waiter, reports_each_ticket_once_and_nothing_that_nobody_asked_for) {
    temporary_store s(std::chrono::seconds(10));
    reports told;
    detail::durability_waiter waiter(
        *s, [&](ticket t) { told.add(t); }, [&](const error& e) { told.add_failure(e); });
    std::vector<ticket> expected;
    for (int i = 0; i < 10; ++i) {
        expected.push_back(must(s->set("k", "1")).written_in);
        waiter.want(expected.back());
        EXPECT_EQ(told.up_to(expected.back()), expected);
        EXPECT_GE(s->durable_epoch(), expected.back());
    }
}

TEST(durability_waiter, forgets_no_ticket_for_an_older_one_that_comes_later) {
    temporary_store s(std::chrono::seconds(10));
    const ticket first = must(s->set("k", "1")).written_in;
    std::mutex reporting;
    reports told;
    std::atomic<bool> is_reporting{false};
    detail::durability_waiter waiter(
        *s,
        [&](ticket t) {
            is_reporting = true;
            const std::lock_guard until_both_are_wanted(reporting);
            told.add(t);
        },
        [&](const error& e) { told.add_failure(e); });
    ticket newest = 0;
    {
        const std::lock_guard lock(reporting);
        waiter.want(first);
        while (!is_reporting) std::this_thread::yield();
        newest = must(s->set("k", "2")).written_in;
        waiter.want(newest);
        waiter.want(first);
    }
    EXPECT_GT(newest, first);
    EXPECT_EQ(told.up_to(newest), (std::vector{first, newest}));
}

TEST(durability_waiter, waits_for_room_on_a_full_disk) {
    const scratch_directory dir;
    store_options options;
    options.map.region.medium = medium_kind::file;
    options.map.region.initial_size = u64{16} << 20;
    options.map.epoch = std::chrono::seconds(10);
    store records = must(store::open(dir / "store.hf", options));
    must(records.set("k", "1"));
    must(records.sync());
    std::atomic<bool> is_full{false};
    const kernel::answered disk([&](const kernel::call& c) -> kernel::answer {
        const bool takes_room = c.name == "pwrite" || c.name == "pwritev" || c.name == "fallocate";
        return {is_full && takes_room ? ENOSPC : 0};
    });
    reports told;
    detail::durability_waiter waiter(
        records, [&](ticket t) { told.add(t); }, [&](const error& e) { told.add_failure(e); });
    is_full = true;
    const ticket t = must(records.set("k", "2")).written_in;
    waiter.want(t);
    while (records.stats().journal.refusal.empty()) std::this_thread::yield();
    EXPECT_LT(records.durable_epoch(), t);
    is_full = false;
    EXPECT_EQ(told.up_to(t), std::vector{t});
    waiter.stop();
    must(records.close());
}

TEST(durability_waiter, tells_once_why_nothing_becomes_durable_any_more_and_ends) {
    temporary_store s;
    must(s->close());
    std::atomic<int> told{0};
    errc why{};
    detail::durability_waiter waiter(
        *s, [](ticket t) { ADD_FAILURE() << t << " is durable"; },
        [&](const error& e) {
            why = e.code;
            ++told;
            told.notify_all();
        });
    waiter.want(1);
    told.wait(0);
    waiter.want(2);
    waiter.stop();
    EXPECT_EQ(told, 1);
    EXPECT_EQ(why, errc::usage);
}

}  // namespace
}  // namespace hf::test
