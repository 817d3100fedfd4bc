// The public map with inlined values: all operations, values that change between inlined and not,
// open() without the option, and damage.
#include <holdfast/map.hpp>

#include "base/random.hpp"
#include "checkpoint_map/engine.hpp"
#include "index/masstree/inlined/log.hpp"
#include "map/inspect.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hf {
namespace {

using test::must;

class map_inlined : public test::on_tmpfs {
   protected:
    [[nodiscard]] map open(bool small = true) const {
        map_options o;
        o.region.initial_size = u64{16} << 20;
        o.epoch = std::chrono::microseconds(0);
        o.small_values_in_leaves = small;
        return must(map::open(file, o));
    }
    static std::optional<std::string> get(const map& m, std::string_view key) {
        std::string out;
        return must(m.get(key, out)) ? std::optional(out) : std::nullopt;
    }
};

TEST_F(map_inlined, operations_match_a_map) {
    std::map<std::string, std::string> model;
    xoshiro256ss r{3};
    for (int round = 0; round < 4; ++round) {
        map m = open(round == 0);  // the region records the option
        EXPECT_TRUE(map_inspection::machine_of(m).tree().is_inlined());
        for (int i = 0; i < 4000; ++i) {
            std::string key(r.below(10), 'a');
            for (char& c : key) c = static_cast<char>('a' + r.below(4));
            std::string value(r.below(12), static_cast<char>('0' + r.below(10)));
            const auto had = model.find(key);
            const auto old =
                had == model.end() ? std::nullopt : std::optional<std::string>(had->second);
            switch (r.below(5)) {
                case 0:
                    EXPECT_EQ(must(m.remove(key)).existed, old.has_value());
                    model.erase(key);
                    break;
                case 1: {
                    const bool put = r.below(2) == 0;
                    must(m.put_if(key, value, [&](std::optional<std::string_view> seen) {
                        EXPECT_EQ(seen, old);
                        return put;
                    }));
                    if (put) model[key] = value;
                    break;
                }
                case 2:
                    must(m.modify(key, [&](std::optional<std::string_view> seen, std::string& now) {
                        EXPECT_EQ(seen, old);
                        now = std::string(seen.value_or("")) + value;
                        return map::edit::replace;
                    }));
                    model[key] = old.value_or("") + value;
                    break;
                case 3:
                    must(m.remove_if(key, [&](std::string_view seen) { return seen.size() > 4; }));
                    if (old && old->size() > 4) model.erase(key);
                    break;
                default:
                    EXPECT_EQ(must(m.put(key, value)).existed, old.has_value());
                    model[key] = value;
                    break;
            }
            if (i % 500 == 0) must(m.sync());
        }
        std::vector<std::string_view> keys;
        for (const auto& [key, value] : model) {
            ASSERT_EQ(get(m, key), value);
            keys.push_back(key);
        }
        std::size_t found = 0;
        must(m.get_many(keys, [&](std::size_t i, std::string_view value) {
            EXPECT_EQ(value, model[std::string(keys[i])]);
            ++found;
        }));
        EXPECT_EQ(found, model.size());
        auto expected = model.begin();
        must(m.scan("", [&](std::string_view k, std::string_view v) {
            EXPECT_TRUE(expected != model.end() && k == expected->first && v == expected->second);
            ++expected;
            return true;
        }));
        EXPECT_TRUE(expected == model.end());
        auto last = model.rbegin();
        must(m.scan_backward(std::nullopt, [&](std::string_view k, std::string_view v) {
            EXPECT_TRUE(last != model.rend() && k == last->first && v == last->second);
            ++last;
            return true;
        }));
        EXPECT_EQ(m.stats().records, model.size());
        must(m.close());
    }
}

/// Whether a put into an existing leaf allocates memory.
TEST_F(map_inlined, small_values_of_short_keys_need_no_record) {
    for (const bool small : {true, false}) {
        std::filesystem::remove(file);
        map m = open(small);
        must(m.put("another", ""));
        for (std::size_t key = 0; key <= 10; ++key) {
            for (std::size_t value = 0; value <= 10; ++value) {
                const u64 before = m.stats().allocated_bytes;
                const std::string name(key, 'k');
                must(m.put(name, std::string(value, 'v')));
                const bool needs_record = !small || key > 8 || value > 8;
                EXPECT_EQ(m.stats().allocated_bytes > before, needs_record) << key << ' ' << value;
                EXPECT_EQ(get(m, name), std::string(value, 'v'));
                must(m.remove(name));
                must(m.sync());
            }
        }
    }
}

TEST_F(map_inlined, flipped_bit_in_a_value_is_reported_as_corrupt) {
    map m = open();
    for (int i = 0; i < 8; ++i)
        must(m.put("key " + std::to_string(i), "value  " + std::to_string(i)));
    must(m.sync());
    auto& tree = map_inspection::machine_of(m).tree();
    auto& n = *object_at<masstree_detail::inlined_leaf>(tree.base(), tree.root());
    const masstree_detail::leaf_permutation p(masstree_detail::load(n.order));
    for (unsigned r = 0; r < p.size(); ++r) {
        const unsigned s = p.slot(r);
        const std::string key = "key " + std::to_string(r);
        for (unsigned bit = 0; bit < 64; ++bit) {
            const u64 word = masstree_detail::load(n.value(s));
            masstree_detail::store(n.value(s), word ^ u64{1} << bit);
            std::string out = "untouched";
            const auto got = m.get(key, out);
            ASSERT_FALSE(got) << bit;
            EXPECT_EQ(got.error().code, errc::corrupt);
            const auto seen = m.scan(key, [](std::string_view, std::string_view) { return false; });
            ASSERT_FALSE(seen) << bit;
            const auto changed = m.remove_if(key, [](std::string_view) { return true; });
            ASSERT_FALSE(changed) << bit;
            masstree_detail::store(n.value(s), word);
            ASSERT_EQ(get(m, key), "value  " + std::to_string(r));
        }
    }
    // A put does not read the old value.
    masstree_detail::store(n.value(0), 77);
    must(m.put("key 0", "whole"));
    EXPECT_EQ(get(m, "key 0"), "whole");
}

}  // namespace
}  // namespace hf
