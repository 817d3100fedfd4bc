// The public map over eager indexes: its guarantees beyond the index concept.
#include <holdfast/eager.hpp>
#include <holdfast/map.hpp>

#include "eager_map/byte_map.hpp"
#include "eager_map/inspection.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>

namespace hf {
namespace {

using test::must;

class eager_byte_maps : public test::on_tmpfs, public ::testing::WithParamInterface<std::string> {
   protected:
    [[nodiscard]] result<map> try_open(const std::string& index, u64 most = 0) {
        map_options o;
        o.region.initial_size = u64{1} << 20;
        o.region.max_size = most;
        o.region.flush = flush_policy::always;
        o.index = index;
        return map::open(file, o);
    }
    [[nodiscard]] static eager_map_options eager_options_of(const map_options& o) {
        eager_map_options same;
        same.region = o.region;
        same.index = o.index;
        return same;
    }
    [[nodiscard]] map open(u64 most = 0) { return must(try_open(GetParam(), most)); }
    [[nodiscard]] bool is_ordered() const { return GetParam() != "clht"; }
};

TEST_P(eager_byte_maps, completed_operations_survive_a_kill) {
    const int ended = test::in_child([&] {
        map m = open();
        for (int i = 0; i < 500; ++i) must(m.put(std::to_string(i), std::to_string(i * 7)));
        must(m.remove("77"));
        ::raise(SIGKILL);
        return 0;
    });
    ASSERT_EQ(ended, 1000 + SIGKILL);
    const map m = must(map::open(file));  // the file records discipline and index
    EXPECT_EQ(m.index(), GetParam());
    EXPECT_EQ(m.kind(), discipline::eager);
    std::string value;
    for (int i = 0; i < 500; ++i) {
        ASSERT_EQ(must(m.get(std::to_string(i), value)), i != 77) << i;
        if (i != 77) {
            ASSERT_EQ(value, std::to_string(i * 7));
        }
    }
}

TEST_P(eager_byte_maps, operations_in_a_journalled_image_return_tickets) {
    for (const medium_kind medium : {medium_kind::file, medium_kind::shm}) {
        SCOPED_TRACE(to_string(medium));
        map_options o;
        o.region.medium = medium;
        o.region.image = image_kind::journalled;
        o.index = GetParam();
        o.epoch = std::chrono::microseconds(0);
        map m = must(map::open(dir / std::string(to_string(medium)), o));
        const auto never = [](auto) { return false; };
        const write_outcome first = must(m.put("k", "v"));
        EXPECT_EQ(first.written_in, m.current_epoch());
        EXPECT_LT(m.durable_epoch(), first.written_in);
        EXPECT_EQ(must(m.put_if("k", "w", never)).written_in, first.written_in);
        must(m.wait_durable(first.written_in));
        EXPECT_EQ(m.durable_epoch(), first.written_in);
        EXPECT_EQ(must(m.remove("k")).written_in, first.written_in + 1);
        EXPECT_EQ(must(m.put_if("k", "w", never)).written_in, first.written_in + 1);
        must(m.sync());
        const statistics s = m.stats();
        EXPECT_EQ(s.medium, to_string(medium));
        EXPECT_EQ(s.image, "journalled");
        EXPECT_EQ(s.durable_epoch, first.written_in + 1);
        EXPECT_GT(s.journal.records, 0U);
        must(m.close());
    }
}

TEST_P(eager_byte_maps, statistics_cover_the_opening_and_the_operations) {
    for (const medium_kind medium : {medium_kind::shm, medium_kind::file}) {
        SCOPED_TRACE(to_string(medium));
        const bool is_disk = medium == medium_kind::file;
        map_options o;
        o.region.initial_size = u64{1} << 20;
        o.region.max_size = u64{64} << 20;
        o.region.flush = flush_policy::always;
        o.region.medium = medium;
        o.index = GetParam();
        const std::string path = dir / std::string(to_string(medium));
        const auto expect = [&](const map& m, u64 generation, bool recovered, u64 records) {
            const statistics s = m.stats();
            EXPECT_EQ(s.path, path);
            EXPECT_EQ(s.discipline, "eager");
            EXPECT_EQ(s.index, GetParam());
            EXPECT_EQ(s.medium, to_string(medium));
            EXPECT_EQ(s.flush_instruction == "none", is_disk);
            EXPECT_EQ(s.region_bytes, std::filesystem::file_size(path));
            EXPECT_EQ(s.most_bytes, o.region.max_size);
            EXPECT_EQ(s.allocated_bytes + s.free_bytes, s.region_bytes);
            EXPECT_EQ(s.generation, generation);
            EXPECT_EQ(m.generation(), generation);
            EXPECT_EQ(s.epoch, m.current_epoch());
            EXPECT_EQ(s.durable_epoch, m.durable_epoch());
            EXPECT_EQ(s.epoch != 0, is_disk);
            EXPECT_EQ(s.recovered, recovered);
            EXPECT_EQ(s.recovered_records != 0, recovered && is_disk);
            EXPECT_GT(s.recovery_ns, 0U);
            if (!recovered) {
                EXPECT_EQ(s.records, records);
            }
            EXPECT_EQ(s.failed_epochs + s.recovered_entries + s.log_entries + s.log_bytes, 0U);
        };
        const int ended = test::in_child([&] {
            map m = must(map::open(path, o));
            expect(m, 1, false, 0);
            const statistics before = m.stats();
            for (int i = 0; i < 300; ++i) must(m.put(std::to_string(i), std::string(900, 'v')));
            must(m.sync());
            const statistics after = m.stats();
            expect(m, 1, false, 300);
            EXPECT_GE(after.flushes, before.flushes + (is_disk ? 0U : 300U));
            EXPECT_GE(after.fences, before.fences + (is_disk ? 0U : 300U));
            EXPECT_GE(after.flushed_bytes - before.flushed_bytes,
                      (after.flushes - before.flushes) * 64);
            EXPECT_GT(after.allocated_bytes, before.allocated_bytes + 200 * 900);
            EXPECT_EQ(after.pause.count != 0, is_disk);
            EXPECT_EQ(after.journal.records != 0, is_disk);
            ::_exit(::testing::Test::HasFailure() ? 1 : 0);
            return 0;
        });
        ASSERT_EQ(ended, 0);
        {
            map m = must(map::open(path, o));
            expect(m, 2, true, 300);
            must(m.close());
        }
        expect(must(map::open(path, o)), 3, false, 300);
    }
}

/// A walk ends soon after its visitor returns false, even if it returns true for later records.
TEST_P(eager_byte_maps, walk_ends_soon_after_the_visitor_returns_false) {
    map m = open();
    for (int i = 0; i < 4000; ++i) must(m.put(std::to_string(i), "v"));
    std::string cursor;
    std::size_t shown = 0;
    const std::size_t visited =
        must(m.walk(cursor, 4000, [&](auto, auto) { return ++shown != 1; }));
    EXPECT_EQ(visited, shown);
    EXPECT_LT(visited, 2000U);
    EXPECT_FALSE(cursor.empty());
    std::set<std::string> rest;
    while (!cursor.empty()) {
        must(m.walk(cursor, 50, [&](std::string_view k, auto) {
            EXPECT_TRUE(rest.emplace(k).second) << k;
            return true;
        }));
    }
    EXPECT_EQ(rest.size() + visited, 4000U) << "each is visited once";
}

TEST_P(eager_byte_maps, conditional_writes_check_the_current_value) {
    map m = open();
    std::optional<std::string> asked = "never";
    const auto answer = [&](bool yes) {
        return [&asked, yes](std::optional<std::string_view> old) {
            asked = old ? std::optional<std::string>(*old) : std::nullopt;
            return yes;
        };
    };
    write_outcome done = must(m.put_if("k", "1", answer(false)));
    EXPECT_EQ(asked, std::nullopt);
    EXPECT_TRUE(!done.changed && !done.existed);
    done = must(m.put_if("k", "1", answer(true)));
    EXPECT_TRUE(done.changed && !done.existed);
    done = must(m.put_if("k", "2", answer(false)));
    EXPECT_EQ(asked, "1");
    EXPECT_TRUE(!done.changed && done.existed);
    done = must(m.put_if("k", "2", answer(true)));
    EXPECT_TRUE(done.changed && done.existed);
    EXPECT_THROW(
        (void)m.put_if("k", "3", [](auto) -> bool { throw std::runtime_error("no answer"); }),
        std::runtime_error);
    done = must(m.remove_if("k", [](std::string_view old) { return old == "1"; }));
    EXPECT_TRUE(!done.changed && done.existed);
    done = must(m.remove_if("k", [](std::string_view old) { return old == "2"; }));
    EXPECT_TRUE(done.changed && done.existed);
    done = must(m.remove("k"));
    EXPECT_TRUE(!done.changed && !done.existed);
    EXPECT_EQ(m.stats().records, 0U);
}

TEST_P(eager_byte_maps, longest_value_is_accepted_and_a_longer_one_refused) {
    if (GetParam() != "clht") return;  // the limit is the map's, not the index's
    map m = open();
    for (const std::size_t more : {0U, 1U}) {
        const std::string longest(max_value_size + more, 'v');
        const auto put = m.put("k", longest);
        const auto modified = m.modify("n", [&](auto, std::string& fresh) {
            fresh = longest;
            return map::edit::replace;
        });
        for (const auto* done : {&put, &modified}) {
            ASSERT_EQ(done->has_value(), more == 0);
            if (more != 0) {
                EXPECT_EQ(done->error().code, errc::too_large);
            }
        }
    }
    EXPECT_EQ(m.stats().records, 2U);
}

TEST_P(eager_byte_maps, modify_changes_the_current_value) {
    map m = open();
    const auto count = [](std::optional<std::string_view> old, std::string& fresh) {
        fresh = std::to_string(old ? std::stoi(std::string(*old)) + 1 : 1);
        return fresh == "4" ? map::edit::remove : map::edit::replace;
    };
    for (int i = 1; i <= 3; ++i) EXPECT_TRUE(must(m.modify("n", count)).changed);
    std::string value;
    ASSERT_TRUE(must(m.get("n", value)));
    EXPECT_EQ(value, "3");
    const write_outcome kept =
        must(m.modify("n", [](auto, std::string&) { return map::edit::keep; }));
    EXPECT_TRUE(!kept.changed && kept.existed);
    EXPECT_EQ(m.stats().records, 1U);
    EXPECT_TRUE(must(m.modify("n", count)).changed);
    EXPECT_FALSE(must(m.get("n", value)));
    EXPECT_EQ(m.stats().records, 0U);
}

// A condition and its write are atomic.
TEST_P(eager_byte_maps, concurrent_modifications_are_all_counted) {
    map m = open();
    constexpr int each = 2'000;
    std::vector<std::thread> all;
    for (int t = 0; t < 3; ++t) {
        all.emplace_back([&, t] {
            for (int i = 0; i < each; ++i) {
                must(m.modify("both", [](auto old, std::string& fresh) {
                    fresh = std::to_string(old ? std::stoi(std::string(*old)) + 1 : 1);
                    return map::edit::replace;
                }));
                const std::string mine = std::to_string(t) + "/" + std::to_string(i % 50);
                must(m.put(mine, std::string(static_cast<std::size_t>(i % 300), 'v')));
                if (i % 7 == 0) must(m.remove(mine));
            }
        });
    }
    for (std::thread& t : all) t.join();
    std::string value;
    ASSERT_TRUE(must(m.get("both", value)));
    EXPECT_EQ(value, std::to_string(3 * each));
    std::size_t there = 0;
    std::string cursor;
    do {
        must(m.walk(cursor, 16, [&](auto, auto) { return ++there != 0; }));
    } while (!cursor.empty());
    EXPECT_EQ(m.stats().records, there);
}

// The count is unknown after a crash, or after a program that does not count.
TEST_P(eager_byte_maps, record_count_is_known_after_a_clean_close) {
    for (const medium_kind medium : {medium_kind::shm, medium_kind::file}) {
        SCOPED_TRACE(static_cast<int>(medium));
        std::filesystem::remove(file);
        map_options o;
        o.region.medium = medium;
        o.index = GetParam();
        const auto counted = [&] { return eager_inspection::open(file).counted_records(); };
        const auto is_sound = [&] { return eager_inspection::open(file).audit().ok(); };
        for (u64 opening = 0; opening < 3; ++opening) {
            map m = must(map::open(file, o));
            ASSERT_EQ(m.stats().records, opening * 499);
            for (u64 i = 0; i < 500; ++i) must(m.put(std::to_string(opening * 1000 + i), "v"));
            must(m.remove(std::to_string(opening * 1000)));
            must(m.close());
            ASSERT_EQ(counted(), (opening + 1) * 499);
            ASSERT_TRUE(is_sound());
        }
        must(must(eager_map::open(file, eager_options_of(o))).close());
        EXPECT_EQ(counted(), std::nullopt);
        const int ended = test::in_child([&] {
            map m = must(map::open(file, o));
            EXPECT_EQ(m.stats().records, std::nullopt);
            must(m.put("one more", "v"));
            must(m.sync());
            ::raise(SIGKILL);
            return 0;
        });
        ASSERT_EQ(ended, 1000 + SIGKILL);
        EXPECT_EQ(counted(), std::nullopt);
        map m = must(map::open(file, o));
        EXPECT_EQ(m.stats().records, std::nullopt);
        must(m.close());
        EXPECT_EQ(counted(), 3 * 499 + 1) << "who closes counts";
    }
}

// The audit compares the records that it finds with the stored count.
TEST_P(eager_byte_maps, wrong_record_count_is_reported_by_an_audit) {
    {
        map m = open();
        must(m.put("k", "v"));
        must(m.sync());
        must(m.close());
    }
    {
        auto engine = must(detail::open_engine<std::string_view, std::string>(file, {}));
        static_cast<void>(engine->remove("k"));
        must(engine->space().close(1));
    }
    EXPECT_FALSE(eager_inspection::open(file).audit().ok());
}

TEST_P(eager_byte_maps, walk_visits_each_record_once) {
    map m = open();
    std::set<std::string> wanted{""};
    must(m.put("", "the empty key"));
    for (int i = 0; i < 3'000; ++i) {
        wanted.insert(std::to_string(i));
        must(m.put(std::to_string(i), "v"));
    }
    for (const std::size_t about : {1U, 7U, 100'000U}) {
        std::set<std::string> met;
        std::string cursor;
        do {
            must(m.walk(cursor, about, [&](std::string_view key, std::string_view) {
                EXPECT_TRUE(met.emplace(key).second) << key;
                return true;
            }));
        } while (!cursor.empty());
        EXPECT_EQ(met, wanted);
    }
}

TEST_P(eager_byte_maps, ordered_indexes_scan_in_both_directions) {
    map m = open();
    std::map<std::string, std::string> model;
    for (int i = 0; i < 500; ++i) {
        const std::string k = std::to_string(i * 7919 % 1000);
        model[k] = std::string(static_cast<std::size_t>(i % 40 == 0 ? 70'000 : i), 'v');
        must(m.put(k, model[k]));
    }
    std::vector<std::string> met;
    const auto visit = [&](std::string_view key, std::string_view value) {
        EXPECT_EQ(value, model.at(std::string(key)));
        met.emplace_back(key);
        return met.size() < 300;
    };
    const auto up = m.scan("3", visit, true);
    if (!is_ordered()) {
        ASSERT_FALSE(up);
        EXPECT_EQ(up.error().code, errc::usage);
        return;
    }
    std::vector<std::string> wanted;
    for (auto i = model.upper_bound("3"); i != model.end() && wanted.size() < 300; ++i) {
        wanted.push_back(i->first);
    }
    EXPECT_EQ(met, wanted);
    EXPECT_EQ(*up, wanted.size());
    met.clear();
    wanted.clear();
    EXPECT_EQ(must(m.scan_backward(std::nullopt, visit)), 300U);
    for (auto i = model.rbegin(); wanted.size() < 300; ++i) wanted.push_back(i->first);
    EXPECT_EQ(met, wanted);
}

TEST_P(eager_byte_maps, a_child_of_fork_changes_nothing_of_its_parents_map) {
    map m = open();
    must(m.put("k", "parent"));
    EXPECT_DEATH((void)m.put("k", "child"), "holdfast: fatal: .*child of fork");
    EXPECT_EQ(test::in_child([&] { return m.close() ? 1 : 0; }), 0);
    std::string value;
    EXPECT_TRUE(must(m.get("k", value)));
    EXPECT_EQ(value, "parent");
    must(m.close());
}

// The visitor may stop at the first record, so the following long ones are not copied before it.
TEST_P(eager_byte_maps, scans_copy_no_long_value_ahead) {
    map m = open();
    if (!is_ordered()) return;
    constexpr std::size_t size = std::size_t{900} << 10;
    for (char c = 'a'; c < 'e'; ++c) must(m.put(std::string(1, c), std::string(size, c)));
    std::string met;
    const auto visit = [&](std::string_view key, std::string_view value) {
        EXPECT_EQ(value.size(), size);
        met += key;
        if (key == "b") must(m.remove("c"));
        return true;
    };
    EXPECT_EQ(must(m.scan("", visit)), 3U) << "c had not been copied before b was visited";
    EXPECT_EQ(met, "abd");
    met.clear();
    EXPECT_EQ(must(m.scan_backward(std::nullopt, visit)), 3U);
    EXPECT_EQ(met, "dba");
}

// Each value is longer than what a scan copies at once; small ones are between them.
TEST_P(eager_byte_maps, values_of_more_than_a_mebibyte_are_read_and_scanned_like_others) {
    map m = open();
    std::map<std::string, std::string> model;
    for (const std::size_t more : {0U, 1U, 4097U, 700'000U}) {
        for (const char c : {'a', 'z'}) {
            const std::string key = c + std::to_string(more);
            model[key] = std::string((std::size_t{1} << 20) + more, c) + key;
            model[key + "-"] = "small";
        }
    }
    std::vector<std::string_view> keys;
    for (const auto& [key, value] : model) {
        must(m.put(key, value));
        keys.push_back(key);
    }
    std::string value;
    for (const auto& [key, wanted] : model) {
        EXPECT_TRUE(must(m.get(key, value)));
        EXPECT_TRUE(value == wanted) << key;
    }
    std::size_t found = 0;
    EXPECT_EQ(must(m.get_many(keys,
                              [&](std::size_t n, std::string_view v) {
                                  EXPECT_TRUE(v == model[std::string(keys[n])]) << keys[n];
                                  ++found;
                              })),
              keys.size());
    EXPECT_EQ(found, keys.size());
    std::map<std::string, std::string> met;
    std::string cursor;
    do {
        must(m.walk(cursor, 2, [&](std::string_view k, std::string_view v) {
            EXPECT_TRUE(met.emplace(k, v).second) << k;
            return true;
        }));
    } while (!cursor.empty());
    EXPECT_TRUE(met == model);
    if (!is_ordered()) return;
    for (const bool backwards : {false, true}) {
        auto order = keys;
        if (backwards) std::reverse(order.begin(), order.end());
        for (std::size_t first = 0; first < order.size(); first += 3) {
            for (const bool exclusive : {false, true}) {
                std::size_t next = first + (exclusive ? 1 : 0);
                const auto visit = [&](std::string_view k, std::string_view v) {
                    EXPECT_TRUE(next < order.size() && k == order[next]) << k;
                    EXPECT_TRUE(v == model[std::string(k)]) << k;
                    ++next;
                    return true;
                };
                const auto visited = backwards ? m.scan_backward(order[first], visit, exclusive)
                                               : m.scan(order[first], visit, exclusive);
                EXPECT_EQ(must(tl::expected<std::size_t, error>(visited)),
                          order.size() - first - (exclusive ? 1 : 0));
                EXPECT_EQ(next, order.size());
            }
        }
    }
}

TEST_P(eager_byte_maps, get_many_finds_the_existing_keys) {
    map m = open();
    must(m.put("a", "1"));
    must(m.put("c", "3"));
    const std::string_view keys[] = {"a", "b", "c"};
    std::map<std::size_t, std::string> found;
    EXPECT_EQ(must(m.get_many(keys, [&](std::size_t n, std::string_view v) { found[n] = v; })), 2U);
    EXPECT_EQ(found, (std::map<std::size_t, std::string>{{0, "1"}, {2, "3"}}));
}

TEST_P(eager_byte_maps, full_region_keeps_working) {
    map m = open(u64{4} << 20);
    std::optional<error> refused;
    int n = 0;
    for (; !refused; ++n) {
        auto done = m.put(std::to_string(n), std::string(900, 'v'));
        if (!done) refused = done.error();
    }
    EXPECT_EQ(refused->code, errc::no_space);
    for (int i = 0; i < n / 2; ++i) ASSERT_TRUE(must(m.remove(std::to_string(i))).changed);
    for (int i = 0; i < n / 4; ++i) must(m.put(std::to_string(i), std::string(900, 'w')));
    // in a Bw-tree a new record takes a block that is freed later
    if (GetParam() == "bwtree") return;
    // The memory of a removed record can be reused at once, even in a full region.
    for (int i = n; m.put(std::to_string(i), std::string(900, 'x')); ++i) {
    }
    for (int i = n / 2; i < n / 2 + 40; ++i) {
        ASSERT_TRUE(must(m.remove(std::to_string(i))).changed);
        if (i % 2 == 0) must(m.put(std::to_string(i), std::string(900, 'y')));
    }
}

TEST_P(eager_byte_maps, inspection_changes_nothing) {
    {
        map m = open();
        must(m.put("k", "v"));
        must(m.close());
        EXPECT_EQ(m.put("k", "w").error().code, errc::usage);
    }
    map_options o;
    o.region.mode = open_mode::inspect;
    map m = must(map::open(file, o));
    std::string value;
    EXPECT_TRUE(must(m.get("k", value)));
    EXPECT_EQ(m.put("k", "w").error().code, errc::denied);
    EXPECT_EQ(m.remove("k").error().code, errc::denied);
}

TEST_P(eager_byte_maps, opening_as_another_kind_is_refused) {
    {
        map m = open();
    }
    const std::string other = GetParam() == "art" ? "hot" : "art";
    EXPECT_EQ(try_open(other).error().code, errc::incompatible);
    EXPECT_EQ(try_open("b-tree").error().code, errc::usage);
    map_options o;
    o.kind = discipline::incll;
    const auto as_epochs = map::open(file, o);
    ASSERT_FALSE(as_epochs);
    EXPECT_EQ(as_epochs.error().code, errc::incompatible);
    o.index = GetParam();
    EXPECT_EQ(map::open(dir / "new.hf", o).error().code, errc::usage);
    o.kind.reset();
    o.small_values_in_leaves = true;
    EXPECT_EQ(map::open(dir / "new.hf", o).error().code, errc::usage);
}

TEST(eager_side_opening, region_of_another_discipline_is_refused) {
    const test::scratch_directory dir;
    {
        map m = must(map::open(dir / "m.hf"));
    }
    map_options o;
    o.kind = discipline::eager;
    const auto opened = map::open(dir / "m.hf", o);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, errc::incompatible);
}

INSTANTIATE_TEST_SUITE_P(, eager_byte_maps, ::testing::ValuesIn(eager_index_names()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace hf
