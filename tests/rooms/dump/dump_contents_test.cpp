// Records that a dump leaves out, the store's own record, and the numbers that a load gives out.
#include "dump/dumped.hpp"
#include "store/store_record.hpp"
#include "store/store_unique.hpp"

#include <map>
#include <optional>
#include <set>

namespace hf::test {
namespace {

std::string dump_with(const std::vector<std::pair<std::string, u64>>& uniques, u64 flush_at = 0) {
    std::string text;
    detail::dump_writer w([&text](std::string_view part) {
        text += part;
        return result<void>{};
    });
    must(w.begin(flush_at));
    for (const auto& [key, unique] : uniques) must(w.add({true, 7, 0, unique, key, "data"}));
    must(w.end());
    return text;
}

TEST_F(dump, a_store_must_have_half_of_all_numbers_left) {
    constexpr u64 block = u64{1} << detail::unique_numbers::block_bits;
    constexpr u64 bound = detail::unique_numbers::block_count / 2 * block;
    EXPECT_EQ(load(dump_with({{"a", 1}, {"b", bound}})).error().code, errc::incompatible);
    for (const u64 unique : {u64{1}, block - 1, block, 2 * block - 1, 2 * block, 3 * block,
                             100 * block - 1, bound - 1}) {
        std::filesystem::remove(other);
        must(load(dump_with({{"a", unique}, {"b", unique == 1 ? 2 : 1}})));
        EXPECT_EQ(contents_of(other).at("a"), (content{7, 0, unique, "data"}));
        std::filesystem::remove(other);
        must(load(dump_with({{"a", unique}, {"b", unique == 1 ? 2 : 1}})));
        store s = open(other);  // the first session has all of its numbers above
        EXPECT_GT(must(s.set("c", "x")).number, unique);
    }
}

TEST_F(dump, new_numbers_are_new_and_differ) {
    constexpr u64 block = u64{1} << detail::unique_numbers::block_bits;
    std::vector<std::pair<std::string, u64>> all;
    for (unsigned i = 0; i < 100; ++i) all.emplace_back(std::to_string(100 + i), ~u64{0} - i % 2);
    must(load(dump_with(all, now + 10), {.new_uniques = true}));
    std::set<u64> seen;
    for (const auto& [key, r] : contents_of(other)) {
        EXPECT_TRUE(seen.insert(r.cas).second);
        EXPECT_LT(r.cas, 100 * block);
        EXPECT_EQ(r.data, "data");
        EXPECT_EQ(r.flags, 7U);
    }
    EXPECT_EQ(seen.size(), 100U);
    EXPECT_GT(must(open(other).set("c", "x")).number, *seen.rbegin());
    const auto text = dumped(other);
    EXPECT_NE(text.find("flush\t" + std::to_string(now + 10) + "\n"), text.npos);
}

TEST_F(dump, into_a_store_that_is_there_goes_no_plain_value_and_no_region_is_made) {
    auto records = dump_with({{"a", 1}, {"b", 2}});
    auto reader = reader_of(records);
    EXPECT_EQ(load_into(other, reader).error().code, errc::not_found);
    EXPECT_TRUE(dir.names().empty());
    {
        map m = must(map::open(file));
        must(m.put("k", "no record"));
        must(m.close());
    }
    const std::string values = dumped(file);
    {
        store s = open(other);
        must(s.set("mine", "kept"));
        must(s.close());
    }
    auto plain = reader_of(values);
    const auto refused = load_into(other, plain);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::incompatible);
    auto again = reader_of(records);
    const u64 before = contents_of(other).at("mine").cas;
    const auto totals = must(load_into(other, again));
    EXPECT_EQ(totals.records, 2U);
    EXPECT_EQ(totals.bytes, records.size());
    const auto found = contents_of(other);
    EXPECT_EQ(found.size(), 3U);
    EXPECT_EQ(found.at("a").flags, 7U);
    EXPECT_GT(found.at("a").cas, before) << "a number of its own";
    EXPECT_GT(found.at("b").cas, found.at("a").cas);
}

TEST_F(dump, what_is_absent_at_that_second_is_left_out_and_counted) {
    {
        store s = open(file);
        for (const u64 expires : {u64{0}, u64{1}, now - 1, now, now + 1, now + 2}) {
            must(s.set("expires " + std::to_string(expires), "x", {0, expires}));
        }
        must(s.close());
    }
    for (const u64 at : {now - 1, now, now + 1, now + 2}) {
        const std::string text = dumped(file, at);
        u64 there = 1;
        for (const u64 expires : {u64{1}, now - 1, now, now + 1, now + 2}) {
            const bool is_there =
                text.find("expires " + std::to_string(expires) + "\t") != text.npos;
            EXPECT_EQ(is_there, expires > at) << expires << " at " << at;
            there += is_there ? 1 : 0;
        }
        EXPECT_EQ(report.text.records, there);
        EXPECT_EQ(report.absent, 6 - there);
        EXPECT_EQ(report.text.bytes, text.size());
        EXPECT_EQ(text.find("flush"), text.npos);
    }
}

/// The store's own record and some others, as another process left them.
void put_all(const std::filesystem::path& path, const detail::master_record& master,
             const std::vector<u64>& uniques) {
    map m = must(map::open(path));
    std::string bytes(detail::master_record_bytes, '\0');
    detail::encode(master, bytes.data());
    must(m.put("", bytes));
    for (const u64 unique : uniques) {
        must(m.put(std::to_string(unique), detail::encode({0, 0, unique}).view()));
    }
    must(m.close());
}

TEST_F(dump, a_flush_counts_up_to_its_mark_and_from_its_second_on) {
    put_all(file, {100, now + 1, 0, true}, {99, 100, 101});
    std::string text = dumped(file, now);
    EXPECT_NE(text.find("flush\t" + std::to_string(now + 1) + "\n"), text.npos);
    EXPECT_NE(text.find("\t101\t101\t"), text.npos);
    EXPECT_EQ(report.text.records, 1U);
    EXPECT_EQ(report.absent, 2U);
    EXPECT_EQ(report.text.values, 0U) << "the store's own record is none of the user's";
    for (const u64 later : {now + 1, now + 2}) {
        text = dumped(file, later);
        EXPECT_EQ(text.find("flush"), text.npos) << "it has happened";
        EXPECT_EQ(report.text.records, 0U);
        EXPECT_EQ(report.absent, 3U);
    }
}

TEST_F(dump, what_lies_under_the_empty_key_and_is_not_the_stores_own_is_a_value) {
    for (const std::string& bytes :
         {std::string(detail::encode({1, 2, 3}).view()), detail::encode_version_1({1, 2, 3}, ""),
          std::string(), std::string(40, 'x')}) {
        std::filesystem::remove(file);
        std::filesystem::remove(other);
        {
            map m = must(map::open(file));
            must(m.put("", bytes));
            must(m.put("k", "no record"));
            std::string master(detail::master_record_bytes, '\0');
            detail::encode(detail::master_record{}, master.data());
            must(m.put("l", master));  // which means nothing here
            must(m.close());
        }
        const std::string text = dumped(file);
        EXPECT_EQ(report.text.values, 3U);
        EXPECT_EQ(report.text.records, 0U);
        must(load(text));
        const map m = must(map::open(other));
        std::string got;
        ASSERT_TRUE(must(m.get("", got)));
        EXPECT_EQ(got, bytes);
    }
}

TEST_F(dump, a_plain_maps_values_are_values_whatever_they_begin_with) {
    std::map<std::string, std::string> all;
    for (int tag = 0; tag < 256; ++tag) {
        for (const std::size_t size : {1U, 8U, 12U, 40U}) {
            all["k" + std::to_string(tag) + "." + std::to_string(size)] =
                std::string(size, static_cast<char>(tag));
        }
    }
    {
        map m = must(map::open(file));
        for (const auto& [key, value] : all) must(m.put(key, value));
        must(m.close());
    }
    must(load(dumped(file)));
    EXPECT_EQ(report.text.values, all.size());
    const map m = must(map::open(other));
    for (const auto& [key, value] : all) {
        std::string got;
        ASSERT_TRUE(must(m.get(key, got))) << key;
        EXPECT_EQ(got, value) << key;
    }
}

TEST_F(dump, a_load_adds_a_record_of_the_stores_own_only_where_it_says_something) {
    constexpr u64 block = u64{1} << detail::unique_numbers::block_bits;
    const auto under_the_empty_key = [&](const std::string& text) -> std::optional<std::string> {
        std::filesystem::remove(other);
        must(load(text));
        const map m = must(map::open(other));
        std::string got;
        return must(m.get("", got)) ? std::optional(got) : std::nullopt;
    };
    EXPECT_EQ(under_the_empty_key(dump_with({})), std::nullopt);
    const auto plain = under_the_empty_key(dump_with({{"a", 1}}));
    ASSERT_TRUE(plain);
    EXPECT_TRUE(detail::decode_master(*plain)->short_headers);
    EXPECT_EQ(detail::decode_master(*plain)->flush_at, 0U);
    EXPECT_EQ(detail::decode_master(*plain)->spent_blocks, 0U);
    const auto flushed = under_the_empty_key(dump_with({{"a", 1}}, 77));
    ASSERT_TRUE(flushed);
    const auto master = detail::decode_master(*flushed);
    ASSERT_TRUE(master);
    EXPECT_EQ(master->flush_at, 77U);
    EXPECT_EQ(master->flush_mark, 0U);
    EXPECT_EQ(master->spent_blocks, 0U);
    const auto high = under_the_empty_key(dump_with({{"a", 9 * block}, {"b", 1}}));
    ASSERT_TRUE(high);
    EXPECT_GE(detail::decode_master(*high)->spent_blocks, 7U);
    // A value of the user's stays, whatever else would have to be said there.
    std::string text;
    detail::dump_writer w([&text](std::string_view part) {
        text += part;
        return result<void>{};
    });
    must(w.begin(77));
    must(w.add({.is_record = false, .key = "", .data = "mine"}));
    must(w.add({true, 0, 0, 9 * block, "a", "x"}));
    must(w.end());
    EXPECT_EQ(under_the_empty_key(text), "mine");
}

TEST_F(dump, errors_of_what_it_is_written_to_end_it) {
    fill();
    for (unsigned fails = 0; fails < 3; ++fails) {
        unsigned calls = 0;
        const auto refused = dump_store(file, now, [&](std::string_view) -> result<void> {
            EXPECT_LE(calls, fails) << "it went on";
            if (calls++ == fails) return failure({errc::no_space, "write", "there", "full", "x"});
            return {};
        });
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, errc::no_space);
    }
    const auto none = dump_store(other, now, [](std::string_view) { return result<void>{}; });
    EXPECT_EQ(none.error().code, errc::not_found);
    EXPECT_EQ(none.error().next.find("holdfast copy"), std::string::npos);
}

TEST_F(dump, progress_is_told_for_every_record_and_never_falls) {
    fill();
    u64 calls = 0;
    u64 last = 0;
    std::string text;
    must(dump_store(
        file, now,
        [&](std::string_view part) {
            text += part;
            return result<void>{};
        },
        [&](u64 done, u64 total) {
            ++calls;
            EXPECT_GT(done, last);
            EXPECT_GT(total, u64{3'000'000});
            last = done;
        }));
    EXPECT_GE(calls, 3003U);
    EXPECT_GT(last, u64{3'000'000});
    calls = last = 0;
    const transfer_progress of_text = [&](u64 done, u64 total) {
        ++calls;
        EXPECT_GT(done, last);
        EXPECT_EQ(total, 0U);
        last = done;
    };
    auto reader = reader_of(text);
    EXPECT_EQ(must(verify_dump(reader, of_text)).records, 3002U);
    EXPECT_EQ(calls, 3002U);
    EXPECT_LT(last, text.size());
    calls = last = 0;
    auto again = reader_of(text);
    must(load_new(other, again, {}, of_text));
    EXPECT_EQ(calls, 3002U);
}

}  // namespace
}  // namespace hf::test
