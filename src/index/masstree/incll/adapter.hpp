// masstree/incll/adapter.hpp: the tree with in-cache-line logs in its leaves (leaf_log.hpp), and
// the external log where they do not suffice.
//
// A leaf in this epoch's external log needs no other log. Otherwise, before a change, a value's old
// word is written to a log in its line, the permutation to the log in line 0, and a free slot is
// filled after its line was stamped. If line 0 has other upper epoch bits (V3), or its logs are in
// use (V1, V5), the leaf goes to the external log.
#pragma once

#include "checkpoint/discipline.hpp"
#include "checkpoint/heap/heap.hpp"
#include "index/masstree/checkpoint/external_adapter.hpp"
#include "index/masstree/incll/leaf_log.hpp"
#include "index/masstree/inlined/log.hpp"

namespace hf::masstree_detail {

struct stamp_all_logs {
    void operator()(durable_leaf& n, u64 epoch) const noexcept { restamp(n, epoch); }
    void operator()(inlined_leaf& n, u64 epoch) const noexcept { inlined::restamp(n, epoch); }
};

class incll_adapter : public external_adapter<stamp_all_logs> {
   public:
    using external_adapter::external_adapter;

    /// The permutation's seal has 4 bits only. The 16-bit seal of the epoch beside it detects a
    /// whole line copied from another leaf.
    [[nodiscard]] bool is_stamped(const leaf& n) const noexcept {
        return n.has_sound_epoch() || !is_sealed();
    }
    void arrive(operation& op, leaf& n) const {
        if (op.horizon() != 0) [[unlikely]] {
            arrive_after_crash(op, n);
        }
    }
    void arrive_taken_over(operation& op, leaf& n) const { arrive(op, n); }

    [[nodiscard]] result<void> before_value_change(operation& op, leaf& n, unsigned slot) const {
        if (load(n.log_epoch) == op.epoch()) return {};
        if (is_inlined()) {
            inlined_leaf& in = as_inlined(n);
            check_before_change(op, in, slot);
            if (inlined::same_upper(n.epoch(), op.epoch()) &&
                inlined::log_value(in, op.my_lane(), op.epoch(), slot)) [[likely]] {
                return {};
            }
            return log_leaf(op, n);
        }
        check_before_change(op, n, &value_log(n, slot / slots_per_line));
        if (same_upper(n.epoch(), op.epoch()) && log_value(n, op.my_lane(), op.epoch(), slot))
            [[likely]] {
            return {};
        }
        return log_leaf(op, n);
    }

    [[nodiscard]] result<void> before_removal(operation& op, leaf& n) const {
        if (load(n.log_epoch) == op.epoch()) return {};
        check_before_change(op, n);
        if (has_upper_of(n, op.epoch())) [[likely]] {
            begin_permutation(n, op.my_lane(), op.epoch());
            return {};
        }
        return log_leaf(op, n);
    }

    [[nodiscard]] result<unsigned> choose_slot_for_insert(operation& op, leaf& n,
                                                          leaf_permutation p) const {
        if (load(n.log_epoch) == op.epoch()) return p.slot(p.size());
        check_before_change(op, n);
        if (has_upper_of(n, op.epoch())) [[likely]] {
            for (unsigned r = p.size(); r < leaf::width; ++r) {
                const unsigned s = p.slot(r);
                const bool may = is_inlined() ? inlined::may_fill(as_inlined(n), op.epoch(), s)
                                              : may_fill(n, op.epoch(), s);
                if (!may) continue;
                begin_permutation(n, op.my_lane(), op.epoch());
                if (is_inlined()) {
                    inlined::begin_value_line(as_inlined(n), op.my_lane(), op.epoch(), s);
                } else {
                    begin_value_line(n, op.my_lane(), op.epoch(), s);
                }
                return s;
            }
        }
        if (auto logged = log_leaf(op, n); !logged) return tl::unexpected(logged.error());
        return p.slot(p.size());
    }

    template <class Check>
    static void audit_seals(const leaf& n, Check& check, const failed_set* of_inlined = nullptr) {
        external_adapter::audit_seals(n, check);
        if (!n.has_sound_epoch()) check.bad(&n.node_epoch, "a leaf's epoch contradicts its seal");
        if (!n.is_order(load(n.permutation_log))) {
            check.bad(&n.permutation_log, "the log of a leaf's permutation contradicts its seal");
        }
        if (of_inlined != nullptr) {
            const unsigned used = inlined::used_at_start(as_inlined(n), *of_inlined);
            for (const auto& line : as_inlined(n).lines) {
                if (inlined::is_sealed_head(as_inlined(n), line, used)) continue;
                check.bad(&line.head, "a leaf's value log contradicts its seal");
            }
            return;
        }
        for (const word* w : {&n.value_log_0, &n.value_log_1}) {
            if (!is_sealed_log(n, load(*w))) {
                check.bad(w, "a leaf's value log contradicts its seal");
            }
        }
        // Values in use, too: a rollback may overwrite one that is damaged.
        for (const word& w : n.values) {
            if (!is_sound_slot(n, load(w))) {
                check.bad(&w, "a slot of a leaf, or the log in it, contradicts its seal");
            }
        }
    }
    [[nodiscard]] static bool recover_for_audit(operation& op, leaf& n, bool inlined = false) {
        if (inlined) {
            inlined_leaf& in = as_inlined(n);
            if (n.epoch() >= op.horizon() || !inlined::needs_recovery(in, op.failed()))
                return false;
            inlined::recover(in, op.my_lane(), op.failed(), op.epoch());
            return true;
        }
        if (n.epoch() >= op.horizon() || !needs_recovery(n, op.failed())) return false;
        recover(n, op.my_lane(), op.failed(), op.epoch());
        return true;
    }
    template <class Check>
    static void audit_leaf(const leaf& n, Check& check, bool inlined = false) {
        const u64 node_epoch = n.epoch();
        check.epoch("a leaf", node_epoch);
        check.epoch("a leaf", load(n.log_epoch));
        if (inlined) {
            for (const auto& line : as_inlined(n).lines) {
                const u64 log = load(line.head);
                if (node_epoch <= check.running() && inlined::head::is_log(log)) {
                    check.epoch(&line.head, "a leaf's value log",
                                inlined::head::epoch(log, node_epoch));
                }
            }
            return;
        }
        for (const word* w : {&n.value_log_0, &n.value_log_1}) {
            const u64 log = load(*w);
            if ((log & 0xf) > log_word::cleared) {
                check.bad(w, "a leaf's value log has an unknown form");
            } else if (node_epoch <= check.running()) {
                check.epoch(w, "a leaf's value log", log_word::epoch(log, node_epoch));
            }
        }
    }

   private:
    /// While failed epochs are remembered.
    [[gnu::noinline]] void arrive_after_crash(operation& op, leaf& n) const {
        if (is_sealed()) {
            check_all_logs(op, n);
            check_undone(op, n);
        }
        if (n.epoch() >= op.horizon()) {
            await_recovery(n);
            return;
        }
        if (is_inlined()) {
            inlined::settle(as_inlined(n), op.my_lane(), op.failed(), op.epoch());
        } else {
            settle(n, op.my_lane(), op.failed(), op.epoch());
        }
    }
    void check_all_logs(const operation& op, const leaf& n) const {
        if (is_inlined()) {
            inlined::check_logs(as_inlined(n), op.failed());
        } else {
            check_logs(n);
        }
    }
    /// V3: whether the leaf's logs can be stamped with this epoch.
    [[nodiscard]] bool has_upper_of(const leaf& n, u64 epoch) const noexcept {
        return is_inlined() ? inlined::same_upper(n.epoch(), epoch) : same_upper(n.epoch(), epoch);
    }
    static void check_before_change(const operation& op, const inlined_leaf& n, unsigned slot) {
        const unsigned used = leaf_permutation(load(n.order)).used();
        if (!n.has_sound_epoch() || !inlined::is_sealed_head(n, n.line_of(slot), used))
            [[unlikely]] {
            inlined::check_logs(n, op.failed());
        }
    }
    /// Before a change that is logged in the leaf's lines. `log`: the log word that may be
    /// overwritten.
    void check_before_change(const operation& op, const leaf& n, const word* log = nullptr) const {
        if (!is_sealed()) return;
        if (!n.has_sound_epoch() || (log != nullptr && !is_sealed_log(n, load(*log))))
            [[unlikely]] {
            check_all_logs(op, n);
        }
    }
};

template <>
struct adapter_of<incll_discipline> {
    using type = incll_adapter;
};
static_assert(is_adapter<incll_adapter, incll_discipline::memory>());

}  // namespace hf::masstree_detail
