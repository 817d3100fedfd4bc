// The number of records: correct after all operations, across crashes, and in regions created
// before it was stored.
#include <holdfast/map.hpp>

#include "checkpoint_map/engine.hpp"
#include "copied.hpp"
#include "index/masstree/formats.hpp"
#include "map/inspect.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace hf {
namespace {

using test::must;
using machine = engine<incll_discipline>;

/// The parameter: whether small values are inlined.
class map_records : public test::on_tmpfs, public ::testing::WithParamInterface<bool> {
   protected:
    [[nodiscard]] map open(open_mode mode = open_mode::open_or_create) const {
        map_options o;
        o.region.initial_size = u64{16} << 20;
        o.region.mode = mode;
        o.epoch = std::chrono::seconds(10);  // an epoch ends only when the test ends it
        o.small_values_in_leaves = GetParam();
        return must(map::open(file, o));
    }
    static std::optional<u64> count(const map& m) { return m.stats().records; }

    /// Changes the region to one of a program that did not count.
    void forget_the_count(u32 version) const {
        {
            const auto e = must(machine::open(file, by_hand()));
            auto& memory = e->memory();
            memory.pages().root().counts_objects = 0;
            for (u32 set = 0; set < memory.set_count(); ++set) {
                auto& words = memory.lists(set, extent_class).lists;
                words.now[class_lists::objects] = words.before[class_lists::objects] = 0;
            }
            must(e->close());
        }
        test::change_superblocks(file, [version](layout::superblock& s) {
            auto older = masstree_format;
            older.version = version;
            layout::set_version(s, older);
        });
    }
    static engine_options by_hand() {
        engine_options o;
        o.epochs.epoch = std::chrono::microseconds(0);
        o.background_pass = false;
        return o;
    }
};

TEST_P(map_records, count_is_correct_after_all_operations) {
    map m = open();
    EXPECT_EQ(count(m), 0U);
    must(m.put("", "a record like any other"));
    must(m.put("a", "1"));
    EXPECT_EQ(count(m), 2U);
    must(m.put("a", "2"));
    must(m.put_if("a", "3", [](auto) { return false; }));
    must(m.put_if("b", "3", [](auto) { return false; }));
    EXPECT_EQ(count(m), 2U) << "replaced, and refused";
    must(m.put("prefix__prefix__1", "in a layer"));
    must(m.put("prefix__prefix__2", "in a layer"));
    must(m.put("prefix__", "above them"));
    EXPECT_EQ(count(m), 5U);
    must(m.put("large", std::string(300'000, 'l')));
    must(m.put("large", std::string(300'000, 'm')));
    EXPECT_EQ(count(m), 6U);
    must(m.modify("a", [](auto, std::string&) { return map::edit::remove; }));
    must(m.modify("c", [](auto, std::string& fresh) {
        fresh = "v";
        return map::edit::replace;
    }));
    EXPECT_EQ(count(m), 6U);
    for (const auto* key :
         {"large", "large", "nothing", "prefix__prefix__1", "prefix__prefix__2"}) {
        must(m.remove(key));
    }
    must(m.remove_if("c", [](auto) { return false; }));
    EXPECT_EQ(count(m), 3U);
    for (unsigned i = 0; i < 1000; ++i) must(m.put(std::to_string(i), "v"));
    EXPECT_EQ(count(m), 1003U) << "leaves are split";
    for (unsigned i = 0; i < 990; ++i) must(m.remove(std::to_string(i)));
    EXPECT_EQ(count(m), 13U) << "leaves are removed";
    must(m.close());
    EXPECT_EQ(count(open()), 13U);
    EXPECT_EQ(count(open(open_mode::inspect)), 13U);
    test::expect_sound(file);
}

TEST_P(map_records, count_is_rolled_back_with_the_epoch) {
    const int ended = test::in_child([&]() -> int {
        map m = open();
        for (unsigned i = 0; i < 100; ++i) must(m.put(std::to_string(i), "v"));
        must(m.sync());
        for (unsigned i = 50; i < 300; ++i) must(m.put(std::to_string(i), "lost"));
        must(m.remove("0"));
        EXPECT_EQ(count(m), 299U);
        ::_exit(::testing::Test::HasFailure() ? 99 : 0);
    });
    ASSERT_EQ(ended, 0);
    test::expect_sound(file);
    EXPECT_EQ(count(open(open_mode::inspect)), 100U);
    map m = open();
    EXPECT_EQ(count(m), 100U);
    must(m.put("0", "was there"));
    EXPECT_EQ(count(m), 100U);
    must(m.put("new", "v"));
    EXPECT_EQ(count(m), 101U);
}

TEST_P(map_records, count_is_correct_with_many_threads) {
    map m = open();
    const auto work = [&m](unsigned first) {
        for (unsigned i = first; i < 8000; i += 2) {
            must(m.put(std::to_string(i), "v"));
            must(m.remove(std::to_string(i / 2)));  // often a key of another thread
            if (i % 1000 < 2) must(m.sync());
        }
    };
    std::vector<std::thread> threads;
    for (const unsigned first : {0, 1, 0}) threads.emplace_back(work, first);
    for (auto& t : threads) t.join();
    std::uint64_t there = 0;
    must(m.scan("", [&there](auto, auto) { return ++there != 0; }));
    EXPECT_EQ(count(m), there);
    must(m.close());
    test::expect_sound(file);
}

TEST_P(map_records, first_opening_counts_the_records_of_an_older_program) {
    for (const u32 version : {1, 2}) {
        {
            map m = open();
            for (unsigned i = 0; i < 700; ++i) must(m.put(std::to_string(i), "v"));
            must(m.close());
        }
        forget_the_count(version);
        EXPECT_EQ(count(open(open_mode::inspect)), std::nullopt) << "no time for that";
        {
            map m = open();
            EXPECT_EQ(count(m), 700U);
            must(m.remove("0"));
            EXPECT_EQ(count(m), 699U);
            must(m.close());
        }
        test::expect_sound(file);
        EXPECT_EQ(count(open(open_mode::inspect)), 699U) << "the count was not kept";
    }
}

TEST_P(map_records, interrupted_count_is_repeated_at_the_next_opening) {
    {
        map m = open();
        for (unsigned i = 0; i < 700; ++i) must(m.put(std::to_string(i), "v"));
        must(m.close());
    }
    forget_the_count(2);
    const int ended = test::in_child([&]() -> int {
        const auto e = must(machine::open(file, by_hand()));
        {
            operation op(e->checkpoint());
            must(e->tree().update(
                op, "0", [](const auto*) { return decision{decision::action::erase, 0}; }));
        }
        e->memory().pages().root().counts_objects = 0;  // as if it had not become durable
        ::_exit(0);
    });
    ASSERT_EQ(ended, 0);
    map m = open();
    EXPECT_EQ(count(m), 700U);
}

TEST_P(map_records, wrong_count_is_reported_by_an_audit) {
    {
        map m = open();
        must(m.put("k", "v"));
        must(m.close());
    }
    {
        const auto e = must(machine::open(file, by_hand()));
        operation op(e->checkpoint());
        e->memory().count_objects(op, +1);
    }
    const auto report = inspect_map(file).audit();
    EXPECT_EQ(report.violation_count(), 0U) << "the epoch did not end";
    {
        const auto e = must(machine::open(file, by_hand()));
        {
            operation op(e->checkpoint());
            op.my_lane().mark_written();
            e->memory().count_objects(op, +1);
        }
        must(e->close());
    }
    const auto found = inspect_map(file).audit();
    EXPECT_EQ(found.violation_count(), 1U) << found.to_string();
    EXPECT_NE(found.to_string().find("counts 2 records, found were 1"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(with, map_records, ::testing::Bool(), [](const auto& of) {
    return of.param ? "small_values_in_leaves" : "records_alone";
});

}  // namespace
}  // namespace hf
