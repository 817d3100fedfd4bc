// A region that was compacted: as small as its records, with all of them and their options; and
// whole, wherever the process was killed.
#include "dump/compact.hpp"

#include "dump/dumped.hpp"
#include "map/inspect.hpp"
#include "persist/persist_point.hpp"
#include "region/file.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>

namespace hf::test {
namespace {

namespace fs = std::filesystem;

struct variety {
    std::string index;  ///< "incll", "inlined", or one of the eager ones
    medium_kind medium = medium_kind::shm;
};

class compaction : public dump {
   protected:
    [[nodiscard]] static map_options options(const variety& v) {
        map_options o;
        o.region.initial_size = u64{64} << 20;
        o.region.medium = v.medium;
        o.small_values_in_leaves = v.index == "inlined";
        if (v.index != "incll" && v.index != "inlined") {
            o.kind = discipline::eager;
            o.index = v.index;
        }
        return o;
    }
    [[nodiscard]] store open_new(const variety& v) const {
        return must(store::over(must(map::open(file, options(v))), [] { return now; }));
    }
    /// Fills a store, and removes most of its records.
    void fill_and_remove(const variety& v) const {
        store s = open_new(v);
        for (unsigned i = 0; i < 6000; ++i) {
            must(s.set(key(i), std::string(1000 + i % 100, static_cast<char>('a' + i % 26)),
                       {i, i % 3 == 0 ? now + 1000 + i : 0}));
        }
        for (unsigned i = 0; i < 6000; ++i) {
            if (i % 50 != 0) must(s.remove(key(i)));
        }
        must(s.set("expired", "x", {0, now - 1}));
        must(s.close());
    }
    static std::string key(unsigned i) { return "key " + std::to_string(i); }
    [[nodiscard]] compact_report compact() const { return must(compact_map(file, now)); }
    [[nodiscard]] u64 stored() const {
        return must(detail::facts_of(must(detail::open_unlocked(file)), "it")).allocated_bytes;
    }
};

class compaction_of : public compaction, public ::testing::WithParamInterface<variety> {};

TEST_P(compaction_of, keeps_all_records_and_options_and_gives_back_the_rest) {
    fill_and_remove(GetParam());
    const std::string before = dumped(file);
    const u64 bytes_before = fs::file_size(file);
    const compact_report done = compact();
    EXPECT_EQ(done.records, 120U);
    EXPECT_EQ(done.absent, 1U);
    EXPECT_EQ(done.bytes_before, bytes_before);
    EXPECT_EQ(done.bytes, fs::file_size(file));
    EXPECT_EQ(done.stored, stored());
    EXPECT_LT(done.bytes, bytes_before);
    EXPECT_LT(done.stored, u64{2} << 20) << "120 records of 1 KB";
    EXPECT_EQ(dumped(file), before) << "data, flags, expiry and cas uniques";
    EXPECT_EQ(dir.names(), std::vector<std::string>{"store.hf"});
    const audit_report found = must(audit_map(file));
    EXPECT_TRUE(found.ok()) << found.to_string();
    map_options as_is;
    as_is.region.mode = open_mode::open_existing;
    map m = must(map::open(file, as_is));
    const variety& v = GetParam();
    const bool is_eager = v.index != "incll" && v.index != "inlined";
    EXPECT_EQ(m.kind(), is_eager ? discipline::eager : discipline::incll);
    EXPECT_EQ(map_inspection::has_small_values(m), v.index == "inlined");
    if (is_eager) {
        EXPECT_EQ(m.index(), v.index);
    }
    for (unsigned i = 0; i < 3000; ++i) must(m.put("more " + std::to_string(i), "it grows again"));
    must(m.close());
}

INSTANTIATE_TEST_SUITE_P(varieties, compaction_of,
                         ::testing::Values(variety{"incll"}, variety{"inlined"}, variety{"clht"},
                                           variety{"art"}, variety{"hot"}, variety{"bwtree"},
                                           variety{"masstree"}, variety{"incll", medium_kind::file},
                                           variety{"art", medium_kind::file}),
                         [](const auto& p) {
                             return p.param.index +
                                    (p.param.medium == medium_kind::file ? "_on_disk" : "");
                         });

TEST_F(compaction, gives_out_no_cas_unique_that_the_old_region_gave_out) {
    u64 greatest = 0;
    for (int session = 0; session < 3; ++session) {
        store s = open(file);
        must(s.set("stays", "x"));
        greatest = must(s.set("goes", "x")).number;
        must(s.remove("goes"));
        must(s.close());
    }
    (void)compact();
    store s = open(file);
    EXPECT_GT(must(s.set("new", "x")).number, greatest);
    must(s.close());
}

TEST_F(compaction, keeps_values_that_are_no_records_of_a_store) {
    map m = must(map::open(file, options({"inlined"})));
    for (unsigned i = 0; i < 500; ++i) must(m.put(key(i), std::to_string(i)));
    must(m.put("", "a program's own empty key"));
    must(m.close());
    const std::string before = dumped(file);
    (void)compact();
    EXPECT_EQ(dumped(file), before);
}

TEST_F(compaction, of_a_region_that_was_not_closed_in_order_recovers_it_first) {
    for (const medium_kind medium : {medium_kind::shm, medium_kind::file}) {
        fs::remove(file);
        const int ended = in_child([&]() -> int {
            store s = open_new({"incll", medium});
            for (unsigned i = 0; i < 300; ++i) must(s.set(key(i), "value"));
            must(s.sync());
            ::_exit(0);
        });
        ASSERT_EQ(ended, 0);
        ASSERT_EQ(fs::exists(file.string() + ".journal"), medium == medium_kind::file);
        EXPECT_EQ(compact().records, 300U);
        EXPECT_EQ(contents_of(file).size(), 300U);
        EXPECT_EQ(dir.names(), std::vector<std::string>{"store.hf"});
    }
}

TEST_F(compaction, of_an_open_region_is_refused_and_changes_nothing) {
    fill(100);
    const std::string before = dumped(file);
    {
        const store s = open(file);
        EXPECT_EQ(compact_map(file, now).error().code, errc::busy);
    }
    {
        const auto reader = must(detail::open_file(file, false));
        EXPECT_EQ(compact_map(file, now).error().code, errc::busy);
    }
    EXPECT_EQ(compact_map(dir / "none.hf", now).error().code, errc::not_found);
    EXPECT_EQ(dumped(file), before);
    EXPECT_EQ(dir.names(), std::vector<std::string>{"store.hf"});
}

TEST_F(compaction, on_a_full_disk_leaves_the_old_region) {
    fill(100);
    const std::string before = dumped(file);
    const bool is_mounted = with_small_tmpfs(dir / "small", u64{20} << 20, [&] {
        const fs::path here = dir / "small" / "store.hf";
        fs::copy_file(file, here);  // it takes all but 4 MiB
        const std::string filler(u64{4} << 20, 'x');
        std::FILE* const other_file = std::fopen((dir / "small" / "filler").c_str(), "w");
        (void)std::fwrite(filler.data(), 1, filler.size(), other_file);
        (void)std::fclose(other_file);
        const auto refused = compact_map(here, now);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, errc::no_space) << refused.error().to_string();
        EXPECT_EQ(dumped(here), before);
        EXPECT_FALSE(fs::exists(here.string() + ".partial"));
    });
    if (!is_mounted) GTEST_SKIP() << "this process may not mount";
}

std::atomic<long> steps_left{0};
const char* dies_at = nullptr;
/// Ends the process at the named persist point, or at the last of `steps_left`.
void step(const char* name) {
    if (dies_at != nullptr && std::string_view(name).starts_with(dies_at)) ::_exit(7);
    if (steps_left.fetch_sub(1) == 1) ::_exit(7);
}

TEST_F(compaction, that_was_killed_leaves_a_whole_region_and_can_be_repeated) {
#ifndef HF_PERSIST_POINTS
    GTEST_SKIP() << "this build has no persist points";
#endif
    for (const medium_kind medium : {medium_kind::shm, medium_kind::file}) {
        fs::remove(file);
        fill_and_remove({"incll", medium});
        const std::string before = dumped(file);
        const auto killed = [&](const char* at, long steps) {
            return in_child([&]() -> int {
                dies_at = at;
                steps_left = steps;
                set_persist_point_hook(step);
                (void)compact();
                return 0;
            });
        };
        const auto expect_whole = [&] {
            EXPECT_EQ(dumped(file), before);
            const audit_report found = must(audit_map(file));
            EXPECT_TRUE(found.ok()) << found.to_string();
        };
        for (const char* const at : {"image N1", "image N2"}) {
            ASSERT_EQ(killed(at, -1), 7) << at;
            expect_whole();
        }
        int ended = 7;
        for (long steps = 1; ended == 7; steps = steps * 3 / 2 + 1) {
            ended = killed(nullptr, steps);
            expect_whole();
        }
        EXPECT_EQ(ended, 0) << "the last one was not killed";
        EXPECT_EQ(dir.names(), std::vector<std::string>{"store.hf"});
    }
}

}  // namespace
}  // namespace hf::test
