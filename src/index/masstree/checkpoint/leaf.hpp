// masstree/checkpoint/leaf.hpp: the leaf of the disciplines that checkpoint.
//
//   line 0  header | version, perm, perm log, node epoch, log epoch, next
//   line 1  lengths and home, low key, keys 0-5
//   line 2  keys 6-13
//   line 3  value log 0, values 0-6
//   line 4  values 7-13, value log 1
//
// Permutations, values, epochs and logs are sealed (seal.hpp): the stored words are sealed_order()
// and sealed_value(); value logs are made by incll/leaf_log.hpp.
//
// The in-cache-line logs depend on the field order of lines 0, 3 and 4 (incll/leaf_log.hpp). The
// discipline `logged` uses log_epoch only; the other log words of its leaves have no meaning.
#pragma once

#include "index/masstree/checkpoint/seal.hpp"
#include "index/masstree/node.hpp"
#include "index/masstree/permutation.hpp"

namespace hf::masstree_detail {

/// The first part of every leaf of a checkpointing tree, without the values.
struct leaf_head : node {
    static constexpr unsigned width = 14;
    word order;            ///< permutation: which slots are used, in order
    word permutation_log;  ///< permutation at the start of epoch node_epoch
    word node_epoch;       ///< epoch of the last change to line 0
    word log_epoch;        ///< epoch in which the node was last logged externally, or created
    word next;             ///< offset of the right neighbour; 0: none
    word lengths;          ///< 4 bits a slot: length class; the home above them
    word low_key;          ///< lower bound of the slices in this leaf
    std::array<word, width> keys;

    [[nodiscard]] u64 place() const noexcept { return seal::place_of(this); }
    [[nodiscard]] u64 sealed_order(u64 plain) const noexcept {
        return seal::nibbles::put(plain, place());
    }
    [[nodiscard]] bool is_order(u64 w) const noexcept {
        return seal::nibbles::fits(w, place()) && permutation<width>::sums_up(w);
    }
    [[nodiscard]] u64 sealed_value(u64 plain) const noexcept {
        return seal::wide::put(plain, place());
    }
    [[nodiscard]] bool is_value(u64 w) const noexcept { return seal::wide::fits(w, place()); }

    /// `home` identifies the leaf's layer, by the offset of the layer's root, and the leaf's own
    /// place. It detects that a damaged pointer has led to a wrong leaf. 0: created by a program
    /// version without it. Only writers check it: a reader in a wrong leaf finds records whose
    /// checksums do not match its key.
    static constexpr unsigned home_shift = 4 * width;
    static constexpr u64 home_field = ~u64{0} << home_shift;
    [[nodiscard]] u64 home_in(u64 layer) const noexcept {
        const u64 sum = seal::mixed(layer, place()) >> home_shift;
        return (sum != 0 ? sum : 1) << home_shift;
    }
    void settle_in(u64 layer) noexcept {
        store(lengths, (load(lengths) & ~home_field) | home_in(layer));
    }
    /// Sets the length classes of all slots.
    void set_lengths(u64 all) noexcept { store(lengths, (load(lengths) & home_field) | all); }
    [[nodiscard]] bool is_of_another_layer(u64 layer) const noexcept {
        const u64 home = load(lengths) & home_field;
        return home != 0 && home != home_in(layer);
    }

    /// node_epoch without its seal.
    [[nodiscard]] u64 epoch() const noexcept { return seal::wide::plain(load(node_epoch)); }
    [[nodiscard]] bool has_sound_epoch() const noexcept {
        return seal::wide::fits(load(node_epoch), place());
    }
    void set_epoch(u64 epoch) noexcept { store(node_epoch, seal::wide::put(epoch, place())); }
};

struct durable_leaf : leaf_head {
    word value_log_0;
    std::array<word, width> values;
    word value_log_1;
};
static_assert(sizeof(durable_leaf) == node_payload);

using leaf_permutation = permutation<durable_leaf::width>;

}  // namespace hf::masstree_detail
