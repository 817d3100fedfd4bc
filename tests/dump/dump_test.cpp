// Stores that were dumped and loaded are what they were.
#include "dump/dump.hpp"

#include <holdfast/store.hpp>

#include "must.hpp"
#include "scratch.hpp"
#include "store/store_record.hpp"
#include "store/store_unique.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstring>
#include <map>
#include <set>

namespace hf::test {
namespace {

constexpr u64 now = 1'700'000'000;

struct content {
    u32 flags;
    u64 expires;
    u64 cas;
    std::string data;
    friend bool operator==(const content&, const content&) = default;
};
using contents = std::map<std::string, content>;

class dump : public on_tmpfs {
   protected:
    [[nodiscard]] static store open(const std::filesystem::path& path) {
        store_options o;
        o.map.region.initial_size = u64{16} << 20;
        o.clock = [] { return now; };
        return must(store::open(path, o));
    }
    /// Records of all kinds and sizes; a few that must not be in a dump.
    void fill() const {
        store s = open(file);
        for (unsigned i = 0; i < 3000; ++i) {
            const std::string key = "key " + std::to_string(i);
            must(s.set(key, std::string(i % 200, static_cast<char>(i)),
                       {i, i % 3 == 0 ? now + i + 1 : 0}));
        }
        must(s.set("large", std::string(3'000'000, '\x7f')));
        must(s.set("gone", "x", {0, now - 1}));
        must(s.set(std::string("\0\t\n", 3), "odd"));
        must(s.close());
    }
    [[nodiscard]] std::string dumped(const std::filesystem::path& path, u64 at = now) const {
        std::string text;
        report = must(dump_store(path, at, [&text](std::string_view part) {
            text += part;
            return result<void>{};
        }));
        return text;
    }
    [[nodiscard]] static contents contents_of(const std::filesystem::path& path) {
        contents all;
        store s = open(path);
        must(s.scan({}, [&](std::string_view key, const store::view& r) {
            all[std::string(key)] = {r.about.flags, r.about.expires, r.cas, std::string(r.data)};
            return true;
        }));
        return all;
    }
    static detail::dump_reader reader_of(const std::string& text) {
        auto at = std::make_shared<std::size_t>(0);
        return {[&text, at](std::span<char> into) -> result<std::size_t> {
                    const std::size_t n = std::min(into.size(), text.size() - *at);
                    std::memcpy(into.data(), text.data() + *at, n);
                    *at += n;
                    return n;
                },
                "test.dump"};
    }
    result<detail::dump_totals> load(const std::string& text, const load_options& how = {}) const {
        auto reader = reader_of(text);
        return load_new(other, reader, how);
    }

    std::filesystem::path other = dir / "other.hf";
    mutable dump_report report;
};

TEST_F(dump, a_round_trip_loses_nothing) {
    fill();
    const std::string text = dumped(file);
    EXPECT_EQ(report.text.records, 3002U);
    EXPECT_EQ(report.absent, 1U);
    must(load(text));
    EXPECT_EQ(dumped(other), text);
    EXPECT_EQ(contents_of(other), contents_of(file));
    EXPECT_EQ(dir.names(), (std::vector<std::string>{"other.hf", "store.hf"}));
}

TEST_F(dump, a_loaded_store_gives_out_no_number_that_the_dump_holds) {
    for (int session = 0; session < 4; ++session) {  // so that numbers are high
        store s = open(file);
        must(s.set("k" + std::to_string(session), "x"));
        must(s.close());
    }
    must(load(dumped(file)));
    const contents loaded = contents_of(other);
    EXPECT_EQ(loaded, contents_of(file));
    store s = open(other);
    const u64 fresh = must(s.set("new", "x")).number;
    for (const auto& [key, r] : loaded) EXPECT_GT(fresh, r.cas) << key;
}

TEST_F(dump, numbers_that_are_too_high_are_refused_or_replaced) {
    std::string text;
    detail::dump_writer w([&text](std::string_view part) {
        text += part;
        return result<void>{};
    });
    must(w.begin(0));
    must(w.add({true, 1, 2, ~u64{0}, "k", "x"}));
    must(w.end());
    const auto refused = load(text);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::incompatible);
    EXPECT_TRUE(dir.names().empty());
    must(load(text, {.new_uniques = true}));
    store s = open(other);
    EXPECT_GT(must(s.set("l", "x")).number, 0U);
}

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

TEST_F(dump, a_damaged_dump_leaves_nothing_behind) {
    fill();
    std::string text = dumped(file);
    text[text.size() / 2] ^= 1;
    const auto refused = load(text);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::corrupt);
    EXPECT_EQ(dir.names(), std::vector<std::string>{"store.hf"});
    text.resize(text.size() / 3);
    EXPECT_FALSE(load(text));
    EXPECT_EQ(dir.names(), std::vector<std::string>{"store.hf"});
}

TEST_F(dump, what_was_flushed_is_not_in_it) {
    fill();
    {
        store s = open(file);
        must(s.flush_all());
        must(s.set("after", "x"));
        must(s.close());
    }
    (void)dumped(file);
    EXPECT_EQ(report.text.records, 1U);
}

TEST_F(dump, a_flush_that_is_to_come_comes_in_the_loaded_store_too) {
    {
        store s = open(file);
        must(s.set("k", "x"));
        must(s.flush_all(now + 10));
        must(s.close());
    }
    const std::string text = dumped(file);
    EXPECT_EQ(report.text.records, 1U);
    must(load(text));
    store_options later;
    later.clock = [] { return now + 10; };
    store s = must(store::open(other, later));
    store::record r;
    EXPECT_FALSE(must(s.get("k", r)));
    must(s.close());
    (void)dumped(file, now + 10);
    EXPECT_EQ(report.text.records, 0U) << "its time has come, though nobody has opened it";
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

/// The store's own record and some others, as somebody else left them.
void put_all(const std::filesystem::path& path, const detail::master_record& master,
             const std::vector<u64>& uniques) {
    map m = must(map::open(path));
    std::string bytes(detail::master_record_bytes, '\0');
    detail::encode(master, bytes.data());
    must(m.put("", bytes));
    for (const u64 unique : uniques) {
        bytes.assign(detail::record_header_bytes, '\0');
        detail::encode({0, 0, unique, 0}, bytes.data());
        must(m.put(std::to_string(unique), bytes));
    }
    must(m.close());
}

TEST_F(dump, a_flush_counts_up_to_its_mark_and_from_its_second_on) {
    put_all(file, {100, now + 1, 0}, {99, 100, 101});
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
    std::string record(detail::record_header_bytes, '\0');
    detail::encode({1, 2, 3, 0}, record.data());
    for (const std::string& bytes : {record, std::string(), std::string(40, 'x')}) {
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

TEST_F(dump, values_of_a_plain_map_are_carried) {
    const std::map<std::string, std::string> all{
        {"", "of the empty key"}, {"a", ""}, {"b", "\xd5"}};
    {
        map m = must(map::open(file));
        for (const auto& [key, value] : all) must(m.put(key, value));
        must(m.close());
    }
    const std::string text = dumped(file);
    EXPECT_EQ(report.text.values, 3U);
    must(load(text));
    map m = must(map::open(other));
    std::map<std::string, std::string> found;
    must(m.scan({}, [&](std::string_view key, std::string_view value) {
        found.emplace(key, value);
        return true;
    }));
    EXPECT_EQ(found, all);
}

TEST_F(dump, of_a_crashed_region_is_what_a_recovery_would_find_and_changes_nothing) {
    for (const auto kind : {std::optional<medium_kind>(), std::optional(medium_kind::file)}) {
        std::filesystem::remove(file);
        const int ended = in_child([&]() -> int {
            store_options o;
            o.map.region.medium = kind;
            o.map.region.initial_size = u64{16} << 20;
            store s = must(store::open(file, o));
            for (unsigned i = 0; i < 1000; ++i) must(s.set("k" + std::to_string(i), "x"));
            must(s.sync());
            ::_exit(0);
        });
        ASSERT_EQ(ended, 0);
        const auto before = fingerprint_of(file);
        (void)dumped(file);
        EXPECT_EQ(report.text.records, 1000U) << (kind ? "file" : "auto");
        EXPECT_EQ(fingerprint_of(file), before);
        std::filesystem::remove(file.string() + ".journal");
    }
}

TEST_F(dump, of_a_region_in_use_is_refused_and_told_of_copy) {
    fill();
    const store s = open(file);
    const auto refused = dump_store(file, now, [](std::string_view) { return result<void>{}; });
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::busy);
    EXPECT_NE(refused.error().next.find("holdfast copy"), std::string::npos);
}

TEST_F(dump, into_a_store_that_is_there_replaces_and_adds) {
    fill();
    const std::string text = dumped(file);
    {
        store s = open(other);
        must(s.set("key 1", "old"));
        must(s.set("mine", "kept"));
        must(s.close());
    }
    auto reader = reader_of(text);
    must(load_into(other, reader));
    contents expected = contents_of(file);
    contents found = contents_of(other);
    EXPECT_EQ(found.at("mine").data, "kept");
    found.erase("mine");
    for (auto* all : {&expected, &found}) {
        for (auto& [key, r] : *all) r.cas = 0;
    }
    EXPECT_EQ(found, expected);
}

TEST_F(dump, a_name_that_is_taken_is_not_overwritten) {
    fill();
    const std::string text = dumped(file);
    {
        const store s = open(other);
    }
    const auto before = fingerprint_of(other);
    EXPECT_EQ(load(text).error().code, errc::usage);
    EXPECT_EQ(fingerprint_of(other), before);
    must(load(text, {.replace = true}));
    EXPECT_EQ(contents_of(other), contents_of(file));
}

TEST_F(dump, what_a_killed_load_left_is_removed_by_the_next) {
    fill();
    const std::string text = dumped(file);
    const int ended = in_child([&]() -> int {
        std::size_t reads = 0;
        detail::dump_reader dying(
            [&](std::span<char> into) -> result<std::size_t> {
                if (++reads == 3) ::raise(SIGKILL);
                const std::size_t n = std::min<std::size_t>(into.size(), 1000);
                std::memcpy(into.data(), text.data() + (reads - 1) * 1000, n);
                return n;
            },
            "dying");
        (void)load_new(other, dying);
        return 0;
    });
    ASSERT_EQ(ended, 1000 + SIGKILL);
    EXPECT_FALSE(std::filesystem::exists(other));
    must(load(text));
    EXPECT_EQ(dir.names(), (std::vector<std::string>{"other.hf", "store.hf"}));
}

}  // namespace
}  // namespace hf::test
