// bench/layers/item_store.hpp: memcached's workload (section 5.6 of the paper): a hash table of
// items with keys of 16 and values of 512 bytes; each step inserts an item, or deletes it if it
// exists.
#pragma once

#include "bench/layers/workload.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <span>

namespace hf::bench {

template <class On>
class item_store {
   public:
    using tx = typename On::tx;
    static constexpr std::size_t value_bytes = 512;
    struct item {
        typename On::template p<u64> key_high;
        typename On::template p<u64> key_low;
        typename On::template ptr<item> next;
        nv::bytes<value_bytes> value;
    };
    using link = typename On::template ptr<item>;

    item_store(typename On::heap& heap, const work_options& o)
        : heap_(heap),
          items_(2 * o.elements),
          root_(must_give(heap.template root<link[]>("items"))) {}

    void make(u64 seed) {
        must_give(heap_.atomic(
            [&](tx& t) { root_.set(t, t.template make_array<link[]>(std::bit_ceil(items_))); }));
        xoshiro256ss random(seed);
        for (u64 k = 0; k < items_; ++k) {
            if (random.below(2) == 0) (void)toggle(k);
        }
    }
    u64 step(xoshiro256ss& random, const zipfian* skewed) {
        return toggle(draw(random, skewed, items_));
    }
    [[nodiscard]] u64 digest() {
        return must_give(heap_.read([&](tx&) -> u64 {
            u64 sum = 0;
            const auto all = root_.get();
            for (u64 i = 0; i < all.size(); ++i) {
                for (auto e = all.first()[i].get(); e; e = e->next.get()) {
                    std::array<u64, value_bytes / 8> words;
                    e->value.get(std::as_writable_bytes(std::span(words)));
                    for (const u64 w : words) sum += w;
                    sum += splitmix64(e->key_low)();
                }
            }
            return sum;
        }));
    }

   private:
    u64 toggle(u64 number) {
        splitmix64 names(number);
        const std::array<u64, 2> key{names(), number};
        return must_give(heap_.atomic([&](tx& t) -> u64 {
            const auto all = root_.get();
            link& first = all.first()[key[0] & (std::bit_ceil(items_) - 1)];
            for (link* at = std::addressof(first); *at;) {
                const auto e = at->get();
                if (e->key_high == key[0] && e->key_low == key[1]) {
                    at->set(t, e->next.get());
                    On::template dispose<item>(t, e);
                    return 0;
                }
                at = std::addressof(e->next);
            }
            const auto made = t.template make<item>(key[0], key[1], first.get());
            std::array<u64, value_bytes / 8> words;
            words.fill(number);
            made->value.set(t, std::as_bytes(std::span(words)));
            first.set(t, made);
            return 1;
        }));
    }

    typename On::heap& heap_;
    u64 items_;
    typename On::template root<link[]> root_;
};

}  // namespace hf::bench
