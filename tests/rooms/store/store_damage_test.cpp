// A record that cannot be decoded is reported as damage, and can be replaced.
#include "support/temporary_store.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <map>
#include <string>
#include <thread>

namespace hf::test {
namespace {

using outcome = store::outcome;

class store_damage : public ::testing::Test {
   protected:
    temporary_store s;
    store::record found;

    /// Changes the bytes under `key` directly in the map.
    template <class Change>
    void damage(std::string_view key, const Change& change) {
        {
            auto records = s.as_map();
            std::string bytes;
            must(records.get(key, bytes));
            change(bytes);
            must(records.put(key, bytes));
            must(records.close());
        }
        s.open();
    }
    void flip(std::string_view key) {
        damage(key, [](std::string& bytes) { bytes[0] = static_cast<char>(bytes[0] ^ 0x40); });
    }
};

TEST_F(store_damage, is_corrupt_for_whoever_needs_the_contents) {
    must(s->set("k", "1"));
    must(s->set("l", "1"));
    flip("k");
    EXPECT_EQ(s->get("k", found).error().code, errc::corrupt);
    EXPECT_EQ(s->add("k", "x").error().code, errc::corrupt);
    EXPECT_EQ(s->replace("k", "x").error().code, errc::corrupt);
    EXPECT_EQ(s->cas("k", "x", {}, 1).error().code, errc::corrupt);
    EXPECT_EQ(s->append("k", "x").error().code, errc::corrupt);
    EXPECT_EQ(s->incr("k", 1).error().code, errc::corrupt);
    EXPECT_EQ(s->touch("k", 0).error().code, errc::corrupt);
    EXPECT_EQ(s->scan("", [](std::string_view, const store::view&) { return true; }).error().code,
              errc::corrupt);
    EXPECT_EQ(must(s->purge(10)), 0U);
    EXPECT_TRUE(must(s->get("l", found)));
}

TEST_F(store_damage, is_reported_with_the_key_and_what_to_do) {
    must(s->set("k\n", "1"));
    flip("k\n");
    const auto e = s->get("k\n", found).error();
    EXPECT_EQ(e.where, "key \"k?\"");
    EXPECT_FALSE(e.why.empty());
    EXPECT_FALSE(e.next.empty());
}

TEST_F(store_damage, is_reported_with_as_much_of_the_key_as_can_be_read) {
    std::map<std::string, std::string> shown;
    for (const std::size_t size : {1U, 63U, 64U}) {
        shown[std::string(size, 'k')] = std::string(size, 'k') + '"';
    }
    shown[std::string(65, 'k')] = std::string(64, 'k') + "...\"";
    for (int byte = 0; byte < 256; ++byte) {
        const auto c = static_cast<char>(byte);
        const bool can_be_read = byte >= 0x20 && byte <= 0x7e;
        shown[std::string(2, c)] = std::string(2, can_be_read ? c : '?') + '"';
    }
    {
        auto records = s.as_map();
        for (const auto& [key, text] : shown) must(records.put(key, "nonsense"));
        must(records.close());
    }
    s.open();
    for (const auto& [key, text] : shown) {
        EXPECT_EQ(s->get(key, found).error().where, "key \"" + text);
    }
}

TEST_F(store_damage, is_gone_when_the_record_is_stored_anew_or_removed) {
    for (const auto* key : {"k", "l"}) {
        must(s->set(key, "1"));
        flip(key);
    }
    EXPECT_EQ(must(s->set("k", "new")).what, outcome::stored);
    EXPECT_TRUE(must(s->get("k", found)));
    EXPECT_EQ(found.data(), "new");
    EXPECT_EQ(must(s->remove("l")).what, outcome::removed);
    EXPECT_FALSE(must(s->get("l", found)));
}

// A checksum that is wrong: the map passes such a record to no condition.
TEST_F(store_damage, of_a_records_bytes_is_replaced_removed_and_flushed) {
    if (s->stats().medium == "file") GTEST_SKIP() << "its memory is not the file's";
    const auto put_and_damage = [&](const std::string& key) {
        const std::string data = "data of the record " + key;
        must(s->set(key, data));
        s.overwrite(data, "DATA");
        EXPECT_EQ(s->get(key, found).error().code, errc::corrupt);
    };
    for (const std::string key : {"one", "two", "three", "four"}) put_and_damage(key);
    EXPECT_EQ(s->add("one", "new").error().code, errc::corrupt);
    EXPECT_EQ(s->append("one", "new").error().code, errc::corrupt);
    EXPECT_EQ(must(s->set("one", "new")).what, outcome::stored);
    EXPECT_TRUE(must(s->get("one", found)));
    EXPECT_EQ(found.data(), "new");
    EXPECT_EQ(must(s->remove("two")).what, outcome::removed);
    EXPECT_FALSE(must(s->get("two", found)));
    EXPECT_EQ(must(s->remove("two")).what, outcome::not_found);
    must(s->flush_all());
    EXPECT_FALSE(must(s->get("three", found)));
    EXPECT_EQ(found.ended, store::record::end::flushed);
    put_and_damage("five");  // after the flush
    EXPECT_EQ(s->get("five", found).error().code, errc::corrupt) << "it stays, and is reported";
    EXPECT_EQ(must(s->set("four", "new")).what, outcome::stored);
    EXPECT_TRUE(must(s->get("four", found)));
}

// A read that finds a damaged record of before a flush removes it, but not one that another thread
// has stored meanwhile.
TEST_F(store_damage, that_was_flushed_and_replaced_meanwhile_takes_no_new_record_along) {
    if (s->stats().medium == "file") GTEST_SKIP() << "its memory is not the file's";
    constexpr int rounds = 12;
    for (int i = 0; i < rounds; ++i) {
        must(s->set("k" + std::to_string(i), "data of the record " + std::to_string(i) + "."));
    }
    s.overwrite("data of the record", "DATA");
    must(s->flush_all());
    for (int i = 0; i < rounds; ++i) {
        const std::string key = "k" + std::to_string(i);
        std::barrier start(2);
        std::thread writer([&] {
            start.arrive_and_wait();
            must(s->set(key, "new"));
        });
        start.arrive_and_wait();
        for (int reads = 0; reads < 20; ++reads) EXPECT_TRUE(s->get(key, found).has_value());
        writer.join();
        ASSERT_TRUE(must(s->get(key, found))) << key;
        EXPECT_EQ(found.data(), "new");
    }
}

TEST_F(store_damage, of_any_length_is_noticed) {
    for (const std::size_t size : {0U, 1U, 31U, 32U, 100U}) {
        must(s->set("k", "data"));
        damage("k", [size](std::string& bytes) { bytes.assign(size, '\xd5'); });
        EXPECT_EQ(s->get("k", found).error().code, errc::corrupt) << size;
    }
}

TEST_F(store_damage, of_the_stores_own_record_refuses_to_open) {
    must(s->flush_all());
    auto records = s.as_map();
    must(records.put("", "nonsense"));
    const auto opened = store::over(std::move(records));
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, errc::corrupt);
    s.as_map();
}

}  // namespace
}  // namespace hf::test
