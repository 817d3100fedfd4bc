// sim/synthetic.hpp: transactions without a program: each updates some nodes of an array.
//
// The axes of docs/shadow_paging.md, one by one: θ, scrambling, node size, lines of a node that an
// operation updates, operations a transaction, footprint, stack pages beside.
#pragma once

#include "sim/sink.hpp"
#include "sim/zipf.hpp"

namespace hf::sim {

struct synthetic_options {
    u64 pages = 16'384;
    unsigned node_bytes = 256;
    unsigned stores = 4;      ///< of 8 bytes, in consecutive lines of the node
    unsigned loads = 8;       ///< of 8 bytes, in nodes drawn likewise
    unsigned operations = 1;  ///< a transaction
    double theta = 0;         ///< 0: uniform
    bool is_scrambled = true;
    unsigned stack_pages = 0;  ///< regular stores an operation, each to another page
    unsigned aborts_in_1000 = 0;
    u64 seed = 1;
};

/// Makes `transactions` transactions on `core`. Deterministic.
void run_synthetic(const synthetic_options& o, u64 transactions, unsigned core, sink& to);

/// The place of the item with this rank: its own, or spread over all by a bijection of chance.
[[nodiscard]] u64 scrambled(u64 rank, u64 items) noexcept;

}  // namespace hf::sim
