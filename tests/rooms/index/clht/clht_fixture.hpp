// The tests shared by all eager indexes (../common) run on CLHT, too.
#pragma once

#include "index/clht/clht.hpp"
#include "index/common/index_fixture.hpp"

namespace hf::test {

/// Chunks and groups are so small that few keys make the table grow.
struct small_clht_shape {
    static constexpr unsigned chunk_bits = 3;
    static constexpr unsigned group_bits = 1;
    static constexpr unsigned frontier_groups = 1;
};
template <class D, class Keys>
using small_clht = clht<D, Keys, small_clht_shape>;

static_assert(eager_index<clht<eager_discipline, integer_keys>> &&
              eager_index<clht<eager_transient_discipline, byte_keys>>);

using clht_family = family<small_clht>;

/// Many keys have the same full hash; one of these is the hash that stands for "no key".
struct colliding_keys : byte_keys {
    [[nodiscard]] static u64 hash(std::string_view k) noexcept { return byte_keys::hash(k) % 24; }
};

/// Keys that differ only in the last byte have the same hash, so there are chains at every level.
struct keys_in_bunches : byte_keys {
    [[nodiscard]] static u64 hash(std::string_view k) noexcept {
        return byte_keys::hash(k.substr(0, k.size() - 1));
    }
};

}  // namespace hf::test
