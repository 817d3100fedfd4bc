// Compares random operations with a std::map: results, the values passed to conditions, scans, and
// the final contents.
#include <holdfast/map.hpp>

#include "alloc/size_class.hpp"
#include "base/random.hpp"
#include "region/layout.hpp"
#include "support/effort.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

namespace hf {
namespace {

using test::must;
using records = std::vector<std::pair<std::string, std::string>>;

/// The parameter: whether small values are inlined.
class map_model : public test::on_tmpfs, public ::testing::WithParamInterface<bool> {
   protected:
    static map_options options() {
        map_options o;
        o.region.initial_size = u64{64} << 20;
        o.epoch = std::chrono::microseconds(0);  // an epoch ends only when the test ends it
        o.small_values_in_leaves = GetParam();
        return o;
    }
    map m = must(map::open(file, options()));
    std::map<std::string, std::string> model;

    void put(const std::string& key, const std::string& value) {
        must(m.put(key, value));
        model[key] = value;
    }
    void expect(const write_outcome& found, bool changed, bool existed) const {
        EXPECT_EQ(found.changed, changed);
        EXPECT_EQ(found.existed, existed);
        EXPECT_EQ(found.written_in, m.current_epoch());
    }
    [[nodiscard]] records found(std::string_view from, bool exclusive = false,
                                std::size_t most = ~std::size_t{0}) const {
        records all;
        const auto count = must(m.scan(
            from,
            [&](std::string_view k, std::string_view v) {
                all.emplace_back(k, v);
                return all.size() < most;
            },
            exclusive));
        EXPECT_EQ(count, all.size());
        return all;
    }
    [[nodiscard]] records found_backward(std::optional<std::string_view> from,
                                         bool exclusive = false,
                                         std::size_t most = ~std::size_t{0}) const {
        records all;
        const auto count = must(m.scan_backward(
            from,
            [&](std::string_view k, std::string_view v) {
                all.emplace_back(k, v);
                return all.size() < most;
            },
            exclusive));
        EXPECT_EQ(count, all.size());
        return all;
    }
    void expect_scans_from(const std::string& from) const {
        for (const bool exclusive : {false, true}) {
            const auto up = exclusive ? model.upper_bound(from) : model.lower_bound(from);
            EXPECT_TRUE(found(from, exclusive) == records(up, model.end())) << from << exclusive;
            const auto down = exclusive ? model.lower_bound(from) : model.upper_bound(from);
            records expected(model.begin(), down);
            std::reverse(expected.begin(), expected.end());
            EXPECT_TRUE(found_backward(from, exclusive) == expected) << from << exclusive;
        }
    }
};

TEST_P(map_model, results_match_a_map) {
    constexpr u64 seed = 3;
    SCOPED_TRACE("seed " + std::to_string(seed));
    xoshiro256ss random(seed);
    const std::string keys[] = {"",           "a",         "ab",
                                "12345678",   "123456789", "123456780",
                                "12345678ab", "12345679",  std::string(4096, 'k')};
    const std::size_t sizes[] = {0, 1, 8, 9, 100, 5000, 70'000};
    for (int step = 0; step < test::effort(2000) && !HasFailure(); ++step) {
        const std::string& key = keys[random.below(std::size(keys))];
        const std::string value(sizes[random.below(std::size(sizes))],
                                static_cast<char>('a' + random.below(26)));
        const auto old = model.find(key);
        const bool existed = old != model.end();
        const auto shown = [&](std::optional<std::string_view> view) {
            EXPECT_EQ(view.has_value(), existed);
            EXPECT_TRUE(!view || *view == old->second);
        };
        const bool yes = random.below(2) == 0;
        const u64 what = random.below(8);
        SCOPED_TRACE(std::to_string(step) + ": " + std::to_string(what));
        if (what == 0) {
            expect(must(m.put(key, value)), true, existed);
            model[key] = value;
        } else if (what == 1) {
            const auto done = must(m.put_if(key, value, [&](auto view) {
                shown(view);
                return yes;
            }));
            expect(done, yes, existed);
            if (yes) model[key] = value;
        } else if (what == 2) {
            expect(must(m.remove(key)), existed, existed);
            model.erase(key);
        } else if (what == 3) {
            const auto done = must(m.remove_if(key, [&](std::string_view view) {
                shown(view);
                return yes;
            }));
            expect(done, yes && existed, existed);
            if (yes) model.erase(key);
        } else if (what < 7) {
            const auto edit =
                std::array{map::edit::keep, map::edit::replace, map::edit::remove}[random.below(3)];
            const std::string fresh = value.substr(0, 5000);
            const auto done = must(m.modify(key, [&](auto view, std::string& out) {
                shown(view);
                out = fresh;
                return edit;
            }));
            const bool changed = edit == map::edit::replace || (edit != map::edit::keep && existed);
            expect(done, changed, existed);
            if (edit == map::edit::replace) model[key] = fresh;
            if (edit == map::edit::remove) model.erase(key);
        } else if (random.below(10) == 0) {
            must(m.sync());
        }
        std::string got = "unchanged";
        EXPECT_EQ(must(m.get(key, got)), model.contains(key));
        EXPECT_TRUE(got == (model.contains(key) ? model[key] : "unchanged"));
        if (step % 100 == 0) expect_scans_from(key);
    }
    EXPECT_TRUE(found("") == records(model.begin(), model.end()));
}

TEST_P(map_model, values_around_the_largest_block_size_are_stored) {
    const auto payload = [](std::size_t size) { return size + 16; };
    must(m.sync());
    for (std::size_t size = largest_block - 60; size <= largest_block + 4; size += 4) {
        const std::string value(size, static_cast<char>('a' + size % 26));
        put("k", value);
        must(m.sync());
        std::string got;
        ASSERT_TRUE(must(m.get("k", got)));
        EXPECT_TRUE(got == value) << payload(size);
        EXPECT_TRUE(found("") == records(model.begin(), model.end()));
        EXPECT_TRUE(found_backward(std::nullopt) == records(model.begin(), model.end()));
    }
}

TEST_P(map_model, modify_with_a_too_large_value_changes_nothing) {
    put("k", "v");
    must(m.sync());
    std::size_t largest = 0;
    for (std::size_t size = largest_block - 100; size <= largest_block; ++size) {
        const auto done = m.modify("k", [&](auto, std::string& out) {
            out.assign(size, 'x');
            return map::edit::replace;
        });
        std::string got;
        ASSERT_TRUE(must(m.get("k", got)));
        if (done) {
            EXPECT_TRUE(done->changed);
            EXPECT_EQ(largest + (largest == 0 ? size : 1), size) << "a smaller one was refused";
            largest = size;
            EXPECT_EQ(got.size(), size);
        } else {
            EXPECT_EQ(done.error().code, errc::too_large);
            EXPECT_EQ(got.size(), largest);
        }
    }
    EXPECT_GT(largest, largest_block - 100);
    EXPECT_LT(largest, largest_block);
    put("k", "v");
    must(m.sync());
    const auto used = m.stats().allocated_bytes;
    EXPECT_FALSE(m.modify("k", [&](auto, std::string& out) {
        out.assign(largest + 1, 'x');
        return map::edit::replace;
    }));
    must(m.sync());
    EXPECT_EQ(m.stats().allocated_bytes, used);
}

TEST_P(map_model, longest_key_is_accepted_and_a_longer_one_refused) {
    const auto all = [&](const std::string& key) {
        const auto yes = [](auto) { return true; };
        const auto see = [](auto, auto) { return true; };
        std::string got;
        std::vector<std::optional<errc>> codes;
        const auto note = [&](const auto& done) {
            codes.push_back(done ? std::nullopt : std::optional(done.error().code));
        };
        note(m.put(key, "v"));
        note(m.put_if(key, "v", yes));
        note(m.get(key, got));
        note(m.modify(key, [](auto, auto&) { return map::edit::keep; }));
        note(m.scan(key, see));
        note(m.scan_backward(key, see));
        note(m.remove_if(key, yes));
        note(m.remove(key));
        return codes;
    };
    for (const auto& code : all(std::string(max_key_size, 'k'))) EXPECT_EQ(code, std::nullopt);
    for (const auto& code : all(std::string(max_key_size + 1, 'k'))) {
        EXPECT_EQ(code, errc::too_large);
    }
}

// A scan reads 10 records, then 40, 160, and 256 at a time; large ones one by one.
TEST_P(map_model, scans_of_every_length_visit_each_record_once) {
    const auto key = [](unsigned i) { return std::to_string(10'000 + i); };
    unsigned made = 0;
    for (const unsigned count :
         {0U, 1U, 2U, 9U, 10U, 11U, 49U, 50U, 51U, 209U, 210U, 211U, 465U, 466U, 467U, 600U}) {
        for (; made < count; ++made) {
            put(key(made), made % 100 == 55 ? std::string(70'000, 'l') : key(made));
        }
        EXPECT_TRUE(found("") == records(model.begin(), model.end())) << count;
        EXPECT_TRUE(found_backward(std::nullopt) == records(model.rbegin(), model.rend())) << count;
        for (const unsigned at : {0U, 1U, 251U, 252U, 253U, count - 1, count}) {
            expect_scans_from(key(at));
        }
    }
    for (const std::size_t most :
         {1U, 2U, 9U, 10U, 11U, 45U, 46U, 47U, 50U, 51U, 210U, 211U, 466U, 467U, 599U, 600U}) {
        const auto size = std::min<std::size_t>(most, model.size());
        EXPECT_EQ(found("", false, most).size(), size);
        EXPECT_EQ(found_backward(std::nullopt, false, most).size(), size);
    }
}

// The code has special cases for keys and values of one and two words; a batch may use a part of
// its inline buffer, or all but a few bytes.
TEST_P(map_model, scans_deliver_keys_and_values_around_the_word_size) {
    const auto expect_all = [&] {
        EXPECT_TRUE(found("") == records(model.begin(), model.end()));
        EXPECT_TRUE(found_backward(std::nullopt) == records(model.rbegin(), model.rend()));
        for (const auto& [key, value] : model) must(m.remove(key));
        model.clear();
    };
    const auto filled = [](u64 n, std::size_t size) {
        std::string text = std::to_string(1'000 + n);
        for (char c = 'a'; text.size() < size; ++c) text += c;
        return text.substr(0, size);
    };
    for (const std::size_t key : {7U, 8U, 9U, 16U, 17U}) {
        for (const std::size_t value : {0U, 1U, 7U, 8U, 9U, 15U, 16U, 17U}) {
            SCOPED_TRACE(std::to_string(key) + " and " + std::to_string(value));
            for (u64 n = 0; n < 250; ++n) put(filled(n, key), filled(n * 7, value));
            expect_all();
        }
    }
    xoshiro256ss random(1);
    for (unsigned round = 0; round < 20; ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        for (u64 n = 0; n < 250; ++n) {
            const std::size_t value = random.below(4) != 0 ? 8 : random.below(round + 2);
            put(filled(n, random.below(8) != 0 ? 8 : 9), filled(random(), value));
        }
        expect_all();
    }
}

// Records that a batch has copied are delivered even if they are removed meanwhile; later ones are
// not.
TEST_P(map_model, scan_batches_are_bounded) {
    const auto delivered = [&](std::size_t size, bool forward, std::size_t when) {
        for (unsigned i = 0; i < 600; ++i) {
            must(m.put(std::to_string(10'000 + i), std::string(size, 'v')));
        }
        std::size_t visited = 0;
        const auto remove_all = [&](auto, auto) {
            if (++visited == when) {
                for (unsigned i = 0; i < 600; ++i) must(m.remove(std::to_string(10'000 + i)));
            }
            return true;
        };
        const auto count =
            must(forward ? m.scan("", remove_all) : m.scan_backward(std::nullopt, remove_all));
        must(m.sync());
        return count;
    };
    for (const bool forward : {true, false}) {
        EXPECT_EQ(delivered(1, forward, 1), 10U);
        EXPECT_EQ(delivered(1, forward, 10), 10U);
        EXPECT_EQ(delivered(1, forward, 11), 30U);
        EXPECT_EQ(delivered(1, forward, 31), 70U);
        EXPECT_EQ(delivered(1, forward, 151), 310U);
        EXPECT_EQ(delivered(1, forward, 311), 566U);
        // With its key each record has 16 KiB; sixteen of them fill a batch.
        EXPECT_EQ(delivered((16 << 10) - 5, forward, 11), 10U + 16);
        EXPECT_EQ(delivered((16 << 10) - 6, forward, 11), 10U + 17);
        EXPECT_EQ(delivered(70'000, forward, 1), 1U);
    }
}

class many_gets : public map_model {
   protected:
    using found_values = std::vector<std::pair<std::size_t, std::string>>;

    /// Compares with the model; `meanwhile` is called at each value.
    template <class F>
    void expect_gets(const std::vector<std::string>& keys, F meanwhile) {
        found_values expected;
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if (const auto at = model.find(keys[i]); at != model.end()) {
                expected.emplace_back(i, at->second);
            }
        }
        const std::vector<std::string_view> views(keys.begin(), keys.end());
        m.prefetch(views);
        found_values got;
        const auto count = must(m.get_many(views, [&](std::size_t number, std::string_view value) {
            got.emplace_back(number, value);
            meanwhile();
        }));
        EXPECT_EQ(count, expected.size());
        EXPECT_TRUE(got == expected);
    }
    void expect_gets(const std::vector<std::string>& keys) {
        expect_gets(keys, [] {});
    }
};

TEST_P(many_gets, get_many_matches_single_gets_in_order) {
    constexpr u64 seed = 5;
    SCOPED_TRACE("seed " + std::to_string(seed));
    xoshiro256ss random(seed);
    std::vector<std::string> keys = {"",         "a",         "ab",
                                     "12345678", "123456789", std::string(4096, 'k')};
    for (int i = 0; i < 400; ++i) keys.push_back("common prefix " + std::to_string(i));
    for (int i = 0; i < 3000; ++i) keys.push_back(std::to_string(random()));
    const std::size_t sizes[] = {0, 1, 8, 9, 16, 17, 100, 5000, 70'000, 300'000};
    expect_gets({});
    expect_gets(keys);  // the map is empty
    for (int round = 0; round < test::effort(300) && !HasFailure(); ++round) {
        for (int i = 0; i < 20; ++i) {
            const std::string& key = keys[random.below(keys.size())];
            const std::size_t large = random.below(20) == 0 ? 2 : 0;
            const std::size_t size = sizes[random.below(std::size(sizes) - 2 + large)];
            if (random.below(4) == 0) {
                must(m.remove(key));
                model.erase(key);
            } else {
                put(key, std::string(size, static_cast<char>('a' + random.below(26))));
            }
        }
        if (round % 10 == 0) must(m.sync());
        std::vector<std::string> asked;
        const u64 n = random.below(50);
        for (u64 i = 0; i < n; ++i) asked.push_back(keys[random.below(keys.size())]);
        expect_gets(asked);
    }
    expect_gets(keys);
}

// A large value ends a batch at any position; the following keys are looked up again.
TEST_P(many_gets, get_many_delivers_large_values_among_small_ones) {
    for (const unsigned large : {0U, 1U, 14U, 15U, 16U, 17U, 31U, 32U}) {
        std::vector<std::string> keys;
        for (unsigned i = 0; i < 40; ++i) {
            keys.push_back("k" + std::to_string(i));
            put(keys.back(), std::string(i == large || i == large + 1 ? 100'000 : 20, 'v'));
        }
        expect_gets(keys);
        expect_gets({keys[large]});
        expect_gets({keys[large], keys[large], keys[large]});
    }
}

TEST_P(many_gets, get_many_may_be_called_by_its_visitor) {
    std::vector<std::string> keys;
    for (unsigned i = 0; i < 100; ++i) {
        keys.push_back(std::to_string(i));
        put(keys.back(), std::string(i == 50 ? 100'000 : 10, 'v'));
    }
    int calls = 0;
    expect_gets(keys, [&] {
        std::string got;
        EXPECT_TRUE(must(m.get(keys[50], got)));
        must(m.put("another", "value"));
        if (++calls == 30) {
            must(m.sync());
            for (const auto& key : {keys[0], keys[1]}) must(m.remove(key));
        }
    });
    EXPECT_EQ(calls, 100);
}

TEST_P(many_gets, get_many_refuses_a_too_long_key_before_any_delivery) {
    put("a", "1");
    const std::string longest(max_key_size, 'k');
    const std::string longer(max_key_size + 1, 'k');
    const std::vector<std::string_view> keys = {"a", longest, longer};
    unsigned delivered = 0;
    const auto done = m.get_many(keys, [&](auto, auto) { ++delivered; });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, errc::too_large);
    EXPECT_EQ(delivered, 0U);
    EXPECT_EQ(must(m.get_many(std::span(keys).first(2), [](auto, auto) {})), 1U);
}

TEST_P(map_model, removed_and_refused_values_free_their_space) {
    put("kept", "x");
    must(m.sync());
    must(m.sync());
    const auto used = m.stats().allocated_bytes;
    for (const std::size_t size : {std::size_t{10}, std::size_t{5000}, std::size_t{300'000}}) {
        const std::string value(size, 'v');
        must(m.put_if("k", value, [](auto) { return false; }));
        must(m.put("k", value));
        must(m.put("k", value));
        must(m.put_if("k", value, [](auto) { return false; }));
        must(m.sync());
        EXPECT_GE(m.stats().allocated_bytes, used + size);
        EXPECT_LT(m.stats().allocated_bytes, used + size * 5 / 4 + layout::page_size + 100);
        must(m.remove("k"));
        must(m.sync());
        must(m.sync());
        EXPECT_EQ(m.stats().allocated_bytes, used) << size;
    }
}

constexpr auto name_of_kind = [](const ::testing::TestParamInfo<bool>& of) {
    return of.param ? "small_values_in_leaves" : "records_alone";
};
INSTANTIATE_TEST_SUITE_P(with, map_model, ::testing::Bool(), name_of_kind);
INSTANTIATE_TEST_SUITE_P(with, many_gets, ::testing::Bool(), name_of_kind);

}  // namespace
}  // namespace hf
