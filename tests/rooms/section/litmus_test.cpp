// Figures 2 and 3 of the paper, and random programs with locks, killed and judged.
#include "base/random.hpp"
#include "section/history.hpp"
#include "section/opened_group.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

namespace hf {
namespace {

using test::history;
using test::store;

constexpr u32 variables = 6;
constexpr u32 locks = 4;

class section_litmus : public test::groups {
   protected:
    static u64* values() {
        hf_region* const r = hf_region_open("litmus");
        auto* v = static_cast<u64*>(hf_root_get(r, "values"));
        if (v == nullptr) {
            v = static_cast<u64*>(hf_zeroed(r, variables, sizeof(u64)));
            hf_root_set(r, "values", v);
        }
        return v;
    }
    /// Runs in a child that is killed at the end; the clock does not run.
    template <class Program>
    void run_and_kill(Program program) const {
        const int ended = test::in_child([&] {
            open();
            u64* const v = values();
            if (hf_wait_stable() != 0) return 1;
            program(v);
            ::raise(SIGKILL);
            return 0;
        });
        ASSERT_EQ(ended, 1000 + SIGKILL);
        open();
    }
    static bool can_cut() {
        bool cut = false;
        std::thread([&] { cut = hf_section_cut() == 0; }).join();
        return cut;
    }
};

// Figure 2: o1 reads what an inner section of o2 has stored, and ends; o2 has not ended.
TEST_P(section_litmus, figure_2_a_section_that_saw_an_unfinished_one_is_undone_with_it) {
    run_and_kill([](u64* v) {
        std::mutex l1;
        std::mutex l2;
        l2.lock();  // o2
        {
            const std::lock_guard inner(l1);
            store(v[0], u64{1});
        }
        std::thread([&] {  // o1
            const std::lock_guard guard(l1);
            store(v[1], v[0]);
        })
            .join();
        if (can_cut()) ::_exit(3);
    });
    EXPECT_EQ(values()[0], 0U);
    EXPECT_EQ(values()[1], 0U);
}

// Figure 3: the order is carried by a transient flag, in sections without persistent stores.
TEST_P(section_litmus, figure_3_order_through_transient_data_counts) {
    run_and_kill([](u64* v) {
        std::mutex l1;
        std::mutex l2;
        std::mutex l3;
        bool ready = false;
        l3.lock();  // d begins, and does not end
        {
            const std::lock_guard inner(l2);
            store(v[2], u64{1});
        }
        std::thread([&] {  // b, then c
            {
                const std::lock_guard guard(l2);
                store(v[3], v[2]);
            }
            store(v[0], u64{1});  // x, outside of all sections
            const std::lock_guard guard(l1);
            ready = true;
        })
            .join();
        std::thread([&] {  // a, then y
            {
                const std::lock_guard guard(l1);
                if (!ready) ::_exit(4);
            }
            store(v[1], v[0]);
        })
            .join();
        if (can_cut()) ::_exit(3);
    });
    for (u32 i = 0; i < variables; ++i) EXPECT_EQ(values()[i], 0U) << i;
}

TEST_P(section_litmus, when_all_sections_have_ended_a_cut_has_all_of_them) {
    run_and_kill([](u64* v) {
        std::mutex l1;
        {
            const std::lock_guard guard(l1);
            store(v[0], u64{1});
        }
        store(v[1], u64{2});
        if (!can_cut() || hf_wait_stable() != 0) ::_exit(3);
        store(v[2], u64{3});
    });
    EXPECT_EQ(values()[0], 1U);
    EXPECT_EQ(values()[1], 2U);
    EXPECT_EQ(values()[2], 0U);
}

// -------------------------------------------------------------------------------- random programs

/// Threads that take locks in ascending order, nested, hand over hand, or one at a time.
class random_program {
   public:
    random_program(history& h, u64* values) : told_(h), values_(values) {}

    void run(u32 thread, u64 seed) {
        xoshiro256ss random(seed * 31 + thread);
        while (section(thread, random)) {
        }
    }

   private:
    bool section(u32 thread, xoshiro256ss& random) {
        if (!tell(thread, {history::what::begin, 0, 0})) return false;
        const bool is_hand_over_hand = random.below(3) == 0;
        const bool stores = random.below(4) != 0;
        std::vector<u32> held;
        for (u32 l = static_cast<u32>(random.below(locks)); l < locks;
             l += 1 + static_cast<u32>(random.below(2))) {
            locks_[l].lock();
            held.push_back(l);
            if (!tell(thread, {history::what::acquire, l, ++told_.acquires[l]})) ::_exit(5);
            if (stores) change(thread, l, random);
            if (is_hand_over_hand && held.size() == 2) {
                locks_[held.front()].unlock();
                held.erase(held.begin());
            }
            if (random.below(2) == 0) break;
        }
        // Told before the last unlock: a section may have ended only if it says so.
        if (!tell(thread, {history::what::end, 0, 0})) ::_exit(5);
        for (const u32 l : held) locks_[l].unlock();
        return true;
    }
    /// Variables v with v % locks == l are under lock l.
    void change(u32 thread, u32 l, xoshiro256ss& random) {
        for (u32 v = l; v < variables; v += locks) {
            if (random.below(3) == 0) continue;
            if (!tell(thread, {history::what::store, v, values_[v] + 1})) ::_exit(5);
            store(values_[v], values_[v] + 1);
        }
    }
    bool tell(u32 thread, const history::event& e) {
        history::thread_log& log = told_.threads[thread];
        // Room is kept for the events of a section that has begun.
        if (e.kind == history::what::begin &&
            log.count.load(std::memory_order_relaxed) + 100 > history::max_events) {
            return false;
        }
        return log.tell(e);
    }

    history& told_;
    u64* values_;
    std::mutex locks_[locks];
};

TEST_P(section_litmus, random_programs_come_back_at_an_allowed_cut) {
    void* const shared =
        ::mmap(nullptr, sizeof(history), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    u64 kept = 0;
    std::size_t sections = 0;
    for (u64 seed = 1; seed <= 12 || (kept == 0 && seed <= 60); ++seed) {
        auto& told = *::new (shared) history;
        const pid_t child = ::fork();
        if (child == 0) {
            auto o = options();
            o.by_hand = 0;
            o.period_us = 1000;
            if (!is_graph()) o.patience_us = 2000;
            if (hf_group_open(file.c_str(), &o) != 0) ::_exit(2);
            random_program program(told, values());
            std::vector<std::thread> threads;
            for (u32 t = 0; t < 3; ++t) threads.emplace_back([&, t] { program.run(t, seed); });
            for (auto& t : threads) t.join();
            for (;;) ::pause();
        }
        ASSERT_GT(child, 0);
        while (told.threads[0].count.load() < 200 && ::waitpid(child, nullptr, WNOHANG) == 0) {
            ::usleep(1000);
        }
        ::usleep(static_cast<useconds_t>(5'000 + seed * 3000));
        ::kill(child, SIGKILL);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
        open();
        const u64* const v = values();
        const test::cut_checker checker(told);
        const auto wrong = checker.judge({v, variables});
        EXPECT_FALSE(wrong) << "seed " << seed << ": " << *wrong;
        for (u32 i = 0; i < variables; ++i) kept += v[i];
        sections += checker.sections();
        ASSERT_EQ(hf_group_close(), 0) << hf_section_error();
        ::unlink(file.c_str());
    }
    EXPECT_GT(kept, 0U) << "of " << sections << " sections some were in a cut";
    ::munmap(shared, sizeof(history));
}

// The checker itself: it refuses what the paper refuses.
TEST(cut_checker, refuses_parts_of_sections_and_lost_predecessors) {
    const auto h = std::make_unique<history>();
    auto& t0 = h->threads[0];
    auto& t1 = h->threads[1];
    using what = history::what;
    // o2 holds lock 1 throughout, stores x under lock 0; o1 takes lock 0 after it and stores y.
    t1.tell({what::begin, 0, 0});
    t1.tell({what::acquire, 1, 1});
    t1.tell({what::acquire, 0, 1});
    t1.tell({what::store, 0, 1});
    t1.tell({what::store, 2, 1});
    t0.tell({what::begin, 0, 0});
    t0.tell({what::acquire, 0, 2});
    t0.tell({what::store, 1, 1});
    t0.tell({what::end, 0, 0});
    const auto judged = [&](u64 x, u64 y, u64 z) {
        const u64 values[] = {x, y, z};
        return test::cut_checker(*h).judge(values).has_value();
    };
    EXPECT_FALSE(judged(0, 0, 0));
    EXPECT_TRUE(judged(1, 1, 1)) << "o2 has not ended";
    EXPECT_TRUE(judged(0, 1, 0)) << "o1 without o2";
    t1.tell({what::end, 0, 0});
    EXPECT_FALSE(judged(1, 1, 1));
    EXPECT_FALSE(judged(1, 0, 1));
    EXPECT_TRUE(judged(1, 0, 0)) << "a part of o2";
    EXPECT_TRUE(judged(0, 1, 0)) << "o1 without o2";
}

INSTANTIATE_TEST_SUITE_P(stores, section_litmus, test::all_ways(), test::name_of);

}  // namespace
}  // namespace hf
