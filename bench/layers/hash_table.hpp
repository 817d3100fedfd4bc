// bench/layers/hash_table.hpp: a hash table with open chains.
#pragma once

#include "bench/layers/workload.hpp"

#include <bit>

namespace hf::bench {

template <class On>
struct hash_table {
    using tx = typename On::tx;
    template <class T>
    using p = typename On::template p<T>;
    template <class T>
    using ptr = typename On::template ptr<T>;

    struct entry {
        p<u64> key;
        p<u64> value;
        ptr<entry> next;
    };
    ptr<ptr<entry>[]> buckets;

    void make(tx& t, u64 elements) {
        buckets.set(t, t.template make_array<ptr<entry>[]>(std::bit_ceil(elements)));
    }
    /// Removes or inserts the key. True: it is there now.
    bool toggle(tx& t, u64 key) {
        const auto all = buckets.get();
        ptr<entry>& first = all[splitmix64(key)() & (all.size() - 1)];
        for (ptr<entry>* link = std::addressof(first); *link;) {
            const auto e = link->get();
            if (e->key == key) {
                link->set(t, e->next.get());
                On::template dispose<entry>(t, e);
                return false;
            }
            link = std::addressof(e->next);
        }
        first.set(t, t.template make<entry>(key, key, first.get()));
        return true;
    }
    template <class F>
    void for_each(F&& visit) const {
        const auto all = buckets.get();
        for (u64 i = 0; i < all.size(); ++i) {
            for (auto e = all[i].get(); e; e = e->next.get()) visit(e->key.get());
        }
    }
};

}  // namespace hf::bench
