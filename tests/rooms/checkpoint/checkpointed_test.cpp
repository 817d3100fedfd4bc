// The public building blocks of checkpointing, and the two examples that are made of them.
#include <holdfast/checkpoint.hpp>

#include "checkpoint/inspect.hpp"
#include "examples/checkpoint/hash_map.hpp"
#include "examples/checkpoint/queue.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace hf {
namespace {

enum class colour : std::uint8_t { red = 1, green = 2 };

struct fields {
    logged<std::uint64_t> number;
    logged<double> ratio;
    logged<bool> flag;
    logged<colour> paint;
    logged<std::int32_t> below;
    logged_words<2> two;
    logged_words<3> three;
    logged<fields*> other;
    std::atomic<std::uint64_t> stamp;
    char text[200];
};

class a_checkpointed_file : public testing::Test {
   public:
    void open() {
        checkpointed_options options;
        options.epoch = std::chrono::microseconds(0);
        options.region.initial_size = u64{16} << 20;
        auto opened = checkpointed::open(file_, options);
        ASSERT_TRUE(opened) << opened.error().to_string();
        one_ = std::make_unique<checkpointed>(std::move(*opened));
    }
    void crash() {
        checkpointed_inspection::abandon(*one_);
        one_.reset();
        open();
        ASSERT_TRUE(one_->recovered());
    }
    void close() {
        ASSERT_TRUE(one_->close());
        one_.reset();
    }
    [[nodiscard]] checkpointed& file() { return *one_; }
    [[nodiscard]] fields& root() { return *one_->root<fields>(); }

   protected:
    void SetUp() override { open(); }

   private:
    test::scratch_directory place_;
    std::filesystem::path file_ = place_.path() / "file.hf";
    std::unique_ptr<checkpointed> one_;
};

TEST_F(a_checkpointed_file, begins_with_zeros) {
    const checkpointed::operation op(file());
    EXPECT_TRUE(file().created());
    EXPECT_FALSE(file().recovered());
    EXPECT_EQ(root().number.get(op), 0U);
    EXPECT_EQ(root().three.get(op, 2), 0U);
    EXPECT_EQ(root().other.get(op), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&root()) % 64, 0U);
}

TEST_F(a_checkpointed_file, keeps_values_of_all_kinds) {
    {
        checkpointed::operation op(file());
        root().number.set(op, ~u64{0});
        root().ratio.set(op, -0.125);
        root().flag.set(op, true);
        root().paint.set(op, colour::green);
        root().below.set(op, -7);
        root().two.set(op, 1, 22);
        root().three.set(op, 0, 30);
        root().three.set(op, 2, 33);
        root().other.set(op, &root());
    }
    close();
    open();
    EXPECT_FALSE(file().recovered());
    const checkpointed::operation op(file());
    EXPECT_EQ(root().number.get(op), ~u64{0});
    EXPECT_EQ(root().ratio.get(op), -0.125);
    EXPECT_TRUE(root().flag.get(op));
    EXPECT_EQ(root().paint.get(op), colour::green);
    EXPECT_EQ(root().below.get(op), -7);
    EXPECT_EQ(root().two.get(op, 0), 0U);
    EXPECT_EQ(root().two.get(op, 1), 22U);
    EXPECT_EQ(root().three.get(op, 0), 30U);
    EXPECT_EQ(root().three.get(op, 1), 0U);
    EXPECT_EQ(root().three.get(op, 2), 33U);
    EXPECT_EQ(root().other.get(op), &root());
}

TEST_F(a_checkpointed_file, goes_back_to_the_last_completed_epoch) {
    {
        checkpointed::operation op(file());
        root().number.set(op, 1);
        root().two.set(op, 0, 10);
    }
    ASSERT_TRUE(file().sync());
    {
        checkpointed::operation op(file());
        root().number.set(op, 2);
        root().number.set(op, 3);
        root().two.set(op, 0, 20);
        root().two.set(op, 1, 21);
        EXPECT_EQ(root().number.get(op), 3U);
    }
    crash();
    {
        const checkpointed::operation op(file());
        EXPECT_EQ(root().number.get(op), 1U) << "read, and not undone yet";
        EXPECT_EQ(root().number.get(op), 1U);
        EXPECT_EQ(root().two.get(op, 0), 10U);
        EXPECT_EQ(root().two.get(op, 1), 0U);
    }
    {
        checkpointed::operation op(file());
        root().two.set(op, 1, 31);
        EXPECT_EQ(root().two.get(op, 0), 10U) << "undone together with its neighbour's change";
    }
    crash();
    const checkpointed::operation op(file());
    EXPECT_EQ(root().two.get(op, 0), 10U);
    EXPECT_EQ(root().two.get(op, 1), 0U);
}

TEST_F(a_checkpointed_file, undoes_an_object_that_was_logged) {
    const auto write = [&](const char* text) {
        checkpointed::operation op(file());
        ASSERT_TRUE(op.log(root().stamp, &root(), sizeof(fields)));
        ASSERT_TRUE(op.log(root().stamp, &root(), sizeof(fields))) << "twice is once";
        std::strncpy(root().text, text, sizeof root().text - 1);
    };
    write("first");
    ASSERT_TRUE(file().sync());
    write("second");
    crash();
    EXPECT_STREQ(root().text, "first");
    write("third");
    ASSERT_TRUE(file().sync());
    crash();
    EXPECT_STREQ(root().text, "third");
}

TEST_F(a_checkpointed_file, takes_memory_back_that_a_crashed_epoch_had_allocated) {
    std::vector<std::uint64_t> offsets;
    for (int round = 0; round < 3; ++round) {
        {
            checkpointed::operation op(file());
            for (const std::size_t bytes : {16, 100, 5000, 70'000, 300'000}) {
                auto p = op.allocate(bytes);
                ASSERT_TRUE(p) << p.error().to_string();
                EXPECT_TRUE(is_persistent(*p));
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(*p) % 16, 0U);
                std::memset(*p, round, bytes);
                op.note(*p, bytes);
                const auto offset = reinterpret_cast<std::uint64_t>(*p) & window_mask;
                if (round == 0) {
                    offsets.push_back(offset);
                } else {
                    EXPECT_NE(std::find(offsets.begin(), offsets.end(), offset), offsets.end());
                }
            }
        }
        crash();
    }
}

/// All sizes: blocks of a completed epoch belong to one owner, in any state that a crash leaves.
TEST_F(a_checkpointed_file, keeps_memory_that_a_completed_epoch_had_allocated) {
    struct piece {
        std::uint64_t offset;
        std::size_t bytes;
        char filled;
    };
    std::vector<piece> all;
    const auto at = [&](const piece& p) {
        return reinterpret_cast<char*>(window_base(&root()) + p.offset);
    };
    for (char round = 'a'; round < 'e'; ++round) {
        {
            checkpointed::operation op(file());
            for (const std::size_t bytes : {16, 100, 5000, 70'000, 300'000}) {
                auto p = op.allocate(bytes);
                ASSERT_TRUE(p) << p.error().to_string();
                std::memset(*p, round, bytes);
                op.note(*p, bytes);
                all.push_back({reinterpret_cast<std::uint64_t>(*p) & window_mask, bytes, round});
            }
            if (round == 'c') {  // those of the first round, of each size
                for (std::size_t i = 0; i < 5; ++i) op.deallocate(at(all[i]), all[i].bytes);
                all.erase(all.begin(), all.begin() + 5);
            }
        }
        ASSERT_TRUE(file().sync());
        if (round % 2 == 0) {
            crash();
        } else {
            close();
            open();
        }
        for (const piece& p : all) {
            ASSERT_EQ(std::string(at(p), p.bytes), std::string(p.bytes, p.filled)) << p.bytes;
        }
    }
}

TEST_F(a_checkpointed_file, does_not_reuse_what_was_freed_before_the_epoch_has_ended) {
    void* p = nullptr;
    {
        checkpointed::operation op(file());
        p = op.allocate(100).value();
        std::memset(p, 'x', 100);
        op.note(p, 100);
    }
    ASSERT_TRUE(file().sync());
    {
        checkpointed::operation op(file());
        op.deallocate(p, 100);
        for (int i = 0; i < 1000; ++i) {
            void* q = op.allocate(100).value();
            ASSERT_NE(q, p);
            std::memset(q, 'y', 100);
            op.note(q, 100);
        }
    }
    const auto offset = reinterpret_cast<std::uint64_t>(p) & window_mask;
    crash();
    EXPECT_EQ(*reinterpret_cast<const char*>(window_base(&root()) + offset), 'x');
}

TEST_F(a_checkpointed_file, is_refused_by_name_where_memory_ends) {
    close();
    checkpointed_options options;
    options.epoch = std::chrono::microseconds(0);
    options.region.mode = open_mode::create_new;
    options.region.initial_size = options.region.max_size = u64{16} << 20;
    test::scratch_directory place;
    auto small = checkpointed::open(place.path() / "small.hf", options);
    ASSERT_TRUE(small) << small.error().to_string();
    result<void*> p;
    do {
        checkpointed::operation op(*small);
        p = op.allocate(100'000);
    } while (p);
    EXPECT_EQ(p.error().code, errc::no_space);
    EXPECT_TRUE(small->close());
    open();
}

TEST_F(a_checkpointed_file, remembers_each_crash_until_it_is_mended) {
    for (int i = 0; i < 5; ++i) {
        {
            checkpointed::operation op(file());
            root().number.set(op, 100);
        }
        file().end_epoch();
        {
            checkpointed::operation op(file());
            root().number.set(op, 200);
        }
        crash();
        EXPECT_EQ(file().failed_epochs(), static_cast<std::size_t>(i + 1));
    }
    int visits = 0;
    ASSERT_TRUE(file().mend([&](checkpointed::operation& op) {
        root().number.mend(op);
        return ++visits < 3;
    }));
    EXPECT_EQ(visits, 3);
    EXPECT_EQ(file().failed_epochs(), 0U);
    crash();
    const checkpointed::operation op(file());
    EXPECT_EQ(root().number.get(op), 100U);
}

using a_checkpointed_file_death_test = a_checkpointed_file;

TEST_F(a_checkpointed_file_death_test, refuses_its_parents_file_in_a_child_of_fork) {
    EXPECT_DEATH(checkpointed::operation{file()}, "child of fork");
    EXPECT_EQ(test::in_child([this] { return file().close() ? 1 : 0; }), 0);
    const checkpointed::operation op(file());  // the parent's is as it was
}

TEST_F(a_checkpointed_file_death_test, refuses_memory_that_is_not_the_files) {
    checkpointed::operation op(file());
    int ordinary = 0;
    EXPECT_DEATH(op.note(&ordinary, sizeof ordinary), "outside of the file");
    std::atomic<std::uint64_t> stamp{0};
    EXPECT_DEATH((void)op.log(stamp, &ordinary, sizeof ordinary), "outside of the file");
    fields volatile_fields{};
    EXPECT_DEATH(volatile_fields.number.set(op, 1), "outside of the file");
    EXPECT_DEATH(root().other.set(op, &volatile_fields), "outside of all regions");
}
TEST_F(a_checkpointed_file_death_test, refuses_to_wait_for_the_callers_own_operation) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // a child of fork() has no lane
    const checkpointed::operation op(file());
    EXPECT_DEATH(checkpointed::operation{file()}, "inside of an operation");
    EXPECT_DEATH(file().end_epoch(), "inside of an operation");
    EXPECT_DEATH((void)file().sync(), "inside of an operation");
    EXPECT_DEATH((void)file().failed_epochs(), "inside of an operation");
}

// ------------------------------------------------------------------------------------ the examples

TEST_F(a_checkpointed_file, holds_a_queue_that_a_plain_one_agrees_with_over_crashes) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::deque<std::string> now;
    std::deque<std::string> durable;
    auto queue = std::make_unique<example::queue>(file());
    for (int step = 0; step < 4000; ++step) {
        const auto dice = random() % 100;
        if (dice < 45) {
            std::string bytes(random() % 300, static_cast<char>('a' + step % 26));
            ASSERT_TRUE(queue->push(bytes));
            now.push_back(std::move(bytes));
        } else if (dice < 85) {
            const auto popped = queue->pop();
            ASSERT_EQ(popped.has_value(), !now.empty());
            if (popped) {
                ASSERT_EQ(*popped, now.front());
                now.pop_front();
            }
        } else if (dice < 97) {
            file().end_epoch();
            durable = now;
        } else {
            queue.reset();
            ASSERT_NO_FATAL_FAILURE(crash());
            queue = std::make_unique<example::queue>(file());
            now = durable;
            if (dice == 98) {
                ASSERT_TRUE(queue->mend());
                EXPECT_EQ(file().failed_epochs(), 0U);
            }
        }
        ASSERT_EQ(queue->size(), now.size());
    }
    std::vector<std::string> left;
    queue->for_each([&](std::string_view bytes) {
        left.emplace_back(bytes);
        return true;
    });
    EXPECT_EQ(left, std::vector<std::string>(now.begin(), now.end()));
}

TEST_F(a_checkpointed_file, holds_a_hash_map_that_a_plain_one_agrees_with_over_crashes) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::map<std::string, std::string> now;
    std::map<std::string, std::string> durable;
    auto map = std::make_unique<example::hash_map>(file());
    for (int step = 0; step < 6000; ++step) {
        const auto dice = random() % 200;
        const std::string key = "key " + std::to_string(random() % 400);
        if (dice < 110) {
            std::string value(random() % 200, static_cast<char>('a' + step % 26));
            ASSERT_TRUE(map->put(key, value));
            now[key] = std::move(value);
        } else if (dice < 160) {
            ASSERT_EQ(map->remove(key), now.erase(key) == 1);
        } else if (dice < 195) {
            file().end_epoch();
            durable = now;
        } else {
            map.reset();
            ASSERT_NO_FATAL_FAILURE(crash());
            map = std::make_unique<example::hash_map>(file());
            now = durable;
            if (dice == 198) {
                ASSERT_TRUE(map->mend());
            }
            for (const auto& [k, v] : now) ASSERT_EQ(map->get(k), v);
        }
        const auto found = now.find(key);
        ASSERT_EQ(map->get(key), found == now.end() ? std::nullopt : std::optional(found->second));
        ASSERT_EQ(map->size(), now.size());
    }
}

}  // namespace
}  // namespace hf
