// The report of `bench compare` on durability: which probes have landed, and which a power cut
// would take. The judge must see a sync that is missing, too early, or of another file.
#include "bench/compare/disk_watch.hpp"

#include "bench/compare/lag.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

namespace hf::bench {
namespace {

TEST(probe_values, tell_their_number_from_any_piece) {
    for (const u32 size : {31U, 47U, 100U, 4096U}) {
        const std::string value = probe_value(77, size);
        ASSERT_EQ(value.size(), size);
        for (std::size_t at = 0; at + 31 <= size; ++at) {
            ASSERT_EQ(newest_probe_in({value.data() + at, 31}), 77U) << at;
        }
    }
}

TEST(probe_values, of_many_the_newest_counts_and_what_is_torn_does_not) {
    const std::string all =
        probe_value(5, 32) + probe_value(9, 32) + "between" + probe_value(7, 32);
    EXPECT_EQ(newest_probe_in(all), 9U);
    EXPECT_EQ(newest_probe_in(std::string(100, 'x')), 0U);
    EXPECT_EQ(newest_probe_in({}), 0U);
    // A mark, and after it another line of the store.
    EXPECT_EQ(newest_probe_in(probe_value(5, 16).substr(0, 8) + std::string(24, '\xff')), 0U);
    EXPECT_EQ(newest_probe_in(probe_value(5, 16).substr(0, 15)), 0U);
}

class disk_watching : public ::testing::Test {
   protected:
    void SetUp() override {
        auto begun = disk_watch::begin();
        if (!begun) {
            ASSERT_EQ(begun.error().code, errc::incompatible) << begun.error().to_string();
            GTEST_SKIP() << begun.error().to_string();
        }
        watch = std::move(*begun);
        one = open_file("one", 0);
        other = open_file("other", 0);
    }
    void TearDown() override {
        watch.reset();
        for (const int fd : files) ::close(fd);
    }
    int open_file(const char* name, int flags) {
        const int fd = ::open((directory.path() / name).c_str(), O_RDWR | O_CREAT | flags, 0600);
        EXPECT_GE(fd, 0);
        files.push_back(fd);
        return fd;
    }
    /// A probe that was written to the file.
    u64 written(int fd) {
        const u64 probe = watch->putting();
        const std::string value = probe_value(probe, 100);
        EXPECT_EQ(::pwrite(fd, value.data(), value.size(), 0), 100);
        return probe;
    }
    u64 landed() {
        const auto all = watch->landings();
        return all.empty() ? 0 : all.back().probe;
    }

    test::scratch_directory directory;
    std::unique_ptr<disk_watch> watch;
    std::vector<int> files;
    int one = -1;
    int other = -1;
};

TEST_F(disk_watching, a_probe_lands_with_the_sync_of_its_file) {
    const u64 probe = written(one);
    EXPECT_EQ(landed(), 0U);
    EXPECT_EQ(::fdatasync(one), 0);
    EXPECT_EQ(landed(), probe);
    const u64 next = written(one);
    EXPECT_EQ(landed(), probe);
    EXPECT_EQ(::fsync(one), 0);
    EXPECT_EQ(landed(), next);
}

TEST_F(disk_watching, the_sync_of_another_file_is_none) {
    (void)written(one);
    EXPECT_EQ(::fdatasync(other), 0);
    EXPECT_EQ(landed(), 0U);
    EXPECT_EQ(::fdatasync(-1), -1);
    EXPECT_EQ(errno, EBADF);
    EXPECT_EQ(landed(), 0U);
}

TEST_F(disk_watching, every_way_to_write_is_seen) {
    const auto each = [&](auto write) {
        const u64 probe = watch->putting();
        std::string value = probe_value(probe, 64);
        EXPECT_EQ(write(value), 64);
        EXPECT_EQ(::fdatasync(one), 0);
        EXPECT_EQ(landed(), probe);
    };
    each([&](std::string& v) { return ::write(one, v.data(), v.size()); });
    each([&](std::string& v) { return ::pwrite(one, v.data(), v.size(), 7); });
    each([&](std::string& v) {
        const iovec pieces[] = {{v.data(), 24}, {v.data() + 24, 40}};
        return ::writev(one, pieces, 2);
    });
    each([&](std::string& v) {
        const iovec pieces[] = {{v.data(), 24}, {v.data() + 24, 40}};
        return ::pwritev(one, pieces, 2, 4096);
    });
    std::string there(64, '\0');
    EXPECT_EQ(::pread(one, there.data(), there.size(), 4096), 64);
    EXPECT_NE(newest_probe_in(there), 0U);
}

TEST_F(disk_watching, a_file_that_syncs_each_write_needs_no_sync) {
    const u64 probe = written(open_file("synced", O_DSYNC));
    EXPECT_EQ(landed(), probe);
}

TEST_F(disk_watching, an_msync_takes_what_was_acknowledged_or_is_in_its_own_threads_put) {
    ASSERT_EQ(::ftruncate(one, 4096), 0);
    void* at = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, one, 0);
    ASSERT_NE(at, MAP_FAILED);
    const u64 first = watch->putting();
    watch->acknowledged(first);
    const u64 second = watch->putting();
    const auto sync = [&](int flags) { EXPECT_EQ(::msync(at, 4096, flags), 0); };
    std::thread([&] { sync(MS_ASYNC); }).join();
    EXPECT_EQ(landed(), 0U);
    std::thread([&] { sync(MS_SYNC); }).join();
    EXPECT_EQ(landed(), first);
    sync(MS_SYNC);
    EXPECT_EQ(landed(), second);
    ::munmap(at, 4096);
}

TEST_F(disk_watching, what_an_earlier_watch_left_in_a_file_is_not_newer) {
    const u64 before = written(one);
    watch.reset();
    EXPECT_EQ(::fdatasync(one), 0);
    watch = std::move(*disk_watch::begin());
    EXPECT_EQ(::fdatasync(one), 0);
    EXPECT_EQ(landed(), 0U);
    EXPECT_GT(watch->putting(), before);
}

/// One file that is appended to; a put returns before its sync, or after it.
class appender final : public contender {
   public:
    appender(int fd, bool honest) : fd_(fd), honest_(honest) {}
    result<std::unique_ptr<connection>> connect() override {
        return std::make_unique<handle>(*this);
    }
    result<void> begin() override { return {}; }
    result<void> make_durable() override {
        EXPECT_EQ(::fdatasync(fd_), 0);
        return {};
    }
    result<void> rest() override { return {}; }
    result<void> settle() override { return {}; }
    result<void> close() override { return {}; }
    facts settings() const override { return {}; }
    counts counters() const override { return {}; }
    std::uint64_t memory() const override { return 0; }

   private:
    struct handle final : connection {
        explicit handle(appender& a) : of(a) {}
        result<bool> get(std::string_view, std::string&) override { return false; }
        result<void> put(std::string_view, std::string_view value) override {
            EXPECT_EQ(::write(of.fd_, value.data(), value.size()),
                      static_cast<ssize_t>(value.size()));
            return of.honest_ ? of.make_durable() : result<void>();
        }
        appender& of;
    };
    int fd_;
    bool honest_;
};

TEST_F(disk_watching, a_put_that_returns_before_its_sync_is_found_out) {
    watch.reset();
    const auto steps = make_streams({workload::load, distribution::uniform, 1000, 0, 1}, 1);
    for (const bool honest : {true, false}) {
        appender store(one, honest);
        ledger notes(1000, 1);
        round_plan plan;
        plan.steps = &steps.front();
        plan.value_size = 100;
        plan.operations = 100;
        const auto found = measure_lag(store, notes, plan, 1000);
        ASSERT_TRUE(found.has_value()) << found.error().to_string();
        EXPECT_GT(found->probes, 0U);
        EXPECT_EQ(found->landed, found->probes);
        EXPECT_EQ(found->early == 0, honest);
        EXPECT_TRUE(as_promised(*found, acknowledge::behind).has_value());
        EXPECT_EQ(as_promised(*found, acknowledge::durable).has_value(), honest);
    }
}

TEST(lags, are_those_of_the_oldest_write_that_would_be_lost) {
    constexpr u64 ms = 1'000'000;
    // Probes 11 to 14 each 10 ms; a sync at 25 ms brings the first two, one at 60 ms the rest.
    const lag l = lag_of(11, {0, 10 * ms, 20 * ms, 30 * ms}, {{25 * ms, 12}, {60 * ms, 14}});
    EXPECT_EQ(l.probes, 4U);
    EXPECT_EQ(l.landed, 4U);
    EXPECT_EQ(l.early, 4U);
    EXPECT_EQ(l.to_land_ns.max(), 40 * ms);
    EXPECT_EQ(l.to_land_ns.min(), 15 * ms);
    // Just before the first sync, the first write is 24.9 ms old; then the third is the oldest.
    EXPECT_EQ(l.at_risk_ns.max(), 24'900'000U);
    EXPECT_EQ(l.at_risk_ns.count(), 301U);
}

TEST(lags, are_none_where_a_write_had_landed_before_it_was_acknowledged) {
    const lag l = lag_of(1, {100, 1'000'000}, {{90, 1}, {900'000, 2}});
    EXPECT_EQ(l.early, 0U);
    EXPECT_EQ(l.at_risk_ns.max(), 0U);
    EXPECT_EQ(l.to_land_ns.max(), 0U);
}

TEST(lags, of_what_never_landed_grow_to_the_end) {
    const lag l = lag_of(1, {0, 1'000'000, 2'000'000}, {{500'000, 1}});
    EXPECT_EQ(l.landed, 1U);
    EXPECT_EQ(l.early, 3U);
    EXPECT_EQ(l.at_risk_ns.max(), 1'000'000U);
    EXPECT_EQ(lag_of(1, {0, 1'000'000}, {}).landed, 0U);
    EXPECT_EQ(lag_of(1, {}, {}).probes, 0U);
}

}  // namespace
}  // namespace hf::bench
