// holdfast/nv/map.hpp: an ordered map in a heap, a B+ tree. With the public interface alone.
//
// Key is any type that nv::p holds, with operator<; Value a field: nv::p<T>, nv::ptr<T, H>.
// What a transaction pays: find() reads about 4 keys of a node on each level, and there are
// log_12 n; inserting stores a key, a value and a word of a leaf, and erasing that word, for a leaf
// keeps its entries where they are and their order in a word (slot_order.hpp). Now and then a node
// is split. Nodes that became empty go; others are not joined.
//
//   branch   keys k0 < k1 < ...    child i has the keys below k(i) and not below k(i-1)
//   leaf     order, keys and values: 4 lines where they have 8 bytes each
//
// A branch has pointers of two types, of which its level says the one in use: so pointers are
// typed, and can be counted and checked.
//
// Reading on the way down, all lines of the next node's keys are asked for at once, with those of
// the pointers or values that one of them leads to, so a level costs one miss of the cache. Within
// a node the search has no branches that depend on keys. The number of entries is kept in parts, by
// thread (counter.hpp).
#pragma once

#include <holdfast/nv/counter.hpp>
#include <holdfast/nv/slot_order.hpp>
#include <holdfast/nv/vector.hpp>

#include <cstddef>
#include <optional>
#include <utility>

namespace hf::nv {

template <class K, class V, class H = common>
class map {
   public:
    static constexpr std::uint32_t width = 16;       ///< children of a branch
    static constexpr std::uint32_t leaf_width = 14;  ///< entries of a leaf
    struct leaf {
        p<std::uint64_t> order;  ///< slot_order
        array<p<K>, leaf_width> keys;
        array<V, leaf_width> values;
    };
    struct branch {
        p<std::uint32_t> count;  ///< children
        array<p<K>, width> keys;
        array<ptr<branch, H>, width> branches;
        array<ptr<leaf, H>, width> leaves;
    };

    map() = default;
    map(const map&) = delete;
    map& operator=(const map&) = delete;
    ~map() = default;

    /// Where a key is, or belongs. Good within the transaction, until the map changes.
    class place {
       public:
        /// Whether the key is there.
        [[nodiscard]] explicit operator bool() const noexcept { return found_; }
        /// Of the key that is there.
        [[nodiscard]] V& value() const { return of_->values[order_.slot(rank_)]; }

       private:
        friend class map;
        cursor<leaf, H> of_;
        detail::slot_order order_{0};
        std::uint32_t rank_ = 0;
        bool found_ = false;
    };

    [[nodiscard]] std::size_t size() const { return size_.get(); }
    [[nodiscard]] bool empty() const { return size() == 0; }
    [[nodiscard]] place place_of(const K& key) const {
        place at;
        at.of_ = leaf_of(key);
        if (!at.of_) return at;
        const leaf& l = *at.of_;
        at.order_ = detail::slot_order(l.order);
        at.rank_ = rank_in(l, at.order_, key);
        at.found_ = at.rank_ < at.order_.count() && !(key < l.keys[at.order_.slot(at.rank_)].get());
        return at;
    }
    /// nullptr, or the value; good within the transaction, until the map changes.
    [[nodiscard]] V* find(const K& key) const {
        const place at = place_of(key);
        return at ? std::addressof(at.value()) : nullptr;
    }
    [[nodiscard]] bool contains(const K& key) const { return static_cast<bool>(place_of(key)); }
    /// The value of a key that is not there, of zeros; `at` is its place.
    V& insert_at(tx<H>& t, place at, const K& key) {
        if (!at.of_ || at.order_.count() == leaf_width) [[unlikely]] {
            make_room(t, key);
            at = place_of(key);
        }
        leaf& l = *at.of_;
        at.order_ = at.order_.inserted(at.rank_);
        const std::uint32_t slot = at.order_.slot(at.rank_);
        l.order.set(t, at.order_.word());
        l.keys[slot].set(t, key);
        release(t, l.values[slot]);
        size_.add(t, 1);
        return l.values[slot];
    }
    /// The key that is there goes.
    void erase_at(tx<H>& t, const place& at) {
        leaf& l = *at.of_;
        const std::uint32_t slot = at.order_.slot(at.rank_);
        l.order.set(t, at.order_.erased(at.rank_).word());
        if constexpr (!detail::is_p<V>) release(t, l.values[slot]);
        size_.add(t, -1);
        if (at.order_.count() == 1) remove_empty(t, l.keys[slot].get());
    }
    /// The value of that key; made, of zeros, where there is none. Second: made.
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
        leaf_.set(t, nullptr);
        levels_.set(t, 0);
        size_.clear(t);
    }
    /// visit(key, value) in ascending order, from the first key not below `from`, until it returns
    /// false.
    template <class F>
    void for_each_from(std::optional<K> from, F&& visit) const {
        if (levels_ == 0) {
            if (leaf_) static_cast<void>(walk(leaf_.get(), from, visit));
        } else {
            static_cast<void>(walk(root_.get(), levels_, from, visit));
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
    using branch_cursor = cursor<branch, H>;

    /// How many of n keys in a row `is_left` holds for: the first ones.
    template <class F>
    [[nodiscard]] static std::uint32_t partition(std::uint32_t n, F&& is_left) {
        std::uint32_t low = 0;
        while (n > 0) {
            const std::uint32_t half = (n + 1) / 2;
            low += is_left(low + half - 1) ? half : 0;  // a move by condition
            n = n / 2;
        }
        return low;
    }
    [[nodiscard]] static std::uint32_t child_of(const branch_cursor& at, const K& key) {
        const branch& b = *at;
        return partition(b.count - 1, [&](std::uint32_t i) { return !(key < b.keys[i].get()); });
    }
    [[nodiscard]] static std::uint32_t rank_in(const leaf& l, detail::slot_order order,
                                               const K& key) {
        return partition(order.count(),
                         [&](std::uint32_t i) { return l.keys[order.slot(i)].get() < key; });
    }
    /// So much of one array is asked for: of wide keys the search meets a few lines only.
    static constexpr std::size_t most_asked_for = 256;

    /// Asks for bytes that are read soon.
    static void expect(const void* first, std::size_t bytes) {
        const auto* const at = static_cast<const char*>(first);
        const auto* const end = at + (bytes < most_asked_for ? bytes : most_asked_for);
        for (const char* line = at; line < end; line += 64) __builtin_prefetch(line);
        __builtin_prefetch(end - 1);
    }
    [[nodiscard]] static branch_cursor coming(const ptr<branch, H>& to, bool is_lowest) {
        const branch_cursor b = to;
        const branch& to_come = *b;
        expect(std::addressof(to_come), sizeof(to_come.count) + sizeof(to_come.keys));
        if (is_lowest) {
            expect(std::addressof(to_come.leaves), sizeof(to_come.leaves));
        } else {
            expect(std::addressof(to_come.branches), sizeof(to_come.branches));
        }
        return b;
    }
    [[nodiscard]] static leaf_cursor coming(const ptr<leaf, H>& to) {
        const leaf_cursor l = to;
        expect(l.address(), sizeof(leaf));
        return l;
    }
    [[nodiscard]] leaf_cursor leaf_of(const K& key) const {
        const std::uint32_t levels = levels_;
        if (levels == 0) return leaf_;
        branch_cursor b = root_;
        for (std::uint32_t level = levels; level > 1; --level) {
            b = coming(b->branches[child_of(b, key)], level == 2);
        }
        return coming(b->leaves[child_of(b, key)]);
    }

    /// Makes room behind child i, with `key` between the two.
    static void widen(tx<H>& t, const branch_cursor& b, std::uint32_t i, const K& key,
                      bool of_leaves) {
        const std::uint32_t n = b->count;
        for (std::uint32_t k = n; k > i + 1; --k) {
            if (of_leaves) {
                b->leaves[k].set(t, b->leaves[k - 1]);
            } else {
                b->branches[k].set(t, b->branches[k - 1]);
            }
        }
        for (std::uint32_t k = n - 1; k > i; --k) b->keys[k].set(t, b->keys[k - 1].get());
        b->keys[i].set(t, key);
        b->count.set(t, n + 1);
    }
    static void split_leaf(tx<H>& t, const branch_cursor& above, std::uint32_t i) {
        const leaf_cursor l = above->leaves[i];
        constexpr std::uint32_t half = leaf_width / 2;
        const detail::slot_order order(l->order);
        const leaf_cursor right =
            t.template make<leaf>(detail::slot_order::first(leaf_width - half).word());
        for (std::uint32_t k = half; k < leaf_width; ++k) {
            const std::uint32_t slot = order.slot(k);
            right->keys[k - half].set(t, l->keys[slot].get());
            detail::copy_field(t, right->values[k - half], l->values[slot]);
            if constexpr (!detail::is_p<V>) release(t, l->values[slot]);
        }
        l->order.set(t, order.cut(half).word());
        widen(t, above, i, right->keys[0].get(), true);
        above->leaves[i + 1].set(t, right);
    }
    static void split_branch(tx<H>& t, const branch_cursor& above, std::uint32_t i,
                             std::uint32_t level) {
        const branch_cursor b = above->branches[i];
        constexpr std::uint32_t half = width / 2;
        const branch_cursor right = t.template make<branch>(width - half);
        for (std::uint32_t k = half; k < width; ++k) {
            if (level == 1) {
                right->leaves[k - half].swap(t, b->leaves[k]);
            } else {
                right->branches[k - half].swap(t, b->branches[k]);
            }
            if (k + 1 < width) right->keys[k - half].set(t, b->keys[k].get());
        }
        b->count.set(t, half);
        widen(t, above, i, b->keys[half - 1].get(), false);
        above->branches[i + 1].set(t, right);
    }
    /// Has the key's leaf have room. What is full is split on the way down, so there is room above
    /// each split.
    void make_room(tx<H>& t, const K& key) {
        const std::uint32_t levels = levels_;
        if (levels == 0) {
            make_room_in_only_leaf(t);
            return;
        }
        if (root_->count == width) {
            const branch_cursor top = t.template make<branch>(1U);
            top->branches[0].set(t, root_);
            split_branch(t, top, 0, levels);
            root_.set(t, top);
            levels_.set(t, levels + 1);
        }
        branch_cursor b = root_;
        for (std::uint32_t level = levels_; level > 1; --level) {
            const std::uint32_t i = child_of(b, key);
            if (b->branches[i]->count == width) split_branch(t, b, i, level - 1);
            b = b->branches[child_of(b, key)];
        }
        const std::uint32_t i = child_of(b, key);
        if (detail::slot_order(b->leaves[i]->order).count() == leaf_width) split_leaf(t, b, i);
    }
    void make_room_in_only_leaf(tx<H>& t) {
        if (!leaf_) {
            leaf_.set(t, t.template make<leaf>(detail::slot_order::first(0).word()));
            return;
        }
        const branch_cursor top = t.template make<branch>(1U);
        top->leaves[0].set(t, leaf_);
        split_leaf(t, top, 0);
        leaf_.set(t, nullptr);
        root_.set(t, top);
        levels_.set(t, 1);
    }
    /// The leaf of that key is empty: it goes, and so do branches that become so.
    void remove_empty(tx<H>& t, const K& key) {
        const std::uint32_t levels = levels_;
        if (levels == 0) return;
        branch_cursor keeper;  // the lowest branch that has another child
        std::uint32_t keeper_level = 0;
        branch_cursor b = root_;
        for (std::uint32_t level = levels;; --level) {
            if (b->count > 1) {
                keeper = b;
                keeper_level = level;
            }
            if (level == 1) break;
            b = b->branches[child_of(b, key)];
        }
        if (!keeper) {
            clear(t);
            return;
        }
        const std::uint32_t i = child_of(keeper, key);
        const std::uint32_t n = keeper->count;
        for (std::uint32_t k = i; k + 1 < n; ++k) {
            if (keeper_level == 1) {
                keeper->leaves[k].set(t, keeper->leaves[k + 1]);
            } else {
                keeper->branches[k].set(t, keeper->branches[k + 1]);
            }
        }
        for (std::uint32_t k = i == 0 ? 0 : i - 1; k + 2 < n; ++k) {
            keeper->keys[k].set(t, keeper->keys[k + 1].get());
        }
        keeper->leaves[n - 1].set(t, nullptr);
        keeper->branches[n - 1].set(t, nullptr);
        keeper->count.set(t, n - 1);
    }
    static void release(tx<H>& t, V& v) {
        if constexpr (detail::is_ptr<V> || detail::is_weak<V>) {
            v.set(t, nullptr);
        } else if constexpr (detail::is_p<V>) {
            v.set(t, typename V::value_type{});
        }
    }
    template <class F>
    static bool walk(const leaf_cursor& l, std::optional<K>& from, F& visit) {
        const detail::slot_order order(l->order);
        for (std::uint32_t i = from ? rank_in(*l, order, *from) : 0; i < order.count(); ++i) {
            if (!visit(l->keys[order.slot(i)].get(), l->values[order.slot(i)])) return false;
        }
        from.reset();
        return true;
    }
    template <class F>
    static bool walk(const branch_cursor& b, std::uint32_t level, std::optional<K>& from,
                     F& visit) {
        for (std::uint32_t i = from ? child_of(b, *from) : 0; i < b->count; ++i) {
            if (level == 1 ? !walk(b->leaves[i].get(), from, visit)
                           : !walk(b->branches[i].get(), level - 1, from, visit)) {
                return false;
            }
        }
        return true;
    }

    ptr<branch, H> root_;
    ptr<leaf, H> leaf_;  ///< instead of a root, as long as there is but one
    p<std::uint32_t> levels_;
    counter size_;

   public:
    static constexpr auto nv_members =
        std::tuple{&map::root_, &map::leaf_, &map::levels_, &map::size_};
};

}  // namespace hf::nv
