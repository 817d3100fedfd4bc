// bench/layers/operations.hpp: the cost of single operations of the heap: table 1 of the paper.
#pragma once

#include "base/clock.hpp"
#include "bench/layers/workload.hpp"
#include "bench/quantile.hpp"

namespace hf::bench {

template <class L>
class operations {
   public:
    using on = nv::on<L>;
    using tx = typename on::tx;
    struct cell {
        typename on::template p<u64> value;
        typename on::template ptr<cell> next;
    };
    struct place {
        typename on::template ptr<cell> strong;
        typename on::template weak<cell> weak;
        typename on::template ptr<cell> a;
        typename on::template ptr<typename on::template ptr<cell>[]> many;
    };
    using target = typename on::template cursor<cell>;

    explicit operations(typename on::heap& heap)
        : heap_(heap), root_(must_give(heap.template root<place>("operations"))) {
        must_give(heap_.atomic([&](tx& t) {
            root_.set(t, t.template make<place>());
            root_->a.set(t, t.template make<cell>());
            root_->many.set(t,
                            t.template make_array<typename on::template ptr<cell>[]>(most_at_once));
        }));
        for (unsigned i = 0; i < most_at_once; ++i) {
            must_give(
                heap_.atomic([&](tx& t) { root_->many.get()[i].set(t, t.template make<cell>()); }));
        }
    }
    /// Returns medians.
    [[nodiscard]] std::vector<operation_time> time(u64 rounds, unsigned runs) {
        rounds_ = rounds;
        runs_ = runs;
        for (const unsigned n : {1U, most_at_once}) time_in_transactions(n);
        measure("nop tx", 1, [](tx&, unsigned) {});
        return std::move(found_);
    }

   private:
    static constexpr unsigned most_at_once = 100;

    void time_in_transactions(unsigned n) {
        measure("new/delete", n, [](tx& t, unsigned) {
            const target made = t.template make<cell>();
            on::template dispose<cell>(t, made);
        });
        measure("V-to-NV ptr", n, [this](tx&, unsigned) {
            typename on::template ref<cell> r = root_->a.get();
            asm volatile("" : "+m"(r));
            r = nullptr;
        });
        measure("NV-to-NV ptr", n, [this](tx& t, unsigned) {
            root_->strong.set(t, root_->a.get());
            root_->strong.set(t, nullptr);
        });
        if constexpr (on::counts) {
            measure("weak NV-to-NV ptr", n, [this](tx& t, unsigned) {
                root_->weak.set(t, root_->a.get());
                root_->weak.set(t, nullptr);
            });
        }
        measure("log for read", n,
                [this](tx&, unsigned i) { sink_ = root_->many.get().first()[i]->value; });
        measure("log for write", n,
                [this](tx& t, unsigned i) { root_->many.get().first()[i]->value.set(t, ++sink_); });
    }
    template <class F>
    void measure(const char* what, unsigned n, F&& operation) {
        std::vector<double> ns;
        const u64 transactions = std::max<u64>(1, rounds_ / n);
        for (unsigned run = 0; run <= runs_; ++run) {  // the first one is a warm-up
            const u64 start = now_ns();
            for (u64 i = 0; i < transactions; ++i) {
                must_give(heap_.atomic([&](tx& t) {
                    for (unsigned k = 0; k < n; ++k) operation(t, k);
                }));
            }
            const auto took = static_cast<double>(now_ns() - start);
            if (run != 0) ns.push_back(took / static_cast<double>(transactions * n));
        }
        found_.push_back({what, n, median(ns)});
    }

    typename on::heap& heap_;
    typename on::template root<place> root_;
    std::vector<operation_time> found_;
    u64 rounds_ = 0;
    unsigned runs_ = 0;
    u64 sink_ = 0;
};

}  // namespace hf::bench
