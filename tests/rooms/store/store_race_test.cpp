// Threads on the same records: numbers at the end of a block, large values against small ones,
// expiry against writes that extend it.
#include "store/store_record.hpp"
#include "store/store_unique.hpp"
#include "support/effort.hpp"
#include "support/temporary_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hf::test {
namespace {

using outcome = store::outcome;
using numbers = detail::unique_numbers;

/// A store whose next reading of the clock first calls a function, to simulate another thread
/// between the reading and its use.
class interrupted_clock {
   public:
    interrupted_clock()
        : records_(temporary_.as_map()), store_(must(store::over(std::move(records_), [this] {
              if (const auto work = std::exchange(meanwhile, {})) work();
              return time;
          }))) {}

    store* operator->() noexcept { return &store_; }
    [[nodiscard]] bool has(const std::string& key) {
        store::record found;
        return must(store_.get(key, found));
    }

    std::function<void()> meanwhile;
    std::uint64_t time = 1'000'000;

   private:
    temporary_store temporary_;
    map records_;
    store store_;
};

TEST(store_race, a_flush_whose_time_has_come_is_done_once) {
    interrupted_clock s;
    must(s->set("old", "v"));
    must(s->flush_all(s.time + 10));
    s.time += 10;
    s.meanwhile = [&] { must(s->set("new", "v")); };  // flushes first
    EXPECT_FALSE(s.has("old"));
    EXPECT_TRUE(s.has("new"));
}

TEST(store_race, a_flush_that_is_put_off_anew_when_its_time_has_come_waits) {
    interrupted_clock s;
    must(s->flush_all(s.time + 10));
    s.time += 10;
    s.meanwhile = [&] { must(s->flush_all(s.time + 10)); };
    must(s->set("k", "v"));
    s.time += 9;
    EXPECT_TRUE(s.has("k"));
    s.time += 1;
    EXPECT_FALSE(s.has("k"));
}

#ifdef HF_PERSIST_POINTS
/// While it exists, blocks have only this many numbers.
class small_blocks {
   public:
    explicit small_blocks(std::uint64_t size) {
        numbers::left_out = (std::uint64_t{1} << numbers::block_bits) - size;
    }
    small_blocks(const small_blocks&) = delete;
    small_blocks& operator=(const small_blocks&) = delete;
    ~small_blocks() { numbers::left_out = 0; }
};

TEST(store_race, no_number_is_given_out_twice_though_blocks_end_all_the_time) {
    for (const unsigned size : {1U, 3U, 50U}) {
        const small_blocks small(size);
        temporary_store s(std::chrono::microseconds(0));
        std::vector<std::uint64_t> all;
        for (unsigned session = 0; session < 3; ++session) {
            std::vector<std::vector<std::uint64_t>> drawn(3);
            std::vector<std::thread> threads;
            for (unsigned t = 0; t < drawn.size(); ++t) {
                threads.emplace_back([&, t] {
                    const unsigned writes = scaled(60);
                    for (unsigned i = 0; i < writes; ++i) {
                        const std::string key = i % 2 == 0 ? "shared" : std::to_string(t);
                        drawn[t].push_back(must(s->set(key, "v")).number);
                        if (i % 16 == 3) must(s->flush_all());
                    }
                });
            }
            for (auto& t : threads) t.join();
            for (const auto& of_one : drawn) {
                EXPECT_TRUE(std::is_sorted(of_one.begin(), of_one.end()));
                all.insert(all.end(), of_one.begin(), of_one.end());
            }
            store::record found;
            if (must(s->get("shared", found))) {
                EXPECT_EQ(std::count(all.begin(), all.end(), found.cas), 1);
            }
            s.reopen();
        }
        std::sort(all.begin(), all.end());
        EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << "blocks of " << size;
        EXPECT_NE(all.front(), 0U);
    }
}

TEST(store_race, when_all_numbers_are_spent_writes_are_refused_and_reads_are_not) {
    const small_blocks small(3);
    temporary_store s;
    {
        auto records = s.as_map();
        detail::master_record master;
        master.spent_blocks = numbers::block_count - 3 - records.generation();
        std::string bytes(detail::master_record_bytes, '\0');
        detail::encode(master, bytes.data());
        must(records.put({}, bytes));
        must(records.close());
    }
    s.open();  // one session later: two blocks are left
    for (unsigned i = 0; i < 6; ++i) must(s->set("k", std::to_string(i)));
    for (const auto& refused : {s->set("k", "x"), s->add("l", "x"), s->incr("k", 1),
                                s->append("k", "x"), s->flush_all()}) {
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, errc::no_space);
    }
    store::record found;
    EXPECT_TRUE(must(s->get("k", found)));
    EXPECT_EQ(found.data(), "5");
    EXPECT_EQ(must(s->touch("k", 0)).what, outcome::touched);
    EXPECT_EQ(must(s->remove("k")).what, outcome::removed);
}
#endif

std::string value_of(std::uint64_t n) {
    // Some are in blocks, some in extents.
    const std::size_t size = n % 3 == 0 ? 70'000 + n % 50'000 : 20 + n % 300;
    std::string v(size, static_cast<char>('a' + n % 26));
    v.replace(0, 19, std::to_string(1'000'000'000'000'000'000U + n));
    return v;
}

TEST(store_race, a_chain_of_cas_over_large_and_small_values_loses_no_link) {
    temporary_store s(std::chrono::milliseconds(1));
    must(s->set("chain", value_of(0)));
    std::atomic<std::uint64_t> links{0};
    std::atomic<bool> stop{false};
    const auto number_in = [](std::string_view data) -> std::uint64_t {
        const auto n = std::stoull(std::string(data.substr(0, 19))) - 1'000'000'000'000'000'000U;
        EXPECT_TRUE(data == value_of(n)) << "a value that nobody has written";
        return n;
    };
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            store::record found;
            const unsigned turns = scaled(600);
            for (unsigned i = 0; i < turns && !::testing::Test::HasFailure(); ++i) {
                if (!must(s->get("chain", found))) {
                    ADD_FAILURE() << "the record is gone";
                    break;
                }
                const std::uint64_t n = number_in(found.data());
                const auto done = must(s->cas("chain", value_of(n + 1), {}, found.cas));
                if (done.what == outcome::stored) {
                    ++links;
                } else {
                    EXPECT_EQ(done.what, outcome::exists);
                }
                if (i % 8 == 0) must(s->touch("chain", 0));
            }
        });
    }
    std::thread reader([&] {
        store::record found;
        std::uint64_t last = 0;
        while (!stop && !::testing::Test::HasFailure()) {
            const std::uint64_t before = links;
            if (!must(s->get("chain", found))) {
                ADD_FAILURE() << "the record is gone";
                break;
            }
            const std::uint64_t n = number_in(found.data());
            EXPECT_GE(n, last) << "an older value than was seen before";
            EXPECT_GE(n, before) << "a value that was replaced before";
            last = n;
        }
    });
    for (auto& t : threads) t.join();
    stop = true;
    reader.join();
    store::record found;
    ASSERT_TRUE(must(s->get("chain", found)));
    EXPECT_EQ(number_in(found.data()), links);
}

TEST(store_race, what_a_touch_has_let_expire_no_append_brings_back) {
    temporary_store s(std::chrono::milliseconds(2));
    const unsigned rounds = scaled(400);
    std::barrier start(2);
    std::barrier end(2);
    std::atomic<unsigned> revived{0};
    std::thread appender([&] {
        for (unsigned round = 0; round < rounds; ++round) {
            start.arrive_and_wait();
            for (unsigned i = 0; i < 6; ++i) {
                must(i % 2 == 0 ? s->append("k", "+") : s->prepend("k", "-"));
            }
            end.arrive_and_wait();
        }
    });
    store::record found;
    for (unsigned round = 0; round < rounds; ++round) {
        // Small ones are changed under the node's lock, large ones without it.
        const std::size_t size = round % 4 == 3 ? 70'000 : round % 2 == 1 ? 5000 : 10;
        must(s->set("k", std::string(size, 'x')));
        start.arrive_and_wait();
        const bool touch = round % 3 != 0;
        const auto done =
            touch ? must(s->touch("k", s.now())) : must(s->get_and_touch("k", s.now(), found));
        EXPECT_EQ(done.what, outcome::touched);
        end.arrive_and_wait();
        if (must(s->get("k", found))) ++revived;
        EXPECT_EQ(must(s->append("k", "+")).what, outcome::not_stored);
    }
    appender.join();
    EXPECT_EQ(revived, 0U);
}

TEST(store_race, no_touch_is_undone_by_a_write_that_carries_the_record_on) {
    temporary_store s(std::chrono::milliseconds(2));
    for (const unsigned size : {10U, 5000U, 70'000U}) {
        must(s->set("k", std::string(size, 'x')));
        std::atomic<bool> stop{false};
        std::thread writer([&] {
            while (!stop) {
                EXPECT_EQ(must(s->append("k", "")).what, outcome::stored);
                EXPECT_EQ(must(s->prepend("k", "")).what, outcome::stored);
            }
        });
        store::record found;
        const unsigned touches = scaled(size < 10'000 ? 4000 : 300);
        for (unsigned i = 1; i <= touches && !::testing::Test::HasFailure(); ++i) {
            EXPECT_EQ(must(s->touch("k", s.now() + i)).what, outcome::touched);
            EXPECT_TRUE(must(s->get("k", found)));
            EXPECT_EQ(found.about.expires, s.now() + i) << "a touch was undone";
            EXPECT_EQ(found.data().size(), size);
        }
        stop = true;
        writer.join();
        EXPECT_TRUE(must(s->get("k", found)));
        EXPECT_EQ(found.about.expires, s.now() + touches);
    }
}

TEST(store_race, appends_of_all_threads_are_there_whatever_is_touched_meanwhile) {
    temporary_store s(std::chrono::milliseconds(1));
    must(s->set("k", ""));
    const unsigned each = scaled(250);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
            const std::string piece(20, static_cast<char>('a' + t));
            for (unsigned i = 0; i < each; ++i) {
                EXPECT_EQ(must(s->append("k", piece)).what, outcome::stored);
                if (i % 3 == 0) must(s->touch("k", s.now() + 1000 + i));
            }
        });
    }
    for (auto& t : threads) t.join();
    store::record found;
    ASSERT_TRUE(must(s->get("k", found)));
    EXPECT_EQ(found.data().size(), 60U * each);
    for (unsigned t = 0; t < 3; ++t) {
        EXPECT_EQ(std::count(found.data().begin(), found.data().end(), static_cast<char>('a' + t)),
                  static_cast<std::ptrdiff_t>(20 * each));
    }
    EXPECT_GE(found.about.expires, s.now() + 1000) << "a touch was undone";
}

}  // namespace
}  // namespace hf::test
