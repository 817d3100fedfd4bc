// watched_tree.hpp: a transient tree that stops at each step of an operation: between loading a
// child pointer and reading the child, at every leaf that is reached or left, at every value and
// link that is loaded. There a test changes the tree, in the same thread, so an interleaving
// between two loads is deterministic. It also calls the test when a split or a removal has locked
// all nodes that it changes, before any is marked: then another thread can be made to wait for
// them.
#pragma once

#include "index/masstree/tree_fixture.hpp"

#include <array>
#include <functional>
#include <utility>

namespace hf::test {

/// The progress of the operation under test. Single-threaded.
struct steps {
    static inline std::function<void()> change;  ///< called at the step
    /// steps before it; 0: already called, or disabled
    static inline unsigned left = 0;
    static inline bool writing = false;  ///< only before the first leaf is locked
    static bool come() {
        if (left == 0 || --left > 0) return false;
        change();
        return true;
    }
    static inline std::function<void()> locked;    ///< called once, when the first leaf is locked
    static inline std::function<void()> gathered;  ///< called whenever nodes are about to be marked
    static void lock() {
        if (writing) left = 0;
        if (locked) std::exchange(locked, nullptr)();
    }
};

struct watched_discipline {
    using operation = hf::operation;
    using memory = transient_discipline::memory;
    static constexpr discipline kind = discipline::transient;
    static constexpr bool durable = false;
    static constexpr const char* name = "watched";
};

struct watched_words {
    std::array<masstree_detail::word, 15> words;
    masstree_detail::word& operator[](unsigned i) {
        steps::come();
        return words[i];
    }
    const masstree_detail::word& operator[](unsigned i) const { return words[i]; }
};

struct watched_link {
    masstree_detail::word to;
    watched_link() = default;
    // The mutation gate replaces a store by an assignment.
    watched_link(u64 offset) : to(offset) {}  // NOLINT(google-explicit-constructor)
    watched_link& operator=(const watched_link& other) noexcept {
        to.store(other.to.load(std::memory_order_relaxed), std::memory_order_relaxed);
        return *this;
    }
    ~watched_link() = default;
    operator masstree_detail::word&() {  // NOLINT(google-explicit-constructor)
        steps::come();
        return to;
    }
};

struct watched_leaf : masstree_detail::node {
    static constexpr unsigned width = 15;
    masstree_detail::word order;
    watched_link next;
    masstree_detail::word lengths;
    masstree_detail::word low_key;
    std::array<masstree_detail::word, width> keys;
    watched_words values;

    void set_lengths(u64 all) noexcept { masstree_detail::store(lengths, all); }
    static void settle_in(u64 /*layer*/) noexcept {}
    [[nodiscard]] static bool is_of_another_layer(u64 /*layer*/) noexcept { return false; }
    [[nodiscard]] static u64 sealed_order(u64 plain) noexcept { return plain; }
    [[nodiscard]] static bool is_order(u64 /*w*/) noexcept { return true; }
    [[nodiscard]] static u64 sealed_value(u64 plain) noexcept { return plain; }
    [[nodiscard]] static bool is_value(u64 /*w*/) noexcept { return true; }
};

struct watched_interior : masstree_detail::interior {
    static constexpr unsigned width = 4;  // small, so that there are many nodes at several heights
    static constexpr u64 nowhere = u64{1} << 62;
    [[nodiscard]] unsigned child_index(u64 slice) const {
        const unsigned i = masstree_detail::interior::child_index(slice);
        const u64 seen = version.load();
        if ((seen & version.locked) != 0) return i;  // locked by this operation itself
        if (!steps::come() || !version.changed(seen) || key_count() >= width) return i;
        // A reader with an inconsistent count and keys may compute the index after the last child.
        masstree_detail::store(const_cast<watched_interior*>(this)->children[width], nowhere);
        return width;
    }
    static void prefetch(const masstree_detail::node* /*child*/) { steps::come(); }
};

class watched_adapter {
   public:
    using operation = hf::operation;
    using leaf = watched_leaf;
    using interior = watched_interior;
    using shape = masstree_detail::in_place_shape;
    using plain = masstree_detail::transient_adapter;
    using node = masstree_detail::node;
    using word = masstree_detail::word;

    template <class Memory>
    watched_adapter(const Memory& /*memory*/, bool /*sealed*/) noexcept {}

    static constexpr bool is_sealed() noexcept { return false; }
    static constexpr bool is_stamped(const leaf& /*n*/) noexcept { return true; }
    static constexpr bool is_after_crash(const operation& /*op*/) noexcept { return false; }
    static void check_passed(const operation& /*op*/, const interior& /*n*/) noexcept {}

    static void begin_update(operation& op) noexcept { plain::begin_update(op); }
    static void arrive(operation& /*op*/, leaf& /*n*/) {
        steps::lock();
        steps::come();
    }
    static void arrive_taken_over(operation& /*op*/, leaf& /*n*/) {}
    static void observed(operation& /*op*/, const node& /*n*/) { steps::come(); }

    static void filled(operation& /*op*/, const void* /*record*/, u64 /*bytes*/) noexcept {}
    static void created_root_leaf(leaf& /*n*/, u64 /*epoch*/) noexcept {}
    static void fresh_leaf(operation& /*op*/, leaf& /*n*/) noexcept {}
    static void fresh_interior(operation& op, interior& n) noexcept { root_became_interior(op, n); }
    static void root_became_leaf(operation& /*op*/, leaf& /*n*/) noexcept {}
    /// Makes the words look like a full leaf with keys of eight bytes.
    static void root_became_interior(operation& /*op*/, interior& n) noexcept {
        masstree_detail::store(n.log_epoch,
                               masstree_detail::permutation<leaf::width>::filled(15).word());
        masstree_detail::store(n.spare, 0x888888888888888);
    }

    static result<void> before_value_change(operation& /*op*/, leaf& /*n*/, unsigned /*slot*/) {
        return {};
    }
    static result<void> before_removal(operation& /*op*/, leaf& /*n*/) { return {}; }
    static result<unsigned> choose_slot_for_insert(operation& /*op*/, leaf& /*n*/,
                                                   masstree_detail::permutation<leaf::width> p) {
        return p.slot(p.size());
    }
    static result<void> log_nodes(operation& /*op*/, std::span<node* const> /*nodes*/) {
        if (steps::gathered) steps::gathered();
        return {};
    }
    static bool is_logged(operation& /*op*/, const node& /*n*/) noexcept { return true; }
    static void publish(operation& op, word& w, u64 value) noexcept {
        plain::publish(op, w, value);
    }
    template <class Check>
    static void audit_seals(const leaf& /*n*/, Check& /*check*/) noexcept {}
    static bool recover_for_audit(operation& /*op*/, leaf& /*n*/) noexcept { return false; }
    template <class Check>
    static void audit_leaf(const leaf& /*n*/, Check& /*check*/) noexcept {}
    template <class Check>
    static void audit_interior(const interior& /*n*/, Check& /*check*/) noexcept {}
};

}  // namespace hf::test

template <>
struct hf::masstree_detail::adapter_of<hf::test::watched_discipline> {
    using type = hf::test::watched_adapter;
};
