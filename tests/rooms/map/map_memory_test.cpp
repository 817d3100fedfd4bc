// A map on the medium `file` whose region exceeds its memory budget: pages are dropped during all
// operations, without losing or changing data.
#include <holdfast/map.hpp>

#include "base/random.hpp"
#include "support/effort.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace hf {
namespace {

using test::must;

constexpr u64 mib = u64{1} << 20;

/// Memory of this process that no file backs.
u64 anonymous_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("RssAnon:")) return std::strtoull(line.c_str() + 8, nullptr, 10) << 10;
    }
    return 0;
}

class map_memory : public test::on_tmpfs {
   protected:
    [[nodiscard]] map open(u64 memory, u64 size = 64 * mib) const {
        map_options o;
        o.region.medium = medium_kind::file;
        o.region.initial_size = size;
        o.region.memory = memory;
        o.epoch = std::chrono::milliseconds(2);
        return must(map::open(file, o));
    }
    static std::string key(unsigned i) { return "key " + std::to_string(i); }
    static std::string value(unsigned i, unsigned round) {
        return std::to_string(i) + " " + std::to_string(round) + std::string(80, 'v');
    }
};

/// Each thread has its own keys, including some large values, and knows their expected contents.
void work(map& m, unsigned thread, unsigned rounds) {
    constexpr unsigned keys = 3000;
    xoshiro256ss r(thread + 1);
    std::vector<std::string> expected(keys);
    std::string got;
    const auto name = [&](u64 i) { return std::to_string(thread) + "/" + std::to_string(i); };
    for (unsigned round = 0; round < rounds; ++round) {
        const u64 i = r.below(keys);
        std::string& mine = expected[i];
        const bool found = must(m.get(name(i), got));
        ASSERT_EQ(found, !mine.empty()) << name(i) << " in round " << round;
        if (found) {
            ASSERT_EQ(got, mine) << name(i) << " in round " << round;
        }
        const u64 dice = r.below(100);
        if (dice < 20) {
            must(m.remove(name(i)));
            mine.clear();
            continue;
        }
        const u64 size = dice == 99 ? 600'000 : 1 + r.below(200);
        mine = std::to_string(round) + std::string(size, static_cast<char>('a' + r.below(26)));
        must(m.put(name(i), mine));
    }
    for (unsigned i = 0; i < keys; ++i) {
        const bool found = must(m.get(name(i), got));
        ASSERT_EQ(found, !expected[i].empty());
        if (found) {
            ASSERT_EQ(got, expected[i]);
        }
    }
}

TEST_F(map_memory, pages_are_dropped_under_readers_and_writers) {
    map m = open(mib);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t) threads.emplace_back([&m, t] { work(m, t, 4000); });
    for (auto& t : threads) t.join();
    EXPECT_GT(m.stats().journal.given_back_bytes, 4 * mib);
    must(m.close());
}

TEST_F(map_memory, large_value_being_written_is_not_dropped) {
    map m = open(mib, 256 * mib);
    std::atomic<bool> is_done{false};
    std::thread others([&] {  // keeps pages being dropped
        for (unsigned n = 0; !is_done.load(); ++n) must(m.put(key(n % 5000), value(n, 0)));
    });
    std::string got;
    for (unsigned round = 0, most = test::effort(12U, 4U); round < most; ++round) {
        const std::string large(30 * mib, static_cast<char>('a' + round));
        must(m.put("large", large));
        ASSERT_TRUE(must(m.get("large", got)));
        EXPECT_TRUE(got == large) << "round " << round;
    }
    is_done = true;
    others.join();
}

TEST_F(map_memory, dropped_pages_survive_a_crash) {
    constexpr unsigned keys = 20'000;
    for (unsigned round = 0; round < 3; ++round) {
        const int ended = test::in_child([&] {
            map m = open(mib);
            for (unsigned i = 0; i < keys; ++i) must(m.put(key(i), value(i, round)));
            must(m.sync());
            if (m.stats().journal.given_back_bytes == 0) return 1;
            ::raise(SIGKILL);
            return 0;
        });
        ASSERT_EQ(ended, 1000 + SIGKILL);
        const map m = open(mib);
        std::string got;
        for (unsigned i = 0; i < keys; ++i) {
            ASSERT_TRUE(must(m.get(key(i), got)));
            ASSERT_EQ(got, value(i, round));
        }
    }
}

// A small region by default; with $HF_TEST_MEMORY_REGION, that many mebibytes of data. The memory
// budget is a quarter of the data, of which half may be private pages.
TEST_F(map_memory, region_larger_than_its_memory_is_filled_and_changed) {
    const char* const asked = std::getenv("HF_TEST_MEMORY_REGION");
    // sanitized builds are slow, and need measure less
    const u64 by_default = test::is_sanitized ? 32 : 192;
    const u64 data = (asked != nullptr ? std::strtoull(asked, nullptr, 10) : by_default) * mib;
    const u64 memory = data / 4;
    constexpr u64 size = 4000;
    const auto keys = static_cast<unsigned>(data / size);
    const auto filled = [](unsigned i, unsigned round) {
        std::string v = value(i, round);
        v.resize(size - 100, 'f');
        return v;
    };
    u64 most = 0;
    {
        map m = open(memory / 2);
        const u64 before = anonymous_bytes();
        for (unsigned i = 0; i < keys; ++i) {
            must(m.put(key(i), filled(i, 0)));
            if (i % 256 == 0) most = std::max(most, std::max(anonymous_bytes(), before) - before);
        }
        xoshiro256ss r(7);
        for (unsigned n = 0; n < keys / 4; ++n) {
            const auto i = static_cast<unsigned>(r.below(keys));
            must(m.put(key(i), filled(i, 0)));
            if (n % 256 == 0) most = std::max(most, std::max(anonymous_bytes(), before) - before);
        }
        EXPECT_GT(m.stats().journal.given_back_bytes, 0U);
        if (!test::is_sanitized) {
            EXPECT_LT(most, memory) << "anonymous memory of a region of " << m.stats().region_bytes;
        }
        must(m.close());
    }
    map m = open(memory / 2);
    std::string got;
    for (unsigned i = 0; i < keys; ++i) {
        ASSERT_TRUE(must(m.get(key(i), got)));
        ASSERT_EQ(got, filled(i, 0));
    }
    RecordProperty("most_anonymous_mib", static_cast<int>(most / mib));
}

}  // namespace
}  // namespace hf
