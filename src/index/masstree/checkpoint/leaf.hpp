// masstree/checkpoint/leaf.hpp: the leaf of the disciplines that checkpoint.
//
//   line 0  header | version, perm, perm log, node epoch, log epoch, next
//   line 1  lengths, low key, keys 0-5
//   line 2  keys 6-13
//   line 3  value log 0, values 0-6
//   line 4  values 7-13, value log 1
//
// The field order of lines 0, 3 and 4 is what the in-cache-line logs stand on (incll/leaf_log.hpp).
// The discipline `logged` uses log_epoch alone; the other log words of its leaves have no meaning.
#pragma once

#include "index/masstree/node.hpp"

namespace hf::masstree_detail {

struct durable_leaf : node {
    static constexpr unsigned width = 14;
    word order;            ///< which slots are used, in order
    word permutation_log;  ///< permutation at the start of epoch node_epoch
    word node_epoch;       ///< epoch of the last change to line 0
    word log_epoch;        ///< epoch in which the node was last logged externally, or made
    word next;             ///< offset of the right neighbour; 0: none
    word lengths;          ///< 4 bits a slot: length class
    word low_key;          ///< least slice that belongs here
    std::array<word, width> keys;
    word value_log_0;
    std::array<word, width> values;
    word value_log_1;
};
static_assert(sizeof(durable_leaf) == node_payload);

using leaf_permutation = permutation<durable_leaf::width>;

}  // namespace hf::masstree_detail
