// bench/layers/made_on.hpp: a workload on one layer. Each layer has a source file, so that they are
// compiled separately.
#pragma once

#include "bench/layers/array.hpp"
#include "bench/layers/b_tree.hpp"
#include "bench/layers/hash_table.hpp"
#include "bench/layers/item_store.hpp"
#include "bench/layers/operations.hpp"
#include "bench/layers/red_black_tree.hpp"
#include "bench/layers/six_degrees.hpp"
#include "bench/layers/sparse_graph.hpp"

#include <algorithm>

namespace hf::bench {

template <class L>
std::unique_ptr<paper_work> open_on(const work_options& o);
template <class L>
std::vector<operation_time> time_operations_on(const work_options& o, u64 rounds, unsigned runs);

/// Structures with keys, searched and changed by toggle().
template <class On, class Map>
class map_of {
   public:
    using tx = typename On::tx;
    map_of(typename On::heap& heap, const work_options& o)
        : heap_(heap), elements_(o.elements), root_(must_give(heap.template root<Map>("map"))) {}
    /// Inserts half of all keys, in random order.
    void make(u64 seed) {
        must_give(heap_.atomic([&](tx& t) {
            root_.set(t, t.template make<Map>());
            root_->make(t, elements_);
        }));
        xoshiro256ss random(seed);
        std::vector<u64> keys;
        for (u64 k = 0; k < 2 * elements_; ++k) {
            if (random.below(2) == 0) keys.push_back(k);
        }
        for (std::size_t i = keys.size(); i > 1; --i) std::swap(keys[i - 1], keys[random.below(i)]);
        for (std::size_t i = 0; i < keys.size(); i += at_once) {
            must_give(heap_.atomic([&](tx& t) {
                const std::size_t end = std::min(i + at_once, keys.size());
                for (std::size_t k = i; k < end; ++k) (void)root_->toggle(t, keys[k]);
            }));
        }
    }
    u64 step(xoshiro256ss& random, const zipfian* skewed) {
        const u64 key = draw(random, skewed, 2 * elements_);
        return must_give(heap_.atomic([&](tx& t) -> u64 { return root_->toggle(t, key) ? 1 : 0; }));
    }
    [[nodiscard]] u64 digest() {
        return must_give(heap_.read([&](tx&) -> u64 {
            u64 sum = 0;
            root_->for_each([&](u64 key) { sum += splitmix64(key)(); });
            return sum;
        }));
    }

   private:
    static constexpr std::size_t at_once = 64;
    typename On::heap& heap_;
    u64 elements_;
    typename On::template root<Map> root_;
};

template <class L>
nv::heap_options heap_options_on(const work_options& o) {
    nv::heap_options h;
    h.region.flush = flush_policy::always;
    h.region.fence_latency_ns = o.fence_latency_ns;
    h.region.medium = o.medium;
    h.region.initial_size = o.bytes / 4;
    h.engine = o.engine;
    return h;
}

template <class L, class Work>
class workload_on final : public paper_work {
   public:
    using on = nv::on<L>;
    explicit workload_on(const work_options& o)
        : seed_(o.seed),
          heap_(must_give(on::open(o.directory / "heap.hf", o.bytes, heap_options_on<L>(o)))),
          work_(heap_, o) {}
    [[nodiscard]] bool has_threads() const override { return on::has_threads; }
    void make() override { work_.make(seed_); }
    u64 step(xoshiro256ss& random, const zipfian* skewed) override {
        return work_.step(random, skewed);
    }
    [[nodiscard]] u64 digest() override { return work_.digest(); }
    [[nodiscard]] std::string complaints() override {
        std::string all;
        if constexpr (on::counts) {
            const nv::heap_report r = must_give(heap_.check());
            for (const std::string& v : r.violations) all += v + "\n";
            if (r.unreachable != 0) all += "objects that nothing leads to\n";
        }
        return all;
    }

   private:
    u64 seed_;
    typename on::heap heap_;
    Work work_;
};

template <class L>
std::unique_ptr<paper_work> open_on(const work_options& o) {
    using on = nv::on<L>;
    switch (o.work) {
        case work_kind::sps:
            return std::make_unique<workload_on<L, array_of<on>>>(o);
        case work_kind::six_degrees:
            return std::make_unique<workload_on<L, six_degrees<on>>>(o);
        case work_kind::b_tree:
            return std::make_unique<workload_on<L, map_of<on, b_tree<on>>>>(o);
        case work_kind::hash_table:
            return std::make_unique<workload_on<L, map_of<on, hash_table<on>>>>(o);
        case work_kind::red_black:
            return std::make_unique<workload_on<L, map_of<on, red_black_tree<on>>>>(o);
        case work_kind::ssca:
            return std::make_unique<workload_on<L, sparse_graph<on>>>(o);
        case work_kind::cache:
            return std::make_unique<workload_on<L, item_store<on>>>(o);
    }
    throw std::runtime_error("there is no such workload");
}

template <class L>
std::vector<operation_time> time_operations_on(const work_options& o, u64 rounds, unsigned runs) {
    using on = nv::on<L>;
    auto heap = must_give(on::open(o.directory / "heap.hf", o.bytes, heap_options_on<L>(o)));
    return operations<L>(heap).time(rounds, runs);
}

}  // namespace hf::bench
