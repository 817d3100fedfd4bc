// masstree/checkpoint/external_adapter.hpp: what the adapters of all checkpointing disciplines
// share: the external log, and the lines that the boundary writes back.
//
// A node that is in the external log of the running epoch, or was made in it, may be changed at
// will until the epoch ends (M5 of masstree.hpp). log_epoch says so. What is to be done to a leaf
// besides, when it has come to that, is LeafStamp's: a function object (leaf&, epoch), for either
// kind of leaf, that sets log_epoch and whatever else must then be so.
#pragma once

#include "base/check.hpp"
#include "base/damage.hpp"
#include "checkpoint/operation.hpp"
#include "index/masstree/adapter.hpp"
#include "index/masstree/checkpoint/leaf.hpp"
#include "index/masstree/inlined/leaf.hpp"

#include <array>
#include <span>

namespace hf::masstree_detail {

/// In a tree whose leaves are such; what is known of one is no more than its head.
[[nodiscard]] inline inlined_leaf& as_inlined(leaf_head& n) noexcept {
    return static_cast<inlined_leaf&>(n);
}
[[nodiscard]] inline const inlined_leaf& as_inlined(const leaf_head& n) noexcept {
    return static_cast<const inlined_leaf&>(n);
}

/// Notes all lines of a node.
inline void note_node(lane& l, const void* n, u64 payload = node_payload) {
    l.note_sticky(static_cast<const char*>(n), payload);
}

template <class LeafStamp>
class external_adapter {
   public:
    using operation = hf::operation;
    using leaf = durable_leaf;
    using interior = masstree_detail::interior;
    using shape = in_place_shape;

    /// `sealed`: whether all of the tree's leaves are (seal.hpp). `inlined`: whether they are such
    /// as have small values in themselves (inlined/leaf.hpp).
    template <class Memory>
    external_adapter(const Memory& memory, bool sealed, bool inlined = false) noexcept
        : base_(memory.base()), sealed_(sealed), inlined_(inlined) {}

    /// Whether a seal that does not fit is damage.
    [[nodiscard]] bool is_sealed() const noexcept { return sealed_; }

    static constexpr bool can_inline = true;
    [[nodiscard]] bool is_inlined() const noexcept { return inlined_; }
    /// What a slot of such a leaf has, with its seal.
    [[nodiscard]] static cell inlined_at(const leaf& n, unsigned slot) noexcept {
        return as_inlined(n).at(slot);
    }
    static void put_inlined(leaf& n, unsigned slot, const cell& c) noexcept {
        as_inlined(n).put(slot, c);
    }
    [[nodiscard]] static bool fits_inlined(const leaf& n, const cell& c, u64 slice,
                                           unsigned length_class) noexcept {
        return as_inlined(n).fits(c, slice, length_class);
    }
    [[nodiscard]] static const word& inlined_word(const leaf& n, unsigned slot) noexcept {
        return as_inlined(n).value(slot);
    }
    [[nodiscard]] static bool is_sound_inlined(const leaf& n, unsigned slot) noexcept {
        return as_inlined(n).is_sound(slot);
    }
    /// Of each node.
    [[nodiscard]] u64 payload() const noexcept {
        return inlined_ ? inlined_node_payload : node_payload;
    }

    /// Whether a leaf's first line is its own, as far as words of it tell that only the adapter
    /// knows.
    [[nodiscard]] static bool is_stamped(const leaf& /*n*/) noexcept { return true; }

    static void begin_update(operation& op) noexcept { op.my_lane().mark_written(); }
    static void observed(operation& /*op*/, const node& /*n*/) noexcept {}

    static void publish(operation& /*op*/, word& w, u64 value) noexcept { store(w, value); }
    static void filled(operation& op, const void* record, u64 bytes) noexcept {
        op.my_lane().note_once(record, bytes);
    }

    /// The root of a new region's tree, before any session: as logged in `epoch`, which is over.
    static void founded_leaf(leaf& n, u64 epoch, bool inlined = false) noexcept {
        stamp(n, epoch, inlined);
    }
    // A fresh node is like one that has been logged: there is nothing to undo.
    void fresh_leaf(operation& op, leaf& n) const { mark_logged(op, n); }
    void fresh_interior(operation& op, interior& n) const { mark_logged(op, n); }
    // A logged root's log epoch lies elsewhere now.
    void turned_leaf(operation& op, leaf& n) const { mark_logged(op, n); }
    static void turned_interior(operation& op, interior& n) noexcept {
        store(n.log_epoch, op.epoch());
    }

    [[nodiscard]] static bool is_logged(operation& op, const node& n) noexcept {
        const bool leaf_now = (n.version.load() & version_word::leaf) != 0;
        const word& logged_in = leaf_now ? static_cast<const leaf&>(n).log_epoch
                                         : static_cast<const interior&>(n).log_epoch;
        return load(logged_in) == op.epoch();
    }

    /// Brings the locked nodes, those that are not yet there, into the external log behind one
    /// fence (M5).
    [[nodiscard, gnu::noinline]] result<void> log_nodes(operation& op,
                                                        std::span<node* const> nodes) const {
        std::array<log_object, most_nodes> objects;
        std::array<node*, most_nodes> fresh;
        std::size_t n = 0;
        for (node* one : nodes) {
            if (is_logged(op, *one)) continue;
            if (auto ok = check_undone_before_log(op, *one); !ok) return ok;
            HF_CHECK(n < most_nodes, "too many nodes in one change");
            objects[n] = {offset_from(base_, one), static_cast<u32>(payload())};
            fresh[n++] = one;
        }
        if (n == 0) return {};
        if (auto logged = op.log(std::span(objects.data(), n)); !logged) {
            return logged;
        }
        for (std::size_t i = 0; i < n; ++i) {
            if ((fresh[i]->version.load() & version_word::leaf) != 0) {
                mark_logged(op, *static_cast<leaf*>(fresh[i]));
            } else {
                mark_logged(op, *static_cast<interior*>(fresh[i]));
            }
        }
        return {};
    }
    [[nodiscard]] result<void> log_leaf(operation& op, leaf& n) const {
        if (load(n.log_epoch) == op.epoch()) return {};
        node* const one = &n;
        return log_nodes(op, {&one, 1});
    }

    /// Throws damage if a log of the node, which recovery has applied, has not undone it: with it
    /// the node would say that it was logged, or made, in an earlier epoch.
    void check_undone(operation& op, const leaf& n) const {
        if (op.failed().contains(load(n.log_epoch))) {
            throw damage(offset_from(base_, &n.log_epoch),
                         "the undo image of a leaf is missing in the external log");
        }
    }

    /// Whether epochs that failed are remembered: what they have left may still be there.
    [[nodiscard]] static bool is_after_crash(const operation& op) noexcept {
        return op.horizon() != 0;
    }
    /// The same of an interior node, on the way to a leaf.
    void check_passed(const operation& op, const interior& n) const {
        if (op.failed().contains(load(n.log_epoch))) [[unlikely]] {
            throw damage(offset_from(base_, &n.log_epoch), not_undone);
        }
    }

    /// `of_inlined`: of a leaf that has small values in itself, the epochs that failed.
    template <class Check>
    static void audit_seals(const leaf& n, Check& check,
                            const failed_set* /*of_inlined*/ = nullptr) {
        if (!n.is_order(load(n.order))) {
            check.bad(&n.order, "a leaf's permutation contradicts its seal");
        }
    }
    template <class Check>
    static void audit_interior(const interior& n, Check& check) {
        check.epoch("an interior node", load(n.log_epoch));
        if (check.has_failed(load(n.log_epoch))) check.bad(&n.log_epoch, not_undone);
    }

   private:
    static constexpr const char* not_undone =
        "the undo image of an interior node is missing in the external log";

    /// An interior node's stamp is about to be that of the running epoch: it must not hide the
    /// failed one's. Leaves have been arrived at.
    [[nodiscard]] result<void> check_undone_before_log(operation& op, const node& n) const {
        if (!is_after_crash(op) || (n.version.load() & version_word::leaf) != 0) return {};
        const word& logged_in = static_cast<const interior&>(n).log_epoch;
        if (!op.failed().contains(load(logged_in))) return {};
        return failure({errc::corrupt, "change an interior node",
                        "offset " + std::to_string(offset_from(base_, &logged_in)), not_undone,
                        "run `holdfast check`"});
    }
    /// The node may be changed at will for the rest of the epoch.
    void mark_logged(operation& op, leaf& n) const {
        stamp(n, op.epoch(), inlined_);
        note_node(op.my_lane(), &n, payload());
    }
    void mark_logged(operation& op, interior& n) const {
        store(n.log_epoch, op.epoch());
        note_node(op.my_lane(), &n, payload());
    }
    static void stamp(leaf& n, u64 epoch, bool inlined) noexcept {
        if (inlined) {
            LeafStamp{}(as_inlined(n), epoch);
        } else {
            LeafStamp{}(n, epoch);
        }
    }

    std::byte* base_;
    bool sealed_;
    bool inlined_;
};

}  // namespace hf::masstree_detail
