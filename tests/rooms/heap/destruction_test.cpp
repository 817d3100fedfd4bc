// Destruction that is cut short, again and again; and kills at any moment.
#include "heap/core.hpp"
#include "heap_of_nodes.hpp"
#include "persist/persist_point.hpp"
#include "support/sync_points.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

namespace hf::test {
namespace {

int commits_before_end = 0;

void end_at_a_commit(const char* name) {
    if (std::strncmp(name, "transaction T1", 14) == 0 && commits_before_end-- == 0) _exit(0);
}

struct line_of_its_own {
    static constexpr std::string_view nv_name = "line of its own";
    nv::p<u64> a, b, c, d, e, f;
};

class destruction : public on_tmpfs {
   protected:
    void build(int nodes) {
        auto heap = open_heap(file);
        auto head = must(heap.root<node>("head"));
        for (int done = 0; done < nodes; done += 1'000) {
            must(heap.atomic([&](nv::tx<>& tx) {
                for (int i = 0; i < 1'000; ++i) head.set(tx, tx.make<node>(i, head.get()));
            }));
        }
    }
    /// How many objects are left where a process ends at the n-th commit from here.
    template <class F>
    void cut_short(int commits, F&& body) {
        ASSERT_EQ(in_child([&] {
                      commits_before_end = commits;
                      body();
                      return 1;
                  }),
                  0);
    }
};

TEST_F(destruction, goes_on_where_it_was_cut_short_twice) {
    if (!sync_points::exist) GTEST_SKIP() << "without persist points";
    build(50'000);
    cut_short(20, [&] {
        auto heap = open_heap(file);
        auto head = must(heap.root<node>("head"));
        set_persist_point_hook(end_at_a_commit);
        must(heap.atomic([&](nv::tx<>& tx) { head.set(tx, nullptr); }));
    });
    // Openings go on with it; two of them end in the middle, too.
    for (int i = 0; i < 2; ++i) {
        cut_short(9, [&] {
            set_persist_point_hook(end_at_a_commit);
            auto heap = open_heap(file);
        });
    }
    auto heap = open_heap(file);
    const auto recovered = heap.numbers().commits;
    EXPECT_GT(recovered, 5U);
    EXPECT_LT(recovered, 20U) << "39 of 50 thousand had been destroyed before";
    EXPECT_EQ(sound(heap).objects, 0U);
}

TEST_F(destruction, is_never_recursive) {
    build(200'000);
    auto heap = open_heap(file);
    auto head = must(heap.root<node>("head"));
    must(heap.atomic([&](nv::tx<>& tx) { head.set(tx, nullptr); }));
    EXPECT_EQ(sound(heap).objects, 0U);
}

struct toll {
    static constexpr std::string_view nv_name = "toll";
    nv::p<int> deaths;
};
struct counted_node {
    static constexpr std::string_view nv_name = "counted_node";
    nv::ptr<toll> to;
    nv::ptr<counted_node> next;
    void nv_destroy(nv::tx<>& tx) { to->deaths.set(tx, to->deaths + 1); }
};

TEST_F(destruction, runs_each_destructor_once_though_crashes_cut_it_short) {
    if (!sync_points::exist) GTEST_SKIP() << "without persist points";
    constexpr int nodes = 10'000;
    cut_short(5, [&] {
        auto heap = open_heap(file);
        auto t = must(heap.root<toll>("toll"));
        auto head = must(heap.root<counted_node>("head"));
        must(heap.atomic([&](nv::tx<>& tx) {
            auto one = tx.make<toll>(0);
            t.set(tx, one);
            for (int i = 0; i < nodes; ++i) {
                head.set(tx, tx.make<counted_node>(one, head.get()));
            }
        }));
        set_persist_point_hook(end_at_a_commit);
        must(heap.atomic([&](nv::tx<>& tx) { head.set(tx, nullptr); }));
    });
    // The destructor is not known before the program names the type.
    cut_short(0, [&] {
        auto heap = open_heap(file);
        EXPECT_EQ(sound(heap).doomed, 1U);
        set_persist_point_hook(end_at_a_commit);
        commits_before_end = 3;
        (void)must(heap.root<counted_node>("head"));
    });
    auto heap = open_heap(file);
    EXPECT_EQ(sound(heap).doomed, 1U);
    must(heap.learn<counted_node>());
    EXPECT_EQ(sound(heap).doomed, 0U);
    auto t = must(heap.root<toll>("toll"));
    EXPECT_EQ(must(heap.read([&](nv::tx<>&) { return int{t->deaths}; })), nodes);
    EXPECT_EQ(sound(heap).objects, 1U);
}

template <int Number>
struct kind_of_node {
    static constexpr std::string_view nv_name = Number == 1 ? "first kind" : "second kind";
    nv::ptr<kind_of_node> next;
    static inline int deaths = 0;
    void nv_destroy(nv::tx<>&) { ++deaths; }
};
template <int Number>
void build_kind(nv::heap<>& heap, int nodes) {
    auto head = must(heap.root<kind_of_node<Number>>(kind_of_node<Number>::nv_name));
    must(heap.atomic([&](nv::tx<>& tx) {
        for (int i = 0; i < nodes; ++i) {
            head.set(tx, tx.make<kind_of_node<Number>>(head.get()));
        }
    }));
}

// Dead objects of several types wait: to name one of these types leaves the others waiting.
TEST_F(destruction, of_several_unknown_types_waits_for_each) {
    if (!sync_points::exist) GTEST_SKIP() << "without persist points";
    using one = kind_of_node<1>;
    using two = kind_of_node<2>;
    constexpr int nodes = 2'500;
    cut_short(1, [&] {
        auto heap = open_heap(file);
        build_kind<1>(heap, nodes);
        build_kind<2>(heap, nodes);
        auto first = must(heap.root<one>(one::nv_name));
        auto second = must(heap.root<two>(two::nv_name));
        set_persist_point_hook(end_at_a_commit);
        must(heap.atomic([&](nv::tx<>& tx) {
            first.set(tx, nullptr);
            second.set(tx, nullptr);
        }));
    });
    auto heap = open_heap(file);
    const u64 all = sound(heap).objects;
    EXPECT_GT(all, u64{nodes}) << "one transaction destroys fewer";
    must(heap.learn<two>());
    EXPECT_EQ(one::deaths, 0);
    EXPECT_GT(two::deaths, 0);
    EXPECT_EQ(sound(heap).objects, all - static_cast<u64>(two::deaths));
    must(heap.learn<one>());
    EXPECT_EQ(static_cast<u64>(one::deaths + two::deaths), all);
    EXPECT_EQ(sound(heap).objects, 0U);
}

// Then an attempt in the middle of it ends, and is retried after the epoch's end: two records of
// the reclamation in one transaction take less than three quarters of a log's page, three more than
// all of it.
TEST_F(destruction, reclaims_each_orphan_where_logs_run_full) {
    nv::heap_options o = small_heap();
    o.region.max_size = u64{8} << 20;  // with logs of a page
    for (const bool is_killed : {true, false}) {
        ASSERT_EQ(in_child([&] {
                      auto heap = open_heap(file, o);
                      std::vector<nv::ref<node>> kept(6'000);
                      std::vector<nv::ref<line_of_its_own>> others(kept.size());
                      for (std::size_t i = 0; i < kept.size(); i += 100) {
                          must(heap.atomic([&](nv::tx<>& tx) {
                              for (std::size_t k = i; k < i + 100; ++k) {
                                  kept[k] = tx.make<node>(1, nullptr);
                                  others[k] = tx.make<line_of_its_own>();
                              }
                          }));
                      }
                      EXPECT_EQ(must(heap.check()).orphans, 2 * kept.size());
                      if (is_killed) _exit(0);
                      must(heap.close());
                      _exit(0);
                      return 0;
                  }),
                  0);
        auto heap = open_heap(file, o);
        EXPECT_EQ(sound(heap).orphans, 0U);
        EXPECT_EQ(sound(heap).objects, 0U);
    }
}

TEST_F(destruction, a_kill_at_any_moment_leaves_a_sound_heap) {
    for (int round = 0; round < 12; ++round) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            auto heap = open_heap(file);
            auto head = must(heap.root<node>("head"));
            std::vector<nv::ref<node>> kept;
            for (int i = 0;; ++i) {
                must(heap.atomic([&](nv::tx<>& tx) {
                    if (i % 50 == 49) {
                        kept.emplace_back(head.get());
                        head.set(tx, nullptr);
                    }
                    head.set(tx, tx.make<node>(i, head.get()));
                    if (i % 7 == 6) head.set(tx, head->next);
                }));
                if (kept.size() == 5) kept.clear();
            }
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20 + 7 * round));
        ASSERT_EQ(kill(child, SIGKILL), 0);
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself";
        auto heap = open_heap(file);
        const nv::heap_report found = sound(heap);
        EXPECT_EQ(found.orphans, 0U);
        EXPECT_EQ(found.doomed, 0U);
        EXPECT_EQ(found.unreachable, 0U);
    }
}

}  // namespace
}  // namespace hf::test
