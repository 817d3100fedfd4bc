// The store's reported durations have the documented units: on a slow disk they are at least the
// delay, and at most what a clock outside measures.
#include <holdfast/store.hpp>

#include "base/clock.hpp"
#include "support/kernel.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

namespace hf::test {
namespace {

constexpr std::chrono::milliseconds slow{20};

class slow_disk : public ::testing::TestWithParam<std::string> {
   protected:
    [[nodiscard]] store_options options() const {
        store_options o;
        o.map.region.medium = medium_kind::file;
        o.map.region.initial_size = u64{16} << 20;
        o.map.epoch = std::chrono::seconds(10);
        o.map.index = GetParam();
        return o;
    }
    scratch_directory dir;
};

void expect_between(u64 ns, std::chrono::nanoseconds least, u64 most, const char* what) {
    EXPECT_GE(std::chrono::nanoseconds(ns), least) << what;
    EXPECT_LE(ns, most) << what;
}

TEST_P(slow_disk, is_seen_in_the_times_of_an_opening_and_of_a_record) {
    must(must(store::open(dir / "store.hf", options())).close());
    const kernel::answered disk([](const kernel::call& c) -> kernel::answer {
        if (c.name == "fsync" || c.name == "fdatasync") std::this_thread::sleep_for(slow);
        return {};
    });
    const u64 opening = now_ns();
    store records = must(store::open(dir / "store.hf", options()));
    expect_between(records.stats().recovery_ns, slow, now_ns() - opening, "opening");
    const u64 writing = now_ns();
    must(records.set("k", "v"));
    must(records.sync());
    const statistics s = records.stats();
    expect_between(s.journal.last_commit_ns, slow, now_ns() - writing, "record");
    EXPECT_GE(s.journal.syncs, s.journal.records);
    must(records.close());
}

INSTANTIATE_TEST_SUITE_P(, slow_disk, ::testing::Values("", "clht"), [](const auto& one) {
    return one.param.empty() ? std::string("epochs") : one.param;
});

}  // namespace
}  // namespace hf::test
