// Operations that are interrupted by another: answer and result are as if one had run before the
// other.
#include "store/operations.hpp"
#include "support/sync_points.hpp"
#include "support/temporary_store.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hf::test {
namespace {

using outcome = store::outcome;

/// A large record is prepared, and not linked yet.
constexpr const char* ready = "store V1";
constexpr std::size_t large = 70'000;

/// The results of two operations on a record.
struct end {
    std::optional<outcome> first;
    std::optional<outcome> second;
    std::optional<content> left;

    [[nodiscard]] std::string text() const {
        std::string all;
        for (const auto& one : {first, second}) {
            all += (one ? std::string(to_string(*one)) : "refused") + ", ";
        }
        if (!left) return all + "nothing is left";
        return all + std::to_string(left->data.size()) + " bytes from " + left->data.substr(0, 4) +
               " to " + left->data.substr(left->data.size() - 2) + ", flags " +
               std::to_string(left->about.flags) + ", until " + std::to_string(left->about.expires);
    }
};

class store_interrupted : public ::testing::Test {
   protected:
    void SetUp() override {
        if (!sync_points::exist) GTEST_SKIP() << "built without persist points";
    }

    /// All operations with one of these names.
    static std::vector<operation> named(const std::set<std::string>& names,
                                        const std::string& data) {
        std::vector<operation> all = all_operations(data);
        std::erase_if(all, [&](const operation& o) { return !names.contains(o.name); });
        EXPECT_EQ(all.size(), names.size());
        return all;
    }
    static std::vector<operation> interruptions() {
        auto all = named({"set", "cas", "append", "remove", "touch"}, "small");
        const auto more = [&](std::string name, auto run) {
            all.push_back({std::move(name), run, outcome::stored, outcome::stored, stays});
        };
        more("flush_all", [](store& s, const subject&) { return s.flush_all(); });
        more("touch to the past", [](store& s, const subject& r) { return s.touch(r.key, 1); });
        more("set to large", [](store& s, const subject& r) {
            return s.set(r.key, std::string(large + 1, 'o'), {1, 0});
        });
        return all;
    }
    /// A new record; `dead`: it has expired.
    subject fresh_subject(bool there, bool dead) {
        subject r{"key " + std::to_string(++subjects), {std::string(large, '7'), {3, 0}}, 1};
        if (there) r.unique = must(s->set(r.key, r.old.data, r.old.about)).number;
        if (dead) must(s->touch(r.key, 1));
        return r;
    }
    std::optional<outcome> run(const operation& o, const subject& r) {
        const auto done = o.run(*s, r);
        return done ? std::optional(done->what) : std::nullopt;
    }
    std::optional<content> left_of(const subject& r) {
        store::record found;
        if (!must(s->get(r.key, found))) return std::nullopt;
        return content{std::string(found.data()), found.about};
    }

    sync_points points;  // outlives the store's clock, which uses its hook
    temporary_store s;
    unsigned subjects = 0;
};

TEST_F(store_interrupted, a_large_record_is_written_as_if_nobody_had_come_between) {
    const auto all =
        named({"set", "add", "replace", "cas", "append", "prepend", "touch", "get_and_touch"},
              std::string(large, 'n'));
    for (const operation& outer : all) {
        for (const operation& inner : interruptions()) {
            for (const auto& [there, dead] :
                 {std::pair(true, false), std::pair(false, false), std::pair(true, true)}) {
                if (!there && outer.where_absent != outcome::stored) continue;
                const auto behind = fresh_subject(there, dead);
                end one{run(outer, behind), run(inner, behind), left_of(behind)};
                const auto before = fresh_subject(there, dead);
                end two;
                two.second = run(inner, before);
                two.first = run(outer, before);
                two.left = left_of(before);

                const auto r = fresh_subject(there, dead);
                end found;
                {
                    points.hold(ready);
                    std::atomic<bool> done{false};
                    std::thread other([&] {
                        found.first = run(outer, r);
                        done = true;
                    });
                    while (!done && !points.is_held(ready)) std::this_thread::yield();
                    // An operation that does not reach the point is over; then no other must be
                    // stopped there.
                    if (!points.is_held(ready)) points.release(ready);
                    found.second = run(inner, r);
                    points.release(ready);
                    other.join();
                }
                found.left = left_of(r);
                EXPECT_TRUE(found.text() == one.text() || found.text() == two.text())
                    << outer.name << " and in the middle of it " << inner.name << " of one that "
                    << (dead    ? "is dead"
                        : there ? "is there"
                                : "is not there")
                    << "\n  came to  " << found.text() << "\n  and not  " << one.text()
                    << "\n  nor      " << two.text();
            }
        }
    }
}

// Otherwise the record would exist for a moment, expired, and occupy space.
TEST_F(store_interrupted, what_a_flush_has_overtaken_is_not_put_in_place) {
    must(s->flush_all());
    const std::string ready_again = std::string(ready) + ":";
    points.hold(ready);
    points.hold(ready_again);
    std::thread other(
        [&] { EXPECT_EQ(must(s->set("k", std::string(large, 'x'))).what, outcome::stored); });
    points.await(ready);
    const auto once = s->stats().allocated_bytes;
    must(s->flush_all());
    points.release(ready);
    points.await(ready_again);
    EXPECT_LT(s->stats().allocated_bytes, once + large / 2);
    points.release(ready_again);
    other.join();
    store::record found;
    EXPECT_TRUE(must(s->get("k", found)));
}

// A number that was allocated before a flush must not be stored in a record that was written after
// it.
TEST_F(store_interrupted, counting_takes_nothing_away_that_was_stored_behind_a_flush) {
    constexpr int counting = 4;
    temporary_store without_clock{std::chrono::microseconds(0)};
    store* const kept = &*without_clock;
    store::record found;
    for (int round = 0; round < 20 && !HasFailure(); ++round) {
        // Keys with the same first eight bytes are in separate nodes, away from the store's own
        // record; with one more key the node splits, and is locked while it is logged.
        const std::string begin = std::to_string(10'000'000 + round);
        for (char c = 'a'; c < 'o'; ++c) must(kept->set(begin + c, "1"));
        must(kept->sync());
        points.hold("undo L1");
        std::thread splitting([&] {
            for (char c = 'o'; c < 'z'; ++c) must(kept->set(begin + c, "1"));
        });
        points.await("undo L1");
        std::atomic<int> begun{0};
        std::vector<std::thread> others;
        for (int i = 0; i < counting; ++i) {
            others.emplace_back([&] {
                ++begun;
                must(kept->incr(begin + "a", 1));
            });
        }
        while (begun < counting) std::this_thread::yield();
        must(kept->flush_all());
        std::thread storing([&] { must(kept->set(begin + "a", "5")); });
        points.release("undo L1");
        for (auto& t : others) t.join();
        storing.join();
        splitting.join();
        EXPECT_TRUE(must(kept->get(begin + "a", found))) << "it was stored behind the flush";
    }
}

}  // namespace
}  // namespace hf::test
