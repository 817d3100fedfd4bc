// holdfast/nv/map.hpp: an ordered map in a heap, a B+ tree. Written with the public interface,
// except that it loads the words of a node together (at_once.hpp).
//
// Key is any type that nv::p holds, with operator<; Value a field: nv::p<T>, nv::ptr<T, H>. Cost in
// a transaction: find() reads six keys of a node on each level (four if the keys are not numbers),
// and there are about log_10 n levels. An insertion stores a key, a value and one word of a leaf.
// An erasure stores that word: a leaf's entries keep their slots, and a word holds their order
// (slot_order.hpp). Nodes are split when full. Empty nodes are freed; others are never merged.
//
//   branch   keys k0 < k1 < ...    keys of child i are < k(i) and >= k(i-1)
//   twig     a branch whose children are leaves
//   leaf     order, entries
//
// The target of a node's pointers follows from their type, so that they can be counted and checked.
// A branch therefore has pointers of two types, before and after its keys, and its level tells
// which are in use. Most inner nodes are twigs, which have one type. With keys and values of 8
// bytes, a twig or leaf including its object header takes exactly 4 cache lines, and so does the
// part of a branch that is in use. An entry is within one line, so an insertion changes at most two
// lines of its leaf.
//
// A descent prefetches all lines of the next node together, so a level costs one cache miss. The
// search within a node has no key-dependent branches. The size is counted in one part a thread
// (counter.hpp).
#pragma once

#include <holdfast/nv/at_once.hpp>
#include <holdfast/nv/counter.hpp>
#include <holdfast/nv/slot_order.hpp>
#include <holdfast/nv/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace hf::nv {

template <class K, class V, class H = common>
class map {
   public:
    static constexpr std::uint32_t width = 15;       ///< children of a branch
    static constexpr std::uint32_t leaf_width = 14;  ///< entries of a leaf
    struct entry {
        p<K> key;
        V value;
    };
    struct leaf {
        p<std::uint64_t> order;  ///< slot_order
        bytes<8> apart;          ///< padding: each entry of 16 bytes is within one line
        array<entry, leaf_width> entries;
    };
    struct twig {
        p<std::uint32_t> count;  ///< children
        array<p<K>, width - 1> keys;
        array<ptr<leaf, H>, width> leaves;
    };
    struct branch {
        array<ptr<branch, H>, width> branches;
        p<std::uint32_t> count;  ///< children
        array<p<K>, width - 1> keys;
        array<ptr<twig, H>, width> twigs;
    };

    map() = default;
    map(const map&) = delete;
    map& operator=(const map&) = delete;
    ~map() = default;

    /// Position of a key, present or to be inserted. Valid in the transaction until the map
    /// changes.
    class place {
       public:
        /// True if the key is present.
        [[nodiscard]] explicit operator bool() const noexcept { return found_; }
        /// The value; the key must be present.
        [[nodiscard]] V& value() const { return of_->entries[order_.slot(rank_)].value; }

       private:
        friend class map;
        place() = default;
        place(const leaf& of, detail::slot_order order, std::uint32_t rank, bool found,
              std::uint64_t serial)
            : of_(cursor<leaf, H>::at(bytes_of(of), serial)),
              order_(order),
              rank_(rank),
              found_(found) {}

        cursor<leaf, H> of_;
        detail::slot_order order_{0};
        std::uint32_t rank_ = 0;
        bool found_ = false;
    };

    [[nodiscard]] std::size_t size() const { return size_.get(); }
    [[nodiscard]] bool empty() const { return size() == 0; }
    [[nodiscard]] place place_of(const K& key) const {
        const leaf* const l = leaf_of(key);
        if (l == nullptr) return {};
        transaction& t = *transaction::running();
        struct seen {  // small enough for registers
            std::uint64_t order;
            std::uint32_t rank;
            std::uint32_t found;
        };
        const auto look_in = [l, key](const auto& load) {
            const detail::slot_order order = order_of(*l, load);
            const std::uint32_t rank = rank_in(*l, order, key, load);
            const bool found =
                rank < order.count() && !(key < load(l->entries.begin()[order.slot(rank)].key));
            return seen{order.word(), rank, found};
        };
        const seen in = look<whole<leaf>>(t, *l, look_in);
        return place(*l, detail::slot_order(in.order), in.rank, in.found != 0, t.serial());
    }
    /// The value, or nullptr. Valid in the transaction until the map changes.
    [[nodiscard]] V* find(const K& key) const {
        const place at = place_of(key);
        return at ? std::addressof(at.value()) : nullptr;
    }
    [[nodiscard]] bool contains(const K& key) const { return static_cast<bool>(place_of(key)); }
    /// Inserts an absent key with a zero-initialised value. `at` is place_of(key).
    V& insert_at(tx<H>& t, place at, const K& key) {
        size_.add(t, 1);
        if (!at.of_ || at.order_.count() == leaf_width) [[unlikely]] {
            make_room(t, key);
            at = place_of(key);
        }
        leaf& l = *at.of_;
        at.order_ = at.order_.inserted(at.rank_);
        entry& made = l.entries[at.order_.slot(at.rank_)];
        l.order.set(t, at.order_.word());
        made.key.set(t, key);
        release(t, made.value);
        return made.value;
    }
    /// Erases a key that is present. `at` is its place.
    void erase_at(tx<H>& t, const place& at) {
        size_.add(t, -1);
        leaf& l = *at.of_;
        entry& gone = l.entries[at.order_.slot(at.rank_)];
        l.order.set(t, at.order_.erased(at.rank_).word());
        if constexpr (!detail::is_p<V>) release(t, gone.value);
        if (at.order_.count() == 1) [[unlikely]] {
            remove_empty(t, gone.key.get());
        }
    }
    /// Finds or inserts the key; a new value is zero-initialised. Second: true if inserted.
    std::pair<V*, bool> try_emplace(tx<H>& t, const K& key) {
        const place at = place_of(key);
        if (at) return {std::addressof(at.value()), false};
        return {std::addressof(insert_at(t, at, key)), true};
    }
    template <class U>
    void insert_or_assign(tx<H>& t, const K& key, const U& value) {
        try_emplace(t, key).first->set(t, value);
    }
    bool erase(tx<H>& t, const K& key) {
        const place at = place_of(key);
        if (at) erase_at(t, at);
        return static_cast<bool>(at);
    }
    void clear(tx<H>& t) {
        root_.set(t, nullptr);
        twig_.set(t, nullptr);
        leaf_.set(t, nullptr);
        levels_.set(t, 0);
        size_.clear(t);
    }
    /// Calls visit(key, value) in ascending order, starting at the first key >= `from`, until it
    /// returns false.
    template <class F>
    void for_each_from(std::optional<K> from, F&& visit) const {
        const std::uint32_t levels = this->levels();
        if (levels > 1) {
            static_cast<void>(walk(root_.get(), levels, from, visit));
        } else if (levels == 1) {
            static_cast<void>(walk(twig_.get(), from, visit));
        } else if (leaf_) {
            static_cast<void>(walk(leaf_.get(), from, visit));
        }
    }
    template <class F>
    void for_each(F&& visit) const {
        for_each_from(std::nullopt, [&](const K& k, V& v) {
            visit(k, v);
            return true;
        });
    }

   private:
    using leaf_cursor = cursor<leaf, H>;
    using twig_cursor = cursor<twig, H>;
    using branch_cursor = cursor<branch, H>;

    static constexpr std::uint32_t most_levels = 32;  ///< each level is one split of the root
    static constexpr std::uint32_t most_keys = 14;    ///< in a node: partition_numbers() takes 15
    static_assert(width - 1 == most_keys && leaf_width == most_keys);
    static constexpr bool reads_at_once = detail::is_word<K> &&
                                          sizeof(leaf) <= detail::words_at_once::most_bytes &&
                                          sizeof(twig) <= detail::words_at_once::most_bytes;

    template <class Node>
    [[nodiscard]] static std::byte* bytes_of(const Node& n) {
        return reinterpret_cast<std::byte*>(const_cast<Node*>(std::addressof(n)));
    }
    template <class Child, class Node>
    [[nodiscard]] static auto& children(Node& n) {
        if constexpr (std::is_same_v<Child, branch>) {
            return n.branches;
        } else if constexpr (std::is_same_v<Child, twig>) {
            return n.twigs;
        } else {
            return n.leaves;
        }
    }
    /// The part of a node that a search reads: all of it, or its keys and the pointers in use.
    template <class Node>
    struct whole {
        static constexpr std::size_t lines = detail::words_at_once::lines_of<Node>(0, sizeof(Node));
        [[nodiscard]] static const void* first(const Node& n) { return std::addressof(n); }
        [[nodiscard]] static const void* end(const Node& n) { return std::addressof(n) + 1; }
    };
    struct upper_part {
        static constexpr std::size_t lines = detail::words_at_once::lines_of<branch>(
            0, sizeof(branch) - sizeof(array<ptr<twig, H>, width>));
        [[nodiscard]] static const void* first(const branch& n) { return std::addressof(n); }
        [[nodiscard]] static const void* end(const branch& n) { return std::addressof(n.twigs); }
    };
    struct lower_part {
        static constexpr std::size_t before = sizeof(array<ptr<branch, H>, width>);
        static constexpr std::size_t lines =
            detail::words_at_once::lines_of<branch>(before, sizeof(branch) - before);
        [[nodiscard]] static const void* first(const branch& n) { return std::addressof(n.count); }
        [[nodiscard]] static const void* end(const branch& n) { return std::addressof(n) + 1; }
    };
    template <class Child>
    using part_for = std::conditional_t<
        std::is_same_v<Child, branch>, upper_part,
        std::conditional_t<std::is_same_v<Child, twig>, lower_part, whole<twig>>>;

    /// Returns f(load). `load` reads words of that part, all with one check or each with its own.
    template <class Part, class Node, class F>
    [[nodiscard, gnu::always_inline]] static inline auto look(transaction& t, const Node& n,
                                                              const F& f) {
        if constexpr (reads_at_once) {
            return detail::words_at_once::load<Part::lines>(t, Part::first(n), Part::end(n), f);
        } else {
            return f(detail::words_at_once::one_by_one{t});
        }
    }
    /// Prefetches the node.
    template <class Part, class Node>
    static void expect(const transaction& t, const Node& n) {
        detail::words_at_once::expect<Part::lines>(t, Part::first(n), Part::end(n));
    }
    /// Number of leading keys, of n sorted ones, for which is_left is true. Two steps of three
    /// independent loads, without branches. It may read slots past the n keys; these contain
    /// numbers, whose values do not matter.
    template <class F>
    [[nodiscard, gnu::always_inline]] static inline std::uint32_t partition_numbers(std::uint32_t n,
                                                                                    F&& is_left) {
        const auto one = [&](std::uint32_t i) {
            const bool left = is_left(std::min(i, most_keys - 1));
            return static_cast<std::uint32_t>(i < n) & static_cast<std::uint32_t>(left);
        };
        const std::uint32_t low = 4 * (one(3) + one(7) + one(11));
        return low + one(low) + one(low + 1) + one(low + 2);
    }
    /// As partition_numbers(), but reads only the n keys.
    template <class F>
    [[nodiscard]] static std::uint32_t partition(std::uint32_t n, F&& is_left) {
        if constexpr (std::is_arithmetic_v<K>) {
            return partition_numbers(n, is_left);
        } else {
            std::uint32_t low = 0;
            while (n > 0) {
                const std::uint32_t half = (n + 1) / 2;
                low += is_left(low + half - 1) ? half : 0;  // a conditional move
                n = n / 2;
            }
            return low;
        }
    }
    template <class Load>
    [[nodiscard]] static detail::slot_order order_of(const leaf& l, const Load& load) {
        const detail::slot_order order(load(l.order));
        if (!order.is_within_14() || order.count() > leaf_width) [[unlikely]]
            detail::broken("a leaf of a map names entries that it has no room for");
        return order;
    }
    template <class Load>
    [[nodiscard]] static std::uint32_t rank_in(const leaf& l, detail::slot_order order,
                                               const K& key, const Load& load) {
        return partition(order.count(), [&](std::uint32_t i) {
            return load(l.entries.begin()[order.slot(i)].key) < key;
        });
    }
    template <class Node, class Load>
    [[nodiscard]] static std::uint32_t child_of(const Node& n, const K& key, const Load& load) {
        const std::uint32_t keys = std::min(load(n.count) - 1, most_keys);
        return partition(keys, [&](std::uint32_t i) { return !(key < load(n.keys.begin()[i])); });
    }
    template <class Node>
    [[nodiscard]] static std::uint32_t child_of(const Node& n, const K& key) {
        return child_of(n, key, detail::words_at_once::one_by_one{*transaction::running()});
    }
    /// The child whose range contains the key.
    template <class Child, class Node>
    [[nodiscard]] static const Child& child_for(transaction& t, const Node& n, const K& key) {
        const auto look_in = [in = std::addressof(n), key](const auto& load) {
            return load(children<Child>(*in).begin()[child_of(*in, key, load)]);
        };
        const std::uint64_t to = look<part_for<Child>>(t, n, look_in);
        if (to == 0) [[unlikely]]
            detail::bad_cursor(true);
        return *reinterpret_cast<const Child*>(t.base() + to);
    }
    /// Number of levels above the leaves.
    [[nodiscard]] std::uint32_t levels() const {
        const std::uint32_t n = levels_;
        if (n > most_levels) [[unlikely]]
            detail::broken("a map is deeper than any can be");
        return n;
    }
    /// The leaf for a key; nullptr: the map has no leaf.
    [[nodiscard]] const leaf* leaf_of(const K& key) const {
        const std::uint32_t levels = this->levels();
        if (levels == 0) return reinterpret_cast<const leaf*>(leaf_.get().address());
        transaction& t = *transaction::running();
        const twig& low = levels == 1 ? *twig_.get() : twig_for(t, levels, key);
        const leaf& l = child_for<leaf>(t, low, key);
        expect<whole<leaf>>(t, l);
        return std::addressof(l);
    }
    [[nodiscard]] const twig& twig_for(transaction& t, std::uint32_t levels, const K& key) const {
        const branch* b = std::addressof(*root_.get());
        for (std::uint32_t level = levels; level > 2; --level) {
            b = std::addressof(child_for<branch>(t, *b, key));
            if (level > 3) {
                expect<upper_part>(t, *b);
            } else {
                expect<lower_part>(t, *b);
            }
        }
        const twig& low = child_for<twig>(t, *b, key);
        expect<whole<twig>>(t, low);
        return low;
    }

    // ------------------------------------------------------------------------------ its changes

    /// Makes room after child i, with `key` as the separator. Pointers move by swaps, which change
    /// no reference counts; slots after the last child are null.
    template <class Child, class Node>
    static void widen(tx<H>& t, const cursor<Node, H>& of, std::uint32_t i, const K& key) {
        Node& n = *of;
        const std::uint32_t count = n.count;
        auto& all = children<Child>(n);
        for (std::uint32_t k = count; k > i + 1; --k) all[k].swap(t, all[k - 1]);
        for (std::uint32_t k = count - 1; k > i; --k) n.keys[k].set(t, n.keys[k - 1].get());
        n.keys[i].set(t, key);
        n.count.set(t, count + 1);
    }
    /// Removes child i and its separator.
    template <class Child, class Node>
    static void narrow(tx<H>& t, const cursor<Node, H>& of, std::uint32_t i) {
        Node& n = *of;
        const std::uint32_t count = n.count;
        auto& all = children<Child>(n);
        all[i].set(t, nullptr);
        for (std::uint32_t k = i; k + 1 < count; ++k) all[k].swap(t, all[k + 1]);
        for (std::uint32_t k = i == 0 ? 0 : i - 1; k + 2 < count; ++k) {
            n.keys[k].set(t, n.keys[k + 1].get());
        }
        n.count.set(t, count - 1);
    }

    [[nodiscard]] static bool is_full(const leaf& l) {
        return detail::slot_order(l.order).count() == leaf_width;
    }
    [[nodiscard]] static bool is_full(const twig& n) { return n.count == width; }
    [[nodiscard]] static bool is_full(const branch& n) { return n.count == width; }

    /// Moves the upper half of a full leaf to a new leaf. Returns it and the separator key.
    [[nodiscard]] static std::pair<leaf_cursor, K> halve(tx<H>& t, const leaf_cursor& full,
                                                         std::uint32_t /*level*/) {
        constexpr std::uint32_t half = leaf_width / 2;
        const detail::slot_order order(full->order);
        const leaf_cursor right =
            t.template make<leaf>(detail::slot_order::first(leaf_width - half).word());
        for (std::uint32_t k = half; k < leaf_width; ++k) {
            entry& from = full->entries[order.slot(k)];
            entry& to = right->entries[k - half];
            to.key.set(t, from.key.get());
            detail::copy_field(t, to.value, from.value);
            if constexpr (!detail::is_p<V>) release(t, from.value);
        }
        full->order.set(t, order.cut(half).word());
        return {right, right->entries[0].key.get()};
    }
    [[nodiscard]] static std::pair<twig_cursor, K> halve(tx<H>& t, const twig_cursor& full,
                                                         std::uint32_t /*level*/) {
        return halve_inner<leaf>(t, full);
    }
    [[nodiscard]] static std::pair<branch_cursor, K> halve(tx<H>& t, const branch_cursor& full,
                                                           std::uint32_t level) {
        return level == 2 ? halve_inner<twig>(t, full) : halve_inner<branch>(t, full);
    }
    template <class Child, class Node>
    [[nodiscard]] static std::pair<cursor<Node, H>, K> halve_inner(tx<H>& t,
                                                                   const cursor<Node, H>& full) {
        constexpr std::uint32_t half = width / 2;
        const cursor<Node, H> right = t.template make<Node>();
        right->count.set(t, width - half);
        for (std::uint32_t k = half; k < width; ++k) {
            children<Child>(*right)[k - half].swap(t, children<Child>(*full)[k]);
            if (k + 1 < width) right->keys[k - half].set(t, full->keys[k].get());
        }
        full->count.set(t, half);
        return {right, full->keys[half - 1].get()};
    }
    /// Splits child i, which is full and of that level. The parent has room for one more child.
    template <class Child, class Node>
    static void split(tx<H>& t, const cursor<Node, H>& above, std::uint32_t i,
                      std::uint32_t level) {
        const auto [right, key] = halve(t, children<Child>(*above)[i].get(), level);
        widen<Child>(t, above, i, key);
        children<Child>(*above)[i + 1].set(t, right);
    }
    /// The child for the key; split first if it is full.
    template <class Child, class Node>
    static cursor<Child, H> roomy_child(tx<H>& t, const cursor<Node, H>& of, const K& key,
                                        std::uint32_t level) {
        const std::uint32_t i = child_of(*of, key);
        if (!is_full(*children<Child>(*of)[i].get())) return children<Child>(*of)[i];
        split<Child>(t, of, i, level);
        return children<Child>(*of)[child_of(*of, key)];
    }
    /// Ensures that the key's leaf has room. Full nodes are split during the descent, so the parent
    /// of each split has room.
    void make_room(tx<H>& t, const K& key) {
        if (levels() == 0) {
            make_room_in_only_leaf(t);
            return;
        }
        make_room_above(t);  // may add a level
        twig_cursor low = twig_;
        if (levels_ > 1) {
            branch_cursor b = root_;
            for (std::uint32_t level = levels_; level > 2; --level) {
                b = roomy_child<branch>(t, b, key, level - 1);
            }
            low = roomy_child<twig>(t, b, key, 1);
        }
        static_cast<void>(roomy_child<leaf>(t, low, key, 0));
    }
    void make_room_in_only_leaf(tx<H>& t) {
        if (!leaf_) {
            leaf_.set(t, t.template make<leaf>(detail::slot_order::first(0).word()));
            return;
        }
        const twig_cursor top = t.template make<twig>(1U);
        top->leaves[0].set(t, leaf_);
        split<leaf>(t, top, 0, 0);
        leaf_.set(t, nullptr);
        twig_.set(t, top);
        levels_.set(t, 1);
    }
    /// Ensures that the root has room for another child.
    void make_room_above(tx<H>& t) {
        const std::uint32_t levels = this->levels();
        const bool splits = levels == 1 ? is_full(*twig_.get()) : is_full(*root_.get());
        if (!splits) return;
        const branch_cursor top = t.template make<branch>();
        top->count.set(t, 1);
        if (levels == 1) {
            top->twigs[0].set(t, twig_);
            split<twig>(t, top, 0, levels);
            twig_.set(t, nullptr);
        } else {
            top->branches[0].set(t, root_);
            split<branch>(t, top, 0, levels);
        }
        root_.set(t, top);
        levels_.set(t, levels + 1);
    }
    /// Removes the empty leaf of that key, and the nodes that become empty by that.
    void remove_empty(tx<H>& t, const K& key) {
        const std::uint32_t levels = this->levels();
        if (levels == 0) return;
        branch_cursor keeper;  // the lowest branch with another child
        std::uint32_t keeper_level = 0;
        twig_cursor low = twig_;
        if (levels > 1) {
            branch_cursor b = root_;
            for (std::uint32_t level = levels;; --level) {
                if (b->count > 1) {
                    keeper = b;
                    keeper_level = level;
                }
                if (level == 2) break;
                b = b->branches[child_of(*b, key)];
            }
            low = b->twigs[child_of(*b, key)];
        }
        if (low->count > 1) {
            narrow<leaf>(t, low, child_of(*low, key));
        } else if (!keeper) {
            clear(t);
        } else if (keeper_level == 2) {
            narrow<twig>(t, keeper, child_of(*keeper, key));
        } else {
            narrow<branch>(t, keeper, child_of(*keeper, key));
        }
    }
    static void release(tx<H>& t, V& v) {
        if constexpr (detail::is_ptr<V> || detail::is_weak<V>) {
            v.set(t, nullptr);
        } else if constexpr (detail::is_p<V>) {
            v.set(t, typename V::value_type{});
        }
    }

    // --------------------------------------------------------------------------------- its visits

    template <class F>
    static bool walk(const leaf_cursor& l, std::optional<K>& from, F& visit) {
        const detail::words_at_once::one_by_one load{*transaction::running()};
        const detail::slot_order order = order_of(*l, load);
        for (std::uint32_t i = from ? rank_in(*l, order, *from, load) : 0; i < order.count(); ++i) {
            entry& e = l->entries[order.slot(i)];
            if (!visit(e.key.get(), e.value)) return false;
        }
        from.reset();
        return true;
    }
    template <class F>
    static bool walk(const twig_cursor& n, std::optional<K>& from, F& visit) {
        for (std::uint32_t i = from ? child_of(*n, *from) : 0; i < n->count; ++i) {
            if (!walk(n->leaves[i].get(), from, visit)) return false;
        }
        return true;
    }
    template <class F>
    static bool walk(const branch_cursor& b, std::uint32_t level, std::optional<K>& from,
                     F& visit) {
        for (std::uint32_t i = from ? child_of(*b, *from) : 0; i < b->count; ++i) {
            if (level == 2 ? !walk(b->twigs[i].get(), from, visit)
                           : !walk(b->branches[i].get(), level - 1, from, visit)) {
                return false;
            }
        }
        return true;
    }

    ptr<branch, H> root_;  ///< the root, if there are two or more levels above the leaves
    ptr<twig, H> twig_;    ///< the root, if there is one level above the leaves
    ptr<leaf, H> leaf_;    ///< the only leaf, if there is none; or null
    p<std::uint32_t> levels_;
    counter size_;

   public:
    static constexpr auto nv_members =
        std::tuple{&map::root_, &map::twig_, &map::leaf_, &map::levels_, &map::size_};
};

}  // namespace hf::nv
