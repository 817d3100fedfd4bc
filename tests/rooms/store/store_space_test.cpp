// A store at its size limit: its capacity, and the reuse of freed space for any sizes and any time.
#include <holdfast/store.hpp>

#include "base/random.hpp"
#include "support/effort.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace hf::test {
namespace {

constexpr u64 mib = u64{1} << 20;

class store_space : public on_tmpfs {
   protected:
    store open(u64 bound, u64 first) {
        store_options o;
        o.map.region.initial_size = first;
        o.map.region.max_size = bound;
        return must(store::open(file, o));
    }
    /// Without a common prefix: a layer of keys with one stays when the keys are removed.
    static std::string key_of(u64 n) {
        splitmix64 r(n);
        return std::to_string(r());
    }
    static std::string data_of(u64 n, std::size_t size) {
        return std::string(size, static_cast<char>('a' + n % 26));
    }
    static bool has_room(store& s, u64 n, std::size_t size) {
        const auto done = s.set(key_of(n), data_of(n, size));
        if (done) return true;
        EXPECT_EQ(done.error().code, errc::no_space) << done.error().to_string();
        return false;
    }
    /// Puts values of one size, numbered from `from`, until there is no space.
    static u64 fill(store& s, u64 from, std::size_t size) {
        u64 taken = 0;
        while (has_room(s, from + taken, size)) ++taken;
        return taken;
    }
    static double share(u64 bytes, u64 of) {
        return static_cast<double>(bytes) / static_cast<double>(of);
    }
};

/// Keys of ten bytes, in ascending or random order, which affects how full leaves are.
TEST_F(store_space, takes_values_of_500_bytes_up_to_most_of_its_bound) {
    const std::string value(500, 'v');
    const auto filled = [&](u64 bound, u64 first, bool ascending) {
        std::filesystem::remove(file);
        store s = open(bound, first);
        u64 bytes = 0;
        splitmix64 r(1);
        for (u64 n = 1'000'000'000;; ++n) {
            const u64 number = ascending ? n : 1'000'000'000 + r() % 9'000'000'000;
            if (!s.set(std::to_string(number), value)) break;
            bytes += value.size();
        }
        must(s.close());
        return share(bytes, bound);
    };
    // overhead: header, descriptors, root, two logs, of 256 pages
    for (const u64 first : {4 * mib, 16 * mib}) {
        EXPECT_GT(filled(16 * mib, first, true), 0.84) << first;
        EXPECT_GT(filled(16 * mib, first, false), 0.83) << first;
    }
    for (const u64 first : {4 * mib, 64 * mib}) {
        EXPECT_GT(filled(64 * mib, first, true), 0.85) << first;
        EXPECT_GT(filled(64 * mib, first, false), 0.85) << first;
    }
}

// Records that are left keep their slabs, so other sizes find no space. The error says so, and
// names the remedy.
TEST_F(store_space, of_removed_records_serves_records_of_another_size) {
    store s = open(16 * mib, 16 * mib);
    const u64 stored = fill(s, 0, 500);
    for (u64 i = 1; i <= stored; i += 2) must(s.remove(key_of(i)));
    EXPECT_GT(fill(s, stored, 2000) * 2000, stored / 2 * 500 * 85 / 100);
    const auto full = s.set("another", data_of(0, 2000));
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, errc::no_space);
    EXPECT_EQ(full.error().why.find("other sizes"), std::string::npos) << full.error().to_string();
}

TEST_F(store_space, has_room_for_what_is_smaller_than_what_was_removed) {
    store s = open(16 * mib, 16 * mib);
    const u64 stored = fill(s, 0, 500);
    for (u64 i = 1; i <= stored; i += 2) must(s.remove(key_of(i)));
    EXPECT_GT(fill(s, stored, 200), stored / 2 * 8 / 10);
    for (u64 i = 0; i <= 2 * stored; ++i) must(s.remove(key_of(i)));
    EXPECT_GT(fill(s, 4 * stored, 500), stored * 9 / 10) << "those blocks are what they were";
}

/// Values of random sizes are inserted and removed, with periods in which some sizes are frequent:
/// the worst case for slabs without compaction.
class store_churn : public store_space, public ::testing::WithParamInterface<u64> {
   protected:
    struct stored {
        u64 number;
        std::size_t size;
    };

    std::size_t any_size() {
        const std::size_t doublings = r_.below(4);
        return (usual_ >> 1) + r_.below(usual_) + r_.below((usual_ << doublings) >> 2);
    }
    void remove(store& s, std::size_t which) {
        must(s.remove(key_of(there_[which].number)));
        bytes_ -= there_[which].size;
        there_[which] = there_.back();
        there_.pop_back();
    }
    /// Removes random records, the oldest ones, or a large part of all.
    void remove_some(store& s) {
        const std::size_t all = there_.size();
        const std::size_t some = r_.below(8) == 0 ? all * 3 / 4 : all / 12;
        for (std::size_t i = 0; i < some; ++i) remove(s, r_.below(there_.size()));
    }
    void expect_all(store& s) {
        store::record found;
        for (const stored& one : there_) {
            ASSERT_TRUE(must(s.get(key_of(one.number), found))) << one.number;
            ASSERT_EQ(found.data(), data_of(one.number, one.size)) << one.number;
        }
    }

    xoshiro256ss r_{GetParam()};
    std::size_t usual_ = 400;
    std::vector<stored> there_;
    u64 bytes_ = 0;
};

TEST_P(store_churn, leaves_room_for_most_of_what_a_fresh_store_takes) {
    constexpr u64 bound = 16 * mib;
    store s = open(bound, 4 * mib);
    const u64 fresh = fill(s, 1'000'000, 500);
    for (u64 i = 0; i < fresh; ++i) must(s.remove(key_of(1'000'000 + i)));
    u64 number = 0;
    double least = 1;
    double sum = 0;
    const unsigned turns = effort(160U, 60U);
    for (unsigned turn = 0; turn < turns; ++turn) {
        if (turn % 20 == 19) usual_ = 60 + r_.below(1500);
        for (;; ++number) {
            const std::size_t size = any_size();
            if (!has_room(s, number, size)) break;
            there_.push_back({number, size});
            bytes_ += size;
        }
        least = std::min(least, share(bytes_, bound));
        sum += share(bytes_, bound);
        remove_some(s);
    }
    RecordProperty("least", std::to_string(least));
    RecordProperty("mean", std::to_string(sum / turns));
    // Scattered small values keep slabs from larger ones until they are removed.
    EXPECT_GT(sum / turns, 0.25);
    expect_all(s);
    must(s.close());
    s = open(bound, 4 * mib);
    expect_all(s);
    while (!there_.empty()) remove(s, there_.size() - 1);
    const u64 again = fill(s, 2'000'000, 500);
    RecordProperty("again", std::to_string(share(again, fresh)));
    EXPECT_GT(again, fresh * 93 / 100) << "all of it is free";
}

INSTANTIATE_TEST_SUITE_P(seeds, store_churn, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace hf::test
