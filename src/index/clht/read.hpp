// clht/read.hpp: a part of clht.hpp: reading one key.
#pragma once

#include "index/clht/clht.hpp"

namespace hf {

template <class D, class Keys, class Shape>
template <class Found>
bool clht<D, Keys, Shape>::get(operation& op, key k, Found&& found) const {
    const u64 hash = Keys::hash(k);
    for (;;) {
        const home h = home_of(hash);
        const u64 before = h.first->state.load();
        slot hit;
        u64 word = 0;
        for (bucket* n = h.first; n != nullptr && !hit; n = next_of(n)) {
            op.took_step();
            unsigned equal = n->slots_of(h.hash);
            for (; equal != 0; equal &= equal - 1) {
                const auto i = static_cast<unsigned>(std::countr_zero(equal));
                word = n->value[i].load();
                if (!is_of(k, word)) continue;
                hit = {n, i};
                break;
            }
        }
        const u64 behind = h.first->state.load();
        if (hit && before != behind) continue;
        if (!hit && h.number != no_number && home_of(hash).number != h.number) continue;
        if (lock_of(hash).is_held() || op.is_after_a_kill()) [[unlikely]] {
            for (bucket* n = h.first; n != nullptr; n = n == hit.node ? nullptr : next_of(n)) {
                op.written_line(n);
            }
            op.observed();
        }
        if (hit) found(value_in(word));
        return static_cast<bool>(hit);
    }
}

}  // namespace hf
