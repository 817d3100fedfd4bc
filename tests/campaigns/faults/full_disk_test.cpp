// A map on a file system that is really full.
#include <holdfast/map.hpp>

#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

namespace hf {
namespace {

using test::must;

map_options on_disk() {
    map_options o;
    o.region.medium = medium_kind::file;
    o.region.initial_size = u64{16} << 20;
    o.epoch = std::chrono::milliseconds(5);
    return o;
}

std::string key(unsigned i) { return "key " + std::to_string(i); }

/// Puts values of 100,000 bytes until there is no space; returns their number.
unsigned fill(map& m) {
    for (unsigned i = 0;; ++i) {
        const auto put = m.put(key(i), std::string(100'000, static_cast<char>('a' + i % 26)));
        if (put) continue;
        EXPECT_EQ(put.error().code, errc::no_space) << put.error().to_string();
        return i;
    }
}

void expect_values(const map& m, unsigned count) {
    std::string got;
    for (unsigned i = 0; i < count; ++i) {
        ASSERT_TRUE(must(m.get(key(i), got))) << i;
        EXPECT_EQ(got, std::string(100'000, static_cast<char>('a' + i % 26))) << i;
    }
}

class full_disk : public test::on_tmpfs {};

TEST_F(full_disk, refuses_growth_and_loses_nothing) {
    const bool ran = test::with_small_tmpfs(dir / "small", u64{220} << 20, [&] {
        const auto small = dir / "small/store.hf";
        unsigned count = 0;
        {
            map m = must(map::open(small, on_disk()));
            count = fill(m);
            EXPECT_GT(count, 100U);
            expect_values(m, count);
            must(m.sync());
            EXPECT_TRUE(must(m.remove(key(0))).changed) << "a full disk has no room made";
            must(m.sync());
            must(m.put(key(0), std::string(100'000, 'a')));
            must(m.close());
        }
        const map again = must(map::open(small, on_disk()));
        expect_values(again, count);
    });
    if (!ran) GTEST_SKIP() << "only root may mount a small file system";
}

TEST_F(full_disk, no_room_for_the_journal_leaves_the_region_as_it_is) {
    const bool ran = test::with_small_tmpfs(dir / "small", u64{32} << 20, [&] {
        const auto small = dir / "small/store.hf";
        auto m = map::open(small, on_disk());
        ASSERT_FALSE(m);
        EXPECT_EQ(m.error().code, errc::no_space) << m.error().to_string();
    });
    if (!ran) GTEST_SKIP() << "only root may mount a small file system";
}

}  // namespace
}  // namespace hf
