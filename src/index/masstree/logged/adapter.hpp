// masstree/logged/adapter.hpp: the tree with the external log alone.
//
// Each node is written to the external log before its first change in an epoch. Recovery has
// nothing to do in the tree: the log is applied before the first operation.
#pragma once

#include "checkpoint/discipline.hpp"
#include "checkpoint/heap/heap.hpp"
#include "index/masstree/checkpoint/external_adapter.hpp"

namespace hf::masstree_detail {

struct stamp_log_epoch {
    void operator()(leaf_head& n, u64 epoch) const noexcept { store(n.log_epoch, epoch); }
};

class logged_adapter : public external_adapter<stamp_log_epoch> {
   public:
    using external_adapter::external_adapter;

    void arrive(operation& op, leaf& n) const {
        if (op.horizon() != 0 && is_sealed()) [[unlikely]] {
            check_undone(op, n);
        }
    }
    void arrive_taken_over(operation& op, leaf& n) const { arrive(op, n); }

    [[nodiscard]] result<void> before_value_change(operation& op, leaf& n,
                                                   unsigned /*slot*/) const {
        return log_leaf(op, n);
    }
    [[nodiscard]] result<void> before_removal(operation& op, leaf& n) const {
        return log_leaf(op, n);
    }
    [[nodiscard]] result<unsigned> choose_slot_for_insert(operation& op, leaf& n,
                                                          leaf_permutation p) const {
        if (auto logged = log_leaf(op, n); !logged) return tl::unexpected(logged.error());
        return p.slot(p.size());
    }

    [[nodiscard]] static bool recover_for_audit(operation& /*op*/, leaf& /*n*/,
                                                bool /*inlined*/ = false) noexcept {
        return false;
    }
    template <class Check>
    static void audit_leaf(const leaf& n, Check& check, bool /*inlined*/ = false) {
        check.epoch("a leaf", load(n.log_epoch));
    }
};

template <>
struct adapter_of<logged_discipline> {
    using type = logged_adapter;
};
static_assert(is_adapter<logged_adapter, logged_discipline::memory>());

}  // namespace hf::masstree_detail
