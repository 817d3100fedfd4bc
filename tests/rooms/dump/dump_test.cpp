// Stores that were dumped and loaded are what they were.
#include <holdfast/map.hpp>

#include "dump/dumped.hpp"

#include <unistd.h>

namespace hf::test {
namespace {

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

// An index without order is walked and sorted; of one that is damaged nothing is believed.
TEST_F(dump, is_the_same_from_every_index_and_refused_of_a_damaged_one) {
    fill(300);
    const std::string text = dumped(file);
    for (const std::string index : {"clht", "art", "hot", "bwtree", "masstree"}) {
        SCOPED_TRACE(index);
        must(load(text, {.replace = true, .kind = discipline::eager, .index = index}));
        EXPECT_TRUE(dumped(other) == text);
        EXPECT_EQ(report.text.records, 302U);
        flip_bit(other, 8 * offset_in(other, "key 77"));
        const auto refused =
            dump_store(other, now, [](std::string_view) { return result<void>{}; });
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, errc::corrupt) << refused.error().to_string();
    }
}

TEST_F(dump, that_goes_round_damage_is_the_same_of_a_region_that_has_none) {
    const auto salvaged = [&](const std::filesystem::path& path) {
        std::string text;
        const auto done = must(salvage_store(path, now, [&text](std::string_view part) {
            text += part;
            return result<void>{};
        }));
        EXPECT_TRUE(done.found.ok()) << done.found.to_string();
        EXPECT_EQ(done.ambiguous, 0U);
        EXPECT_EQ(done.dumped.text.records + done.dumped.text.values,
                  report.text.records + report.text.values);
        EXPECT_EQ(done.dumped.text.bytes, text.size());
        EXPECT_EQ(done.dumped.absent, report.absent);
        return text;
    };
    fill(300);
    const std::string text = dumped(file);
    EXPECT_TRUE(salvaged(file) == text);
    map m = must(map::open(other));
    for (const char* key : {"b", "a", "c"}) must(m.put(key, key));
    must(m.close());
    const std::string plain = dumped(other);
    EXPECT_TRUE(salvaged(other) == plain);
    map none = must(map::open(dir / "none.hf"));
    must(none.close());
    const std::string nothing = dumped(dir / "none.hf");
    EXPECT_TRUE(salvaged(dir / "none.hf") == nothing);
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
