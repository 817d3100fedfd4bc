// masstree/transient/adapter.hpp: the tree without any logs, in memory of the region or from
// malloc().
//
// Its leaves have no log words and one slot more: 15. Their fields need no particular order.
#pragma once

#include "checkpoint/discipline.hpp"
#include "checkpoint/heap/heap.hpp"
#include "checkpoint/operation.hpp"
#include "index/masstree/adapter.hpp"

namespace hf::masstree_detail {

struct transient_leaf : node {
    static constexpr unsigned width = 15;
    word order;
    word next;
    word lengths;
    word low_key;
    std::array<word, width> keys;
    std::array<word, width> values;
    std::array<word, 3> spare;

    void set_lengths(u64 all) noexcept { store(lengths, all); }

    // No seals: another process never reads these leaves.
    static void settle_in(u64 /*layer*/) noexcept {}
    [[nodiscard]] static bool is_of_another_layer(u64 /*layer*/) noexcept { return false; }
    [[nodiscard]] static u64 sealed_order(u64 plain) noexcept { return plain; }
    [[nodiscard]] static bool is_order(u64 /*w*/) noexcept { return true; }
    [[nodiscard]] static u64 sealed_value(u64 plain) noexcept { return plain; }
    [[nodiscard]] static bool is_value(u64 /*w*/) noexcept { return true; }
};
static_assert(sizeof(transient_leaf) == node_payload);

class transient_adapter {
   public:
    using operation = hf::operation;
    using leaf = transient_leaf;
    using interior = masstree_detail::interior;
    using shape = in_place_shape;

    template <class Memory>
    transient_adapter(const Memory& /*memory*/, bool /*sealed*/) noexcept {}

    [[nodiscard]] static constexpr bool is_sealed() noexcept { return false; }
    [[nodiscard]] static constexpr bool is_stamped(const leaf& /*n*/) noexcept { return true; }

    static void begin_update(operation& op) noexcept { op.my_lane().mark_written(); }
    static void arrive(operation& /*op*/, leaf& /*n*/) noexcept {}
    static void arrive_taken_over(operation& /*op*/, leaf& /*n*/) noexcept {}
    static void observed(operation& /*op*/, const node& /*n*/) noexcept {}
    [[nodiscard]] static constexpr bool is_after_crash(const operation& /*op*/) noexcept {
        return false;
    }
    static void check_passed(const operation& /*op*/, const interior& /*n*/) noexcept {}

    static void filled(operation& /*op*/, const void* /*record*/, u64 /*bytes*/) noexcept {}
    static void created_root_leaf(leaf& /*n*/, u64 /*epoch*/) noexcept {}
    static void fresh_leaf(operation& /*op*/, leaf& /*n*/) noexcept {}
    static void fresh_interior(operation& /*op*/, interior& /*n*/) noexcept {}
    static void root_became_leaf(operation& /*op*/, leaf& /*n*/) noexcept {}
    static void root_became_interior(operation& /*op*/, interior& /*n*/) noexcept {}

    [[nodiscard]] static result<void> before_value_change(operation& /*op*/, leaf& /*n*/,
                                                          unsigned /*slot*/) noexcept {
        return {};
    }
    [[nodiscard]] static result<void> before_removal(operation& /*op*/, leaf& /*n*/) noexcept {
        return {};
    }
    [[nodiscard]] static result<unsigned> choose_slot_for_insert(
        operation& /*op*/, leaf& /*n*/, permutation<leaf::width> p) noexcept {
        return p.slot(p.size());
    }
    [[nodiscard]] static result<void> log_nodes(operation& /*op*/,
                                                std::span<node* const> /*nodes*/) noexcept {
        return {};
    }
    [[nodiscard]] static bool is_logged(operation& /*op*/, const node& /*n*/) noexcept {
        return true;
    }
    static void publish(operation& /*op*/, word& w, u64 value) noexcept { store(w, value); }

    template <class Check>
    static void audit_seals(const leaf& /*n*/, Check& /*check*/) noexcept {}
    [[nodiscard]] static bool recover_for_audit(operation& /*op*/, leaf& /*n*/) noexcept {
        return false;
    }
    template <class Check>
    static void audit_leaf(const leaf& /*n*/, Check& /*check*/) noexcept {}
    template <class Check>
    static void audit_interior(const interior& /*n*/, Check& /*check*/) noexcept {}
};

template <>
struct adapter_of<transient_discipline> {
    using type = transient_adapter;
};
template <>
struct adapter_of<malloc_discipline> {
    using type = transient_adapter;
};
static_assert(is_adapter<transient_adapter, transient_discipline::memory>());
static_assert(is_adapter<transient_adapter, malloc_discipline::memory>());

}  // namespace hf::masstree_detail
