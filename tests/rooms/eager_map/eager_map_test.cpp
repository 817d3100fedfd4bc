#include <holdfast/eager.hpp>

#include "base/damage.hpp"
#include "eager_map/engine.hpp"
#include "eager_map/inspection.hpp"
#include "region/region.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace hf::test {
namespace {

class eager_maps : public on_tmpfs, public ::testing::WithParamInterface<std::string> {
   protected:
    eager_map_options options() const {
        eager_map_options o;
        o.index = GetParam();
        o.region.initial_size = u64{1} << 20;
        o.region.flush = flush_policy::always;
        return o;
    }
};

class eager_map_errors : public on_tmpfs {};

TEST_P(eager_maps, keep_what_was_written_and_remember_their_index) {
    {
        auto m = must(eager_map::open(file, options()));
        EXPECT_TRUE(must(m.insert("one", "1")));
        EXPECT_FALSE(must(m.insert("one", "2")));
        EXPECT_TRUE(must(m.put("two", "2")));
        EXPECT_FALSE(must(m.put("two", "22")));
        EXPECT_TRUE(must(m.update("one", "11")));
        EXPECT_FALSE(must(m.update("three", "3")));
        EXPECT_TRUE(must(m.insert("gone", "g")));
        EXPECT_TRUE(m.remove("gone"));
        EXPECT_FALSE(m.remove("gone"));
    }
    auto again = must(eager_map::open(file));
    EXPECT_EQ(again.index(), GetParam());
    EXPECT_EQ(again.get("one"), "11");
    EXPECT_EQ(again.get("two"), "22");
    EXPECT_EQ(again.get("gone"), std::nullopt);
    std::map<std::string, std::string> seen;
    again.for_each([&](std::string_view k, std::string_view v) { seen.emplace(k, v); });
    EXPECT_EQ(seen, (std::map<std::string, std::string>{{"one", "11"}, {"two", "22"}}));
    must(again.wait_for_sweep());
    must(again.close());
}

TEST_P(eager_maps, take_many_at_once) {
    {
        auto m = must(eager_map::open(file, options()));
        EXPECT_TRUE(must(m.insert("k7", "first")));
        std::vector<std::string> texts;
        for (int i = 0; i < 100; ++i) texts.push_back("k" + std::to_string(i % 90));
        std::vector<std::pair<std::string_view, std::string_view>> entries;
        for (const std::string& t : texts) entries.emplace_back(t, t);
        EXPECT_EQ(must(m.insert_many(entries)), 89U) << "one is there, ten come twice";
        EXPECT_EQ(must(m.insert_many({})), 0U);
    }
    auto again = must(eager_map::open(file));
    EXPECT_EQ(again.get("k7"), "first");
    EXPECT_EQ(again.get("k89"), "k89");
}

/// More keys than are looked for at once, some of them not there, and some twice.
TEST_P(eager_maps, get_many_at_once) {
    auto strings = must(eager_map::open(file, options()));
    std::vector<std::string> texts;
    for (int i = 0; i < 150; ++i) texts.push_back("key " + std::to_string(i % 140));
    for (std::size_t i = 0; i < texts.size(); i += 3) must(strings.put(texts[i], "of " + texts[i]));
    const std::vector<std::string_view> keys(texts.begin(), texts.end());
    std::vector<std::string> found(keys.size());
    std::size_t next = 0;
    const auto keep = [&](std::size_t i, std::string_view v) {
        EXPECT_LE(next, i);
        next = i + 1;
        found[i] = v;
    };
    const std::size_t count = must(strings.get_many(keys, keep));
    std::size_t there = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto one = strings.get(keys[i]);
        EXPECT_EQ(found[i], one.value_or("")) << keys[i];
        there += one ? 1 : 0;
    }
    EXPECT_EQ(count, there);
    EXPECT_EQ(must(strings.get_many({}, keep)), 0U);
    must(strings.close());

    auto numbers = must(eager_integer_map::open(file.string() + ".numbers", options()));
    std::vector<u64> all;
    for (u64 i = 0; i < 100; ++i) {
        all.push_back(i << 20);
        if (i % 2 == 0) must(numbers.put(i << 20, i + 1));
    }
    u64 sum = 0;
    EXPECT_EQ(must(numbers.get_many(all, [&](std::size_t i, u64 v) { sum += v == i + 1; })), 50U);
    EXPECT_EQ(sum, 50U);
    // A function that is kept elsewhere will do, and what it throws comes through.
    const std::function<void(std::size_t, u64)> refuses = [](auto, auto) {
        throw std::length_error("enough");
    };
    EXPECT_THROW(static_cast<void>(numbers.get_many(all, refuses)), std::length_error);
    EXPECT_EQ(numbers.get(u64{2} << 20), 3U);
    must(numbers.close());
}

/// The records that a killed child has written are there.
TEST_P(eager_maps, lose_nothing_when_the_process_ends_at_once) {
    constexpr u64 keys = 3000;
    const int ended = in_child([&] {
        auto m = must(eager_integer_map::open(file, options()));
        for (u64 k = 0; k < keys; ++k) static_cast<void>(must(m.insert(k, k * 3)));
        for (u64 k = 0; k < keys; k += 5) m.remove(k);
        ::_exit(7);
        return 0;
    });
    ASSERT_EQ(ended, 7);
    auto m = must(eager_integer_map::open(file));
    for (u64 k = 0; k < keys; ++k) {
        ASSERT_EQ(m.get(k), k % 5 == 0 ? std::nullopt : std::optional(k * 3)) << k;
    }
    for (u64 k = keys; k < 2 * keys; ++k) ASSERT_TRUE(must(m.insert(k, k)));
    must(m.wait_for_sweep());
}

TEST_P(eager_maps, scan_if_they_have_an_order) {
    auto m = must(eager_integer_map::open(file, options()));
    for (u64 k = 0; k < 100; ++k) static_cast<void>(must(m.insert(k * 10, k)));
    std::vector<u64> seen;
    const auto visit = [&](u64 k, u64) { seen.push_back(k); };
    const auto done = m.scan(55, 3, visit);
    if (!m.is_ordered()) {
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, errc::usage);
        return;
    }
    EXPECT_EQ(must(tl::expected<u64, error>(done)), 3U);
    EXPECT_EQ(seen, (std::vector<u64>{60, 70, 80}));
    seen.clear();
    EXPECT_EQ(must(m.scan(55, 2, visit, true)), 2U);
    EXPECT_EQ(seen, (std::vector<u64>{50, 40}));
}

// A scan returns records in runs; a visitor is called for each record. Both give all, in order.
TEST_P(eager_maps, scan_far_in_both_ways_of_visiting) {
    auto m = must(eager_integer_map::open(file, options()));
    if (!m.is_ordered()) return;
    constexpr u64 keys = 500;
    for (u64 k = 0; k < keys; ++k) static_cast<void>(must(m.insert(k * 3, k)));
    for (const u64 most : {u64{1}, u64{63}, u64{64}, u64{65}, u64{128}, u64{300}, keys + 1}) {
        for (const bool backwards : {false, true}) {
            std::vector<std::pair<u64, u64>> seen;
            std::vector<std::pair<u64, u64>> wanted;
            for (u64 i = 0; i < std::min(most, keys); ++i) {
                const u64 k = backwards ? keys - 1 - i : i;
                wanted.emplace_back(k * 3, k);
            }
            const u64 from = backwards ? 3 * keys : 0;
            const auto look = [&](u64 k, u64 v) { seen.emplace_back(k, v); };
            EXPECT_EQ(must(m.scan(from, most, look, backwards)), wanted.size());
            EXPECT_EQ(seen, wanted);
            seen.clear();
            const eager_integer_map::visitor function = look;
            EXPECT_EQ(must(m.scan(from, most, function, backwards)), wanted.size());
            EXPECT_EQ(seen, wanted);
        }
    }
    u64 visits = 0;
    const auto stop = [&](u64 /*key*/, u64 /*value*/) {
        if (++visits == 70) throw std::runtime_error("enough");
    };
    EXPECT_THROW(std::ignore = m.scan(0, keys, stop), std::runtime_error);
    EXPECT_EQ(visits, 70U);
    EXPECT_TRUE(must(m.insert(1, 1)));
}

TEST_P(eager_maps, hand_over_runs_as_long_as_they_may_be) {
    const auto engine = must(detail::open_engine<u64, u64>(file, options()));
    if (!engine->is_ordered()) return;
    for (u64 k = 0; k < 200; ++k) EXPECT_TRUE(must(engine->insert(k, k)));
    std::vector<std::size_t> runs;
    const auto count = [](void* of, const detail::eager_engine<u64, u64>::entry*, std::size_t n) {
        static_cast<std::vector<std::size_t>*>(of)->push_back(n);
    };
    EXPECT_EQ(engine->scan_runs(0, 200, false, count, &runs), 200U);
    EXPECT_EQ(runs, (std::vector<std::size_t>{64, 64, 64, 8}));
}

// A damaged node. The records that a scan has found before it are visited, in runs and one by one.
TEST_P(eager_maps, visit_what_they_have_found_before_damage) {
    const auto engine = must(detail::open_engine<u64, u64>(file, options()));
    if (!engine->is_ordered()) return;
    for (u64 k = 0; k < 1000; ++k) EXPECT_TRUE(must(engine->insert(k * 977, k)));
    must(engine->space().wait_for_sweep());
    std::vector<heap_audit::place> nodes;
    std::ignore = audit_live(engine->space(), [&](heap_audit& a) {
        a.tell_claims([&](const heap_audit::place& p, const char* what, u64 /*from*/) {
            if (std::string_view(what).starts_with("a node") && nodes.size() < 100) {
                nodes.push_back(p);
            }
        });
        engine->audit(a);
    });
    using entries = std::vector<std::pair<u64, u64>>;
    const auto seen_by = [](auto&& scan, bool& is_damaged) {
        entries seen;
        is_damaged = false;
        try {
            scan([&](u64 k, u64 v) { seen.emplace_back(k, v); });
        } catch (const damage&) {
            is_damaged = true;
        }
        return seen;
    };
    unsigned in_a_run = 0;
    for (const heap_audit::place& p : nodes) {
        std::byte* const behind_lock = engine->space().file().base() + p.payload + 8;
        const std::vector<std::byte> before(behind_lock, behind_lock + p.room - 8);
        std::memset(behind_lock, 0xff, before.size());
        bool is_damaged = false;
        bool is_damaged_too = false;
        const entries one = seen_by(
            [&](auto visit) { std::ignore = engine->scan(0, 1000, false, visit); }, is_damaged);
        const entries runs =
            seen_by([&](auto visit) { std::ignore = engine->scan_with(0, 1000, false, visit); },
                    is_damaged_too);
        std::memcpy(behind_lock, before.data(), before.size());
        ASSERT_EQ(is_damaged, is_damaged_too);
        ASSERT_EQ(one, runs);
        in_a_run += is_damaged && one.size() % 64 != 0 ? 1 : 0;
    }
    // The others collect more than a run of what they are going to visit.
    EXPECT_TRUE(in_a_run > 0 || GetParam() != "bwtree");
}

TEST_P(eager_maps, scan_strings_in_both_ways_of_visiting) {
    auto m = must(eager_map::open(file, options()));
    if (!m.is_ordered()) return;
    for (u64 k = 100; k < 300; ++k) {
        EXPECT_TRUE(must(m.insert(std::to_string(k), std::string(k, 'v'))));
    }
    std::string seen;
    const auto look = [&](std::string_view k, std::string_view v) {
        EXPECT_EQ(std::to_string(v.size()), k);
        seen.append(k).append(" ");
    };
    EXPECT_EQ(must(m.scan("1", 190, look)), 190U);
    const std::string once = std::exchange(seen, "");
    const eager_map::visitor function = look;
    EXPECT_EQ(must(m.scan("1", 190, function)), 190U);
    EXPECT_EQ(seen, once);
    EXPECT_TRUE(once.starts_with("100 101 ") && once.ends_with(" 288 289 "));
}

TEST_P(eager_maps, run_as_the_yardstick_in_a_new_region_only) {
    eager_map_options o = options();
    o.transient = true;
    {
        auto m = must(eager_map::open(file, o));
        EXPECT_TRUE(must(m.insert("k", "v")));
        EXPECT_EQ(m.get("k"), "v");
    }
    EXPECT_FALSE(eager_map::open(file, o));
}

/// So a program that knows another version of it, or none, refuses it.
TEST_P(eager_maps, say_in_the_region_which_version_their_bytes_have) {
    must(must(eager_map::open(file, options())).close());
    region_options o;
    o.kind = discipline::eager;
    const auto r = must(region::open(file, o));
    const std::string room = GetParam() == "masstree" ? "emasstree" : GetParam();
    EXPECT_EQ(layout::version_of(r->super(), room), 1U);
}

INSTANTIATE_TEST_SUITE_P(of, eager_maps, ::testing::ValuesIn(eager_index_names()));

TEST_F(eager_map_errors, are_told_for_wrong_names_and_keys) {
    const auto with = [](const char* index) {
        eager_map_options o;
        o.index = index;
        return o;
    };
    EXPECT_EQ(eager_map::open(file, with("btree")).error().code, errc::usage);
    {
        auto m = must(eager_map::open(file, with("art")));
    }
    EXPECT_EQ(eager_map::open(file, with("clht")).error().code, errc::incompatible);
    EXPECT_EQ(eager_integer_map::open(file).error().code, errc::incompatible);
    auto m = must(eager_map::open(file));
    EXPECT_EQ(m.insert(std::string(4097, 'k'), "").error().code, errc::too_large);
}

TEST_F(eager_map_errors, inspections_are_not_what_a_map_is_for) {
    must(must(eager_map::open(file)).close());
    eager_map_options o;
    o.region.mode = open_mode::inspect;
    EXPECT_EQ(eager_map::open(file, o).error().code, errc::usage);
}

// As close() does it, however the map ends: no process takes it for one whose process was killed.
TEST_F(eager_map_errors, a_map_that_ends_or_is_moved_to_is_closed_before) {
    const auto other = dir / "other.hf";
    const auto is_closed = [](const std::filesystem::path& path) {
        const auto looked = eager_inspection::open(path);
        return !looked.refusal() && looked.file().was_clean();
    };
    {
        auto one = must(eager_map::open(file));
        EXPECT_TRUE(must(one.insert("k", "1")));
        auto two = must(eager_map::open(other));
        EXPECT_TRUE(must(two.insert("k", "2")));
        one = std::move(two);
        EXPECT_EQ(one.get("k"), "2");
        EXPECT_TRUE(is_closed(file));
        EXPECT_TRUE(must(one.insert("l", "3")));
        must(one.close());
        one = must(eager_map::open(file));
        EXPECT_EQ(one.get("k"), "1");
    }
    EXPECT_TRUE(is_closed(file));
    EXPECT_TRUE(is_closed(other));
}

// A caller that asks for no clock ends epochs itself.
TEST_F(eager_map_errors, no_epoch_ends_by_itself_where_there_is_no_clock) {
    eager_map_options o;
    o.region.medium = medium_kind::file;
    o.epoch = std::chrono::microseconds(0);
    auto m = must(eager_map::open(file, o));
    EXPECT_TRUE(must(m.insert("k", "v")));
    const ticket mine = m.current_epoch();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // a clock would have struck
    EXPECT_EQ(m.current_epoch(), mine);
    EXPECT_LT(m.durable_epoch(), mine);
}

// No damage is known that an audit's walk throws at: the walk here does nothing else.
TEST_F(eager_map_errors, who_uses_a_map_that_was_closed_is_told_so) {
    auto m = must(eager_map::open(file));
    must(m.close());
    must(m.close());
    EXPECT_DEATH((void)m.insert("k", "v"), "the map was closed");
    EXPECT_DEATH((void)m.get("k"), "the map was closed");
    EXPECT_DEATH((void)m.index(), "the map was closed");
}

TEST_F(eager_map_errors, what_readers_take_for_damage_is_a_finding_of_the_audit) {
    const auto engine =
        must(detail::open_engine<std::string_view, std::string>(file, eager_map_options{}));
    must(engine->space().wait_for_sweep());
    const audit_report report = audit_live(
        engine->space(), [](heap_audit& /*all*/) { throw damage(64, "a way leads nowhere"); });
    EXPECT_FALSE(report.complete());
    EXPECT_NE(report.to_string().find("a way leads nowhere"), std::string::npos);
}

}  // namespace
}  // namespace hf::test
