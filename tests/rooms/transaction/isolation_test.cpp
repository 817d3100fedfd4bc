// Isolation between transactions, step by step.
#include "region_of_words.hpp"
#include "support/sync_points.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace hf::test {
namespace {

constexpr const char* committing = "transaction T1";

class isolation : public on_tmpfs {
   protected:
    region_of_words r{file};

    void put(u64 i, u64 value) {
        must(r.all().atomic([&](transaction& t) { t.store(r.word(i), value); }));
    }
    /// In a thread of its own, done on return.
    void put_elsewhere(u64 i, u64 value) {
        std::thread([&] { put(i, value); }).join();
    }
};

TEST_F(isolation, a_transaction_moves_on_to_what_was_committed_behind_its_begin) {
    int attempts = 0;
    must(r.all().atomic([&](transaction& t) {
        ++attempts;
        EXPECT_EQ(t.load(r.word(0)), 0U);
        if (attempts == 1) put_elsewhere(64, 5);
        EXPECT_EQ(t.load(r.word(64)), 5U);
    }));
    EXPECT_EQ(attempts, 1);
}

TEST_F(isolation, a_reader_takes_what_was_committed_before_it_began_at_its_first_attempt) {
    put(0, 3);
    put_elsewhere(64, 4);
    int attempts = 0;
    must(r.all().read([&](transaction& t) {
        ++attempts;
        EXPECT_EQ(t.load(r.word(0)), 3U);
        EXPECT_EQ(t.load(r.word(64)), 4U);
    }));
    EXPECT_EQ(attempts, 1);
}

TEST_F(isolation, a_reader_by_the_clock_goes_on_where_nothing_has_changed) {
    int attempts = 0;
    must(r.all().read([&](transaction& t) {
        ++attempts;
        EXPECT_EQ(t.load(r.word(0)), 0U);
        put_elsewhere(64, 5);
        EXPECT_EQ(t.load(r.word(0)), 0U);
        EXPECT_EQ(t.load(r.word(128)), 0U);
    }));
    EXPECT_EQ(attempts, 1);
}

TEST_F(isolation, a_reader_by_the_clock_goes_on_to_what_the_last_commit_before_it_changed) {
    put(128, 3);
    int attempts = 0;
    must(r.all().read([&](transaction& t) {
        ++attempts;
        EXPECT_EQ(t.load(r.word(0)), 0U);
        put_elsewhere(64, 5);
        EXPECT_EQ(t.load(r.word(128)), 3U);
    }));
    EXPECT_EQ(attempts, 1);
}

TEST_F(isolation, a_reader_by_the_clock_begins_anew_where_it_has_and_then_moves_on) {
    int attempts = 0;
    must(r.all().read([&](transaction& t) {
        ++attempts;
        EXPECT_EQ(t.load(r.word(0)), 0U);
        if (attempts == 1) put_elsewhere(64, 5);
        EXPECT_EQ(t.load(r.word(64)), 5U);
        EXPECT_EQ(attempts, 2) << "it could not know that the first word is as it was";
        put_elsewhere(128, 6);
        EXPECT_EQ(t.load(r.word(128)), 6U);
    }));
    EXPECT_EQ(attempts, 2);
}

TEST_F(isolation, a_reader_never_sees_two_moments) {
    int attempts = 0;
    must(r.all().read([&](transaction& t) {
        ++attempts;
        const u64 first = t.load(r.word(0));
        if (attempts == 1) {
            std::thread([&] {
                must(r.all().atomic([&](transaction& w) {
                    w.store(r.word(0), 1);
                    w.store(r.word(64), 1);
                }));
            }).join();
        }
        EXPECT_EQ(t.load(r.word(64)), first);
    }));
    EXPECT_EQ(attempts, 2);
}

TEST_F(isolation, a_conflict_whose_exception_the_program_takes_is_one_still) {
    std::atomic<bool> is_owned{false};
    std::atomic<bool> was_met{false};
    std::thread other([&] {
        must(r.all().atomic([&](transaction& t) {
            t.store(r.word(64), u64{5});
            is_owned.store(true);
            is_owned.notify_one();
            was_met.wait(false);
        }));
    });
    is_owned.wait(false);
    must(r.all().atomic([&](transaction& t) {
        t.store(r.word(0), u64{1});
        try {
            t.store(r.word(64), u64{6});
        } catch (...) {
            was_met.store(true);
            was_met.notify_one();
        }
    }));
    other.join();
    must(r.all().read([&](transaction& t) {
        EXPECT_EQ(t.load(r.word(0)), 1U);
        EXPECT_EQ(t.load(r.word(64)), 6U) << "half of it has committed";
    }));
}

TEST_F(isolation, what_was_read_must_still_be_so_at_the_commit) {
    int attempts = 0;
    must(r.all().atomic([&](transaction& t) {
        ++attempts;
        const u64 found = t.load(r.word(0));
        if (attempts == 1) put_elsewhere(0, 10);
        t.store(r.word(64), found + 1);
    }));
    EXPECT_EQ(attempts, 2);
    EXPECT_EQ(r.now(64), 11U);
}

TEST_F(isolation, what_was_not_read_may_change) {
    int attempts = 0;
    must(r.all().atomic([&](transaction& t) {
        if (++attempts == 1) put_elsewhere(128, 10);
        t.store(r.word(64), t.load(r.word(0)) + 1);
    }));
    EXPECT_EQ(attempts, 1);
}

TEST_F(isolation, what_was_read_and_then_stored_to_is_no_conflict) {
    int attempts = 0;
    must(r.all().atomic([&](transaction& t) {
        ++attempts;
        t.store(r.word(0), t.load(r.word(0)) + 1);
        put_elsewhere(128, static_cast<u64>(attempts));  // so that the commit asks for what it read
        EXPECT_EQ(t.load(r.word(128)), static_cast<u64>(attempts));
    }));
    EXPECT_EQ(attempts, 1);
    EXPECT_EQ(r.now(0), 1U);
}

TEST_F(isolation, a_line_has_one_writer) {
    int attempts = 0;
    std::atomic<int> others{0};
    std::thread other;
    must(r.all().atomic([&](transaction& t) {
        ++attempts;
        t.store(r.word(0), t.load(r.word(0)) + 1);
        if (attempts > 1) return;
        other = std::thread([&] {
            must(r.all().atomic([&](transaction& w) {
                if (others.fetch_add(1) > 0) return w.store(r.word(0), w.load(r.word(0)) + 1);
                w.store(r.word(0), 100);  // finds it owned
            }));
        });
        while (others.load() < 2) std::this_thread::yield();
    }));
    other.join();
    EXPECT_EQ(attempts, 1);
    EXPECT_GE(others.load(), 2);
    EXPECT_EQ(r.now(0), 2U);
}

/// `n` threads with a lane each, until it is destroyed.
class parked_threads {
   public:
    template <class F>
    parked_threads(unsigned n, F&& begin) {
        for (unsigned i = 0; i < n; ++i) {
            threads_.emplace_back([this, begin] {
                begin();
                ++ready_;
                leave_.wait(false);
            });
        }
        while (ready_.load() < n) std::this_thread::yield();
    }
    parked_threads(const parked_threads&) = delete;
    parked_threads& operator=(const parked_threads&) = delete;
    ~parked_threads() {
        leave_ = true;
        leave_.notify_all();
        for (std::thread& t : threads_) t.join();
    }

   private:
    std::vector<std::thread> threads_;
    std::atomic<unsigned> ready_{0};
    std::atomic<bool> leave_{false};
};

// With few threads and with more than a reader by the clock checks.
TEST_F(isolation, nobody_reads_what_is_not_in_place_yet) {
    if (!sync_points::exist) GTEST_SKIP() << "without persist points";
    for (const unsigned others : {0U, 20U}) {
        const parked_threads parked(others, [&] { put(512, 1); });
        const u64 value = r.now(0) + 1;
        sync_points points;
        points.hold(committing);
        std::thread writer([&] {
            must(r.all().atomic([&](transaction& t) {
                t.store(r.word(0), value);
                t.store(r.word(64), value);
            }));
        });
        points.await(committing);
        EXPECT_EQ(r.now(0), value - 1);
        std::atomic<int> attempts{0};
        std::thread reader([&] {
            must(r.all().read([&](transaction& t) {
                ++attempts;
                const u64 a = t.load(r.word(0));
                EXPECT_EQ(a, t.load(r.word(64)));
                EXPECT_EQ(a, value);  // it waits: the version has been taken
            }));
        });
        while (attempts.load() < 3 && r.now(0) != value) std::this_thread::yield();
        points.release(committing);
        writer.join();
        reader.join();
    }
}

// The reader's lane is older than the writer's, which is the newest.
TEST_F(isolation, a_commit_of_the_newest_lane_is_seen_by_a_reader_that_begins_meanwhile) {
    if (!sync_points::exist) GTEST_SKIP() << "without persist points";
    put(0, 1);  // in a lane of this thread
    sync_points points;
    points.hold(committing);
    std::thread writer([&] {
        must(r.all().atomic([&](transaction& t) {
            t.store(r.word(0), 2);
            t.store(r.word(64), 2);
        }));
    });
    points.await(committing);
    int attempts = 0;
    must(r.all().read([&](transaction& t) {
        if (++attempts == 3) points.release(committing);
        const u64 a = t.load(r.word(0));
        EXPECT_EQ(a, 2U) << "its version has been taken";
        EXPECT_EQ(t.load(r.word(64)), a);
    }));
    points.release(committing);
    writer.join();
    EXPECT_GE(attempts, 3);
}

TEST_F(isolation, who_has_the_turn_keeps_others_waiting_and_gives_it_back_however_it_ends) {
    using end = void (*)();
    for (const end at_last : {+[] {}, +[] { transaction::abort(); }, +[] { throw 5; },
                              +[] { transaction::fail({errc::usage, "", "", "", ""}); }}) {
        std::atomic<bool> through{false};
        std::thread other;
        int attempts = 0;
        try {
            static_cast<void>(r.all().atomic([&](transaction& t) {
                t.store(r.word(0), 1);
                if (++attempts < 12) transaction::retry();
                other = std::thread([&] {
                    put(64, 1);
                    through = true;
                });
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
                EXPECT_FALSE(through.load());
                at_last();
            }));
        } catch (int) {
        }
        other.join();
        EXPECT_TRUE(through.load());
    }
}

TEST_F(isolation, an_aborted_writer_gives_its_lines_back_as_they_were) {
    must(r.all().read([&](transaction& t) {
        EXPECT_EQ(t.load(r.word(0)), 0U);
        std::thread([&] {
            static_cast<void>(r.all().atomic([&](transaction& w) {
                w.store(r.word(0), 1);
                transaction::abort();
            }));
        }).join();
        EXPECT_EQ(t.load(r.word(0)), 0U);
    }));
    put(0, 2);
    EXPECT_EQ(r.now(0), 2U);
}

/// More lines than a reader remembers at its first attempt: it has 1,024.
class long_reader : public on_tmpfs {
   protected:
    static constexpr u64 lines = 1'500;

    void SetUp() override {
        must(r.all().atomic([&](transaction& t) {
            words = reinterpret_cast<u64*>(t.allocate(64 * lines));
            for (u64 i = 0; i < lines; ++i) t.store(words + 8 * i, 0);
        }));
    }
    [[nodiscard]] u64 load(transaction& t, u64 line) const { return t.load(words + 8 * line); }
    void put_elsewhere(std::initializer_list<u64> to, u64 value) {
        std::thread([&] {
            must(r.all().atomic([&](transaction& t) {
                for (u64 line : to) t.store(words + 8 * line, value);
            }));
        }).join();
    }
    region_of_words r{file};
    u64* words = nullptr;
};

TEST_F(long_reader, that_has_forgotten_what_it_read_begins_anew) {
    int attempts = 0;
    must(r.all().read([&](transaction& t) {
        ++attempts;
        const u64 first = load(t, 0);
        for (u64 i = 1; i < 1'400; ++i) static_cast<void>(load(t, i));
        if (attempts == 1) put_elsewhere({0, 1'450}, 1);
        EXPECT_EQ(load(t, 1'450), first);
    }));
    EXPECT_EQ(attempts, 2);
}

// It reads by the clock no more than the former, for a commit is under way.
TEST_F(long_reader, that_has_forgotten_what_it_read_by_line_begins_anew) {
    if (!sync_points::exist) GTEST_SKIP() << "without persist points";
    sync_points points;
    points.hold(committing);
    std::thread writer(
        [&] { must(r.all().atomic([&](transaction& t) { t.store(words + 8 * 1'499, u64{1}); })); });
    points.await(committing);
    int attempts = 0;
    must(r.all().read([&](transaction& t) {
        if (++attempts == 1) {
            points.release(committing);
            writer.join();
        }
        const u64 first = load(t, 0);
        for (u64 i = 1; i < 1'400; ++i) static_cast<void>(load(t, i));
        if (attempts == 1) put_elsewhere({0, 1'450}, 1);
        EXPECT_EQ(load(t, 1'450), first);
    }));
    EXPECT_EQ(attempts, 2);
}

TEST_F(long_reader, remembers_at_its_second_attempt_and_moves_on) {
    int attempts = 0;
    must(r.all().read([&](transaction& t) {
        ++attempts;
        for (u64 i = 0; i < 1'400; ++i) static_cast<void>(load(t, i));
        put_elsewhere({1'450}, static_cast<u64>(attempts));
        EXPECT_EQ(load(t, 1'450), static_cast<u64>(attempts));
    }));
    EXPECT_EQ(attempts, 2);
}

TEST_F(long_reader, however_long_remembers_no_more_than_it_has_room_for) {
    for (const bool writes : {false, true}) {
        int attempts = 0;
        u64 sum = 0;
        const auto go_round = [&](transaction& t) {
            ++attempts;
            for (int round = 0; round < 200; ++round) {
                for (u64 i = 0; i < lines; ++i) sum += load(t, i);
            }
            if (writes) t.store(words, u64{0});
        };
        must(writes ? r.all().atomic(go_round) : r.all().read(go_round));
        EXPECT_EQ(attempts, 1);
        EXPECT_EQ(sum, 0U);
    }
}

TEST_F(long_reader, that_writes_knows_all_that_it_has_read) {
    for (const u64 changed : {u64{0}, u64{1'023}, u64{1'024}, lines - 1}) {
        int attempts = 0;
        must(r.all().atomic([&](transaction& t) {
            ++attempts;
            u64 sum = 0;
            for (u64 i = 0; i < lines; ++i) sum += load(t, i);
            if (attempts == 1) put_elsewhere({changed}, changed + 1);
            t.store(words + 1, sum);
        }));
        EXPECT_EQ(attempts, 2) << changed;
    }
    EXPECT_EQ(words[1], 1U + 1'024 + 1'025 + lines);
}

// Another thread commits while the reader validates what it has read, which takes long.
TEST_F(isolation, a_snapshot_moves_to_a_moment_before_the_validation) {
    constexpr u64 lines = 30'000;
    constexpr u64 rounds = 10;
    u64* words = nullptr;
    must(r.all().atomic([&](transaction& t) {
        words = reinterpret_cast<u64*>(t.allocate(64 * lines));
        for (u64 i = 0; i < lines; ++i) t.store(words + 8 * i, 0);
    }));
    const auto word = [&](u64 line) { return words + 8 * line; };
    for (u64 round = 1; round <= rounds; ++round) {
        std::atomic<bool> begins{false};
        std::thread writer([&] {
            while (!begins) {
            }
            must(r.all().atomic([&](transaction& t) {
                t.store(word(0), round);
                t.store(word(lines - 1), round);
            }));
        });
        bool is_first = true;
        must(r.all().atomic([&](transaction& t) {
            const u64 first = t.load(word(0));
            for (u64 i = 1; i < lines - 2; ++i) static_cast<void>(t.load(word(i)));
            if (std::exchange(is_first, false)) {
                std::thread([&] {
                    must(r.all().atomic([&](transaction& w) { w.store(word(lines - 2), round); }));
                }).join();
                begins = true;
            }
            EXPECT_EQ(t.load(word(lines - 2)), round);  // moves the snapshot
            EXPECT_EQ(t.load(word(lines - 1)), first) << "of two moments";
        }));
        writer.join();
    }
}

TEST_F(isolation, a_transaction_of_another_thread_is_refused) {
    must(r.all().atomic([&](transaction& outer) {
        outer.store(r.word(0), 1);
        std::thread([&] {
            const auto done = r.all().atomic([&](transaction& t) {
                t.store(r.word(128), 5);
                outer.store(r.word(64), 2);
            });
            ASSERT_FALSE(done);
            EXPECT_EQ(done.error().code, errc::usage);
            const auto allocated =
                r.all().atomic([&](transaction&) { std::ignore = outer.allocate(64); });
            ASSERT_FALSE(allocated);
            EXPECT_EQ(allocated.error().code, errc::usage);
            const std::array<u64, 8> line{2, 2, 2, 2, 2, 2, 2, 2};
            const auto whole = r.all().atomic(
                [&](transaction&) { outer.store_bytes(r.word(64), line.data(), line_size); });
            ASSERT_FALSE(whole);
            EXPECT_EQ(whole.error().code, errc::usage);
            EXPECT_DEATH(outer.store(r.word(64), 2), "used by its own thread only");
        }).join();
    }));
    EXPECT_EQ(r.now(0), 1U) << "the other one is not disturbed";
    EXPECT_EQ(r.now(64), 0U);
    EXPECT_EQ(r.now(128), 0U);
}

TEST_F(isolation, a_long_reader_gets_through_among_writers) {
    std::atomic<bool> stop{false};
    std::thread writer([&] {
        for (u64 i = 0; !stop; ++i) put(i % region_of_words::words, i);
    });
    u64 sum = 0;
    for (int i = 0; i < 20; ++i) {
        must(r.all().read([&](transaction& t) {
            for (int round = 0; round < 4; ++round) {
                for (u64 w = 0; w < region_of_words::words; ++w) sum += t.load(r.word(w));
            }
        }));
    }
    stop = true;
    writer.join();
    EXPECT_GT(sum + 1, 0U);
}

}  // namespace
}  // namespace hf::test
