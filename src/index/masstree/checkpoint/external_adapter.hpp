// masstree/checkpoint/external_adapter.hpp: the shared part of the adapters of all checkpointing
// disciplines: the external log, and the lines that an epoch boundary writes back.
//
// A node that is in the running epoch's external log, or was created in this epoch, may be changed
// freely until the epoch ends (M5 of masstree.hpp); log_epoch records that. LeafStamp is a function
// object (leaf&, epoch), for either kind of leaf, which sets log_epoch and the leaf's other log
// words accordingly.
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

/// Casts a leaf of a tree with inlined values, of which callers know the head only.
[[nodiscard]] inline inlined_leaf& as_inlined(leaf_head& n) noexcept {
    return static_cast<inlined_leaf&>(n);
}
[[nodiscard]] inline const inlined_leaf& as_inlined(const leaf_head& n) noexcept {
    return static_cast<const inlined_leaf&>(n);
}

/// Records all lines of a node as dirty.
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

    /// `sealed`: all leaves of the tree are sealed (seal.hpp). `inlined`: they store small values
    /// themselves (inlined/leaf.hpp).
    template <class Memory>
    external_adapter(const Memory& memory, bool sealed, bool inlined = false) noexcept
        : base_(memory.base()), sealed_(sealed), inlined_(inlined) {}

    /// Whether a seal that does not match is damage.
    [[nodiscard]] bool is_sealed() const noexcept { return sealed_; }

    static constexpr bool can_inline = true;
    [[nodiscard]] bool is_inlined() const noexcept { return inlined_; }
    /// The contents of a slot of an inlined leaf, with the seal.
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
    /// Bytes of each node.
    [[nodiscard]] u64 payload() const noexcept {
        return inlined_ ? inlined_node_payload : node_payload;
    }

    /// Whether the discipline's words in a leaf's first line belong to this leaf.
    [[nodiscard]] static bool is_stamped(const leaf& /*n*/) noexcept { return true; }

    static void begin_update(operation& op) noexcept { op.my_lane().mark_written(); }
    static void observed(operation& /*op*/, const node& /*n*/) noexcept {}

    static void publish(operation& /*op*/, word& w, u64 value) noexcept { store(w, value); }
    static void filled(operation& op, const void* record, u64 bytes) noexcept {
        op.my_lane().note_once(record, bytes);
    }

    /// Stamps the root leaf of a new region's tree, before any session, as if it had been logged in
    /// `epoch`, which is over.
    static void created_root_leaf(leaf& n, u64 epoch, bool inlined = false) noexcept {
        stamp(n, epoch, inlined);
    }
    // A fresh node counts as logged: there is nothing to undo.
    void fresh_leaf(operation& op, leaf& n) const { mark_logged(op, n); }
    void fresh_interior(operation& op, interior& n) const { mark_logged(op, n); }
    // log_epoch is at a different offset now.
    void root_became_leaf(operation& op, leaf& n) const { mark_logged(op, n); }
    static void root_became_interior(operation& op, interior& n) noexcept {
        store(n.log_epoch, op.epoch());
    }

    [[nodiscard]] static bool is_logged(operation& op, const node& n) noexcept {
        const bool leaf_now = (n.version.load() & version_word::leaf) != 0;
        const word& logged_in = leaf_now ? static_cast<const leaf&>(n).log_epoch
                                         : static_cast<const interior&>(n).log_epoch;
        return load(logged_in) == op.epoch();
    }

    /// Writes those of the locked nodes that are not in the external log yet to it, with one fence
    /// (M5).
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

    /// Throws damage if the leaf still has the stamp of a failed epoch, although recovery has
    /// applied the external log: its undo image is missing.
    void check_undone(operation& op, const leaf& n) const {
        if (op.failed().contains(load(n.log_epoch))) {
            throw damage(offset_from(base_, &n.log_epoch),
                         "the undo image of a leaf is missing in the external log");
        }
    }

    /// True if failed epochs are remembered, whose changes may still be in leaves.
    [[nodiscard]] static bool is_after_crash(const operation& op) noexcept {
        return op.horizon() != 0;
    }
    /// check_undone() for an interior node on the path to a leaf.
    void check_passed(const operation& op, const interior& n) const {
        if (op.failed().contains(load(n.log_epoch))) [[unlikely]] {
            throw damage(offset_from(base_, &n.log_epoch), not_undone);
        }
    }

    /// `of_inlined`: the failed epochs, if the leaf has inlined values.
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

    /// An interior node is about to be stamped with the running epoch, which must not hide a failed
    /// epoch's stamp. Leaves have been checked in arrive().
    [[nodiscard]] result<void> check_undone_before_log(operation& op, const node& n) const {
        if (!is_after_crash(op) || (n.version.load() & version_word::leaf) != 0) return {};
        const word& logged_in = static_cast<const interior&>(n).log_epoch;
        if (!op.failed().contains(load(logged_in))) return {};
        return failure({errc::corrupt, "change an interior node",
                        "offset " + std::to_string(offset_from(base_, &logged_in)), not_undone,
                        "run `holdfast check`"});
    }
    /// Marks the node as logged: it may be changed freely for the rest of the epoch.
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
