#include "sim/synthetic.hpp"

#include "shadow/bitmaps.hpp"

#include <algorithm>
#include <bit>

namespace hf::sim {

namespace {

/// A bijection of [0, 2^bits): odd factors and shifts to the right.
u64 mixed(u64 x, unsigned bits) noexcept {
    const u64 mask = bits == 64 ? ~u64{0} : (u64{1} << bits) - 1;
    const unsigned shift = (bits + 1) / 2;
    for (const u64 factor : {u64{0x9e3779b97f4a7c15}, u64{0xbf58476d1ce4e5b9}}) {
        x = x * factor & mask;
        x ^= x >> shift;
    }
    return x;
}

}  // namespace

u64 scrambled(u64 rank, u64 items) noexcept {
    const auto bits = static_cast<unsigned>(std::bit_width(items - 1));
    if (bits == 0) return 0;
    // Follows the cycle until it is back among the items: still a bijection.
    do rank = mixed(rank, bits);
    while (rank >= items);
    return rank;
}

void run_synthetic(const synthetic_options& o, u64 transactions, unsigned core, sink& to) {
    xoshiro256ss random(o.seed);
    const u64 nodes = o.pages * shadow::page_size / o.node_bytes;
    const unsigned lines = std::max(1U, o.node_bytes / static_cast<unsigned>(line_size));
    const zipf ranks(nodes, o.theta);
    const auto draw = [&] {
        const u64 rank = ranks(random);
        return (o.is_scrambled ? scrambled(rank, nodes) : rank) * o.node_bytes;
    };
    for (u64 t = 0; t < transactions; ++t) {
        to.begin(core);
        for (unsigned i = 0; i < o.operations; ++i) {
            for (unsigned k = 0; k < o.loads; ++k) to.load(core, draw(), 8);
            const u64 node = draw();
            for (unsigned k = 0; k < o.stores; ++k) {
                to.store(core, node + k % lines * line_size + k / lines % 8 * 8, 8);
            }
            for (unsigned k = 0; k < o.stack_pages; ++k) {
                to.store(core, volatile_memory + k * shadow::page_size, 8);
            }
        }
        if (random.below(1000) < o.aborts_in_1000) {
            to.abort(core);
        } else {
            to.commit(core);
        }
    }
}

}  // namespace hf::sim
