// bench/layers/array.hpp: SPS, random swaps of elements of an array.
#pragma once

#include "bench/layers/workload.hpp"

#include <algorithm>
#include <array>

namespace hf::bench {

template <class On>
class array_of {
   public:
    using tx = typename On::tx;
    using word = typename On::template p<u64>;

    array_of(typename On::heap& heap, const work_options& o)
        : heap_(heap),
          elements_(o.elements),
          swaps_(o.swaps),
          root_(must_give(heap.template root<word[]>("array"))) {
        if (swaps_ > most_swaps) throw std::runtime_error("so many swaps make no step");
    }
    void make(u64) {
        must_give(
            heap_.atomic([&](tx& t) { root_.set(t, t.template make_array<word[]>(elements_)); }));
        for (u64 at = 0; at < elements_; at += at_once) {
            must_give(heap_.atomic([&](tx& t) {
                word* const all = root_.get().first();
                const u64 end = std::min(at + at_once, elements_);
                for (u64 i = at; i < end; ++i) all[i].set(t, i);
            }));
        }
    }
    u64 step(xoshiro256ss& random, const zipfian* skewed) {
        std::array<std::pair<u64, u64>, most_swaps> places;
        for (u64 i = 0; i < swaps_; ++i) {
            places[i] = {draw(random, skewed, elements_), draw(random, skewed, elements_)};
        }
        return must_give(heap_.atomic([&](tx& t) -> u64 {
            word* const all = root_.get().first();
            u64 sum = 0;
            for (u64 i = 0; i < swaps_; ++i) {
                const auto [a, b] = places[i];
                const u64 old = all[a];
                all[a].set(t, all[b].get());
                all[b].set(t, old);
                sum += old;
            }
            return sum;
        }));
    }
    [[nodiscard]] u64 digest() {
        return must_give(heap_.read([&](tx&) -> u64 {
            word* const all = root_.get().first();
            u64 sum = 0;
            for (u64 i = 0; i < elements_; ++i) sum = mixed(sum, all[i].get());
            return sum;
        }));
    }

   private:
    static constexpr u64 most_swaps = 256;
    static constexpr u64 at_once = 4096;
    typename On::heap& heap_;
    u64 elements_;
    u64 swaps_;
    typename On::template root<word[]> root_;
};

}  // namespace hf::bench
