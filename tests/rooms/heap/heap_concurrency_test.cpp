// Threads that make, share and drop objects, and references to them.
#include "base/random.hpp"
#include "heap_of_nodes.hpp"
#include "transaction/engine_kind.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace hf::test {
namespace {

constexpr unsigned threads = 3;
constexpr unsigned slots = 8;

struct table_of_nodes {
    static constexpr std::string_view nv_name = "table";
    nv::array<nv::ptr<node>, slots> slot;
    nv::array<nv::weak<node>, slots> seen;
};

class heap_threads : public on_tmpfs, public ::testing::WithParamInterface<engine_kind> {
   public:
    heap_threads() {
        nv::heap_options o = small_heap();
        o.engine = static_cast<nv::engine>(GetParam());
        heap.emplace(open_heap(file, o));
        table.emplace(must(heap->root<table_of_nodes>("table")));
        must(heap->atomic([&](nv::tx<>& tx) { table->set(tx, tx.make<table_of_nodes>()); }));
    }
    void run(void (heap_threads::*body)(unsigned)) {
        std::vector<std::thread> all;
        for (unsigned t = 0; t < threads; ++t)
            all.emplace_back([this, body, t] { (this->*body)(t); });
        for (std::thread& t : all) t.join();
    }
    void churn(unsigned thread);
    void churn_references(unsigned thread);
    std::optional<nv::heap<>> heap;
    std::optional<nv::root<table_of_nodes>> table;
    static constexpr int rounds = 10'000;
};

void heap_threads::churn(unsigned thread) {
    splitmix64 random(thread);
    for (int i = 0; i < rounds; ++i) {
        const unsigned a = static_cast<unsigned>(random() % slots);
        const unsigned b = static_cast<unsigned>(random() % slots);
        const u64 what = random() % 5;
        must(heap->atomic([&](nv::tx<>& tx) {
            table_of_nodes& t = *table->get();
            if (what < 2) {
                t.slot[a].set(tx, tx.make<node>(i, t.slot[b].get()));
            } else if (what == 2) {
                t.slot[a].set(tx, t.slot[b]);
            } else if (what == 3) {
                t.slot[a].set(tx, nullptr);
            } else {
                t.seen[a].set(tx, t.slot[b]);
            }
        }));
    }
}

void heap_threads::churn_references(unsigned thread) {
    splitmix64 random(100 + thread);
    std::vector<nv::ref<node>> kept(4);
    std::vector<nv::weak_ref<node>> seen(4);
    for (int i = 0; i < rounds; ++i) {
        const unsigned a = static_cast<unsigned>(random() % slots);
        const std::size_t k = random() % kept.size();
        const u64 what = random() % 6;
        if (what == 0) kept[k] = nullptr;
        must(heap->atomic([&](nv::tx<>& tx) {
            table_of_nodes& t = *table->get();
            if (what == 1) {
                kept[k] = t.slot[a].get();
            } else if (what == 2) {
                t.slot[a].set(tx, kept[k]);
            } else if (what == 3) {
                t.slot[a].set(tx, tx.make<node>(i));
            } else if (what == 4) {
                seen[k] = t.slot[a].get();
            } else if (const auto s = seen[k].get()) {
                t.slot[a].set(tx, s);
            }
            if (kept[k]) kept[k]->value.set(tx, i);
        }));
    }
}

TEST_P(heap_threads, counts_are_exact_behind_them) {
    run(&heap_threads::churn);
    sound(*heap);
}

TEST_P(heap_threads, references_hold_what_others_drop) {
    run(&heap_threads::churn_references);
    EXPECT_EQ(sound(*heap).orphans, 0U);
}

std::atomic<bool> is_dying{false};
std::atomic<bool> was_looked_for{false};

/// Pauses between the check for references to it and the commit that ends it.
struct slow_to_die {
    static constexpr std::string_view nv_name = "slow_to_die";
    nv::p<int> value;
    void nv_destroy(nv::tx<>&) {
        is_dying = true;
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
        while (!was_looked_for && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    }
};

TEST_P(heap_threads, who_only_reads_gets_no_reference_to_what_another_lets_die) {
    is_dying = false;
    was_looked_for = false;
    auto it = must(heap->root<slow_to_die>("it"));
    must(heap->atomic([&](nv::tx<>& tx) { it.set(tx, tx.make<slow_to_die>(1)); }));
    std::thread other([&] { must(heap->atomic([&](nv::tx<>& tx) { it.set(tx, nullptr); })); });
    while (!is_dying) std::this_thread::yield();
    nv::ref<slow_to_die> kept;
    must(heap->read([&](nv::tx<>&) { kept = it.get(); }));
    was_looked_for = true;
    other.join();
    EXPECT_FALSE(kept) << "it leads to an object that has died";
    kept = nullptr;
    sound(*heap);
}

INSTANTIATE_TEST_SUITE_P(of, heap_threads,
                         ::testing::ValuesIn(all_engines().begin(), all_engines().end()),
                         [](const auto& i) { return std::string(to_string(i.param)); });

}  // namespace
}  // namespace hf::test
