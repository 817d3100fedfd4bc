// holdfast/nv/map.hpp: an ordered map in a heap, a B+ tree. With the public interface alone.
//
// Key is any type that nv::p holds, with operator<; Value a field: nv::p<T>, nv::ptr<T, H>, a struct
// of these. What a transaction pays: find() reads about 4 keys of a node on each level, and there
// are log_12 n; inserting moves half of a leaf's entries on the average (one to three cache lines),
// now and then it splits a node. Nodes that became empty go; others are not joined.
//
//   branch   keys k0 < k1 < ...    child i has the keys below k(i) and not below k(i-1)
//   leaf     keys and values
//
// A branch has pointers of two types, of which its level says the one in use: so pointers are
// typed, and can be counted and checked.
#pragma once

#include <holdfast/nv/vector.hpp>

#include <cstddef>
#include <optional>
#include <utility>

namespace hf::nv {

template <class K, class V, class H = common>
class map {
   public:
    static constexpr std::uint32_t width = 16;  ///< entries of a leaf, children of a branch
    struct leaf {
        p<std::uint32_t> count;
        array<p<K>, width> keys;
        array<V, width> values;
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

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    /// nullptr, or the value; good within the transaction, until the map changes.
    [[nodiscard]] V* find(const K& key) const {
        const auto [l, i] = place_of(key);
        return l && i < l->count && !(key < l->keys[i].get()) ? std::addressof(l->values[i])
                                                              : nullptr;
    }
    [[nodiscard]] bool contains(const K& key) const { return find(key) != nullptr; }
    /// The value of that key; made, of zeros, where there is none. Second: made.
    std::pair<V*, bool> try_emplace(tx<H>& t, const K& key) {
        if (V* const there = find(key)) return {there, false};
        if (levels_ == 0 && !leaf_) leaf_.set(t, t.template make<leaf>(0U));
        if (levels_ == 0) {
            if (leaf_->count == width) {
                auto top = t.template make<branch>(1U);
                top->leaves[0].set(t, leaf_);
                split_leaf(t, top, 0);
                leaf_.set(t, nullptr);
                root_.set(t, top);
                levels_.set(t, 1);
            }
        } else if (root_->count == width) {
            auto top = t.template make<branch>(1U);
            top->branches[0].set(t, root_);
            split_branch(t, top, 0, levels_);
            root_.set(t, top);
            levels_.set(t, levels_ + 1);
        }
        V* const made = insert(t, key);
        size_.set(t, size_ + 1);
        return {made, true};
    }
    template <class U>
    void insert_or_assign(tx<H>& t, const K& key, const U& value) {
        try_emplace(t, key).first->set(t, value);
    }
    bool erase(tx<H>& t, const K& key) {
        const auto [l, i] = place_of(key);
        if (!l || i == l->count || key < l->keys[i].get()) return false;
        const std::uint32_t n = l->count;
        for (std::uint32_t k = i; k + 1 < n; ++k) {
            l->keys[k].set(t, l->keys[k + 1].get());
            detail::copy_field(t, l->values[k], l->values[k + 1]);
        }
        release(t, l->values[n - 1]);
        l->count.set(t, n - 1);
        size_.set(t, size_ - 1);
        if (n == 1) remove_empty(t, key);
        return true;
    }
    void clear(tx<H>& t) {
        root_.set(t, nullptr);
        leaf_.set(t, nullptr);
        levels_.set(t, 0);
        size_.set(t, 0);
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

    [[nodiscard]] static std::uint32_t child_of(const branch_cursor& b, const K& key) {
        std::uint32_t low = 0;
        std::uint32_t high = b->count - 1;
        while (low < high) {
            const std::uint32_t middle = (low + high) / 2;
            if (key < b->keys[middle].get()) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low;
    }
    [[nodiscard]] static std::uint32_t index_in(const leaf_cursor& l, const K& key) {
        std::uint32_t low = 0;
        std::uint32_t high = l->count;
        while (low < high) {
            const std::uint32_t middle = (low + high) / 2;
            if (l->keys[middle].get() < key) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }
    [[nodiscard]] leaf_cursor leaf_of(const K& key) const {
        const std::uint32_t levels = levels_;
        if (levels == 0) return leaf_;
        branch_cursor b = root_;
        for (std::uint32_t level = levels; level > 1; --level) b = b->branches[child_of(b, key)];
        return b->leaves[child_of(b, key)];
    }
    [[nodiscard]] std::pair<leaf_cursor, std::uint32_t> place_of(const K& key) const {
        const leaf_cursor l = leaf_of(key);
        return {l, l ? index_in(l, key) : 0};
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
        constexpr std::uint32_t half = width / 2;
        const leaf_cursor right = t.template make<leaf>(width - half);
        for (std::uint32_t k = half; k < width; ++k) {
            right->keys[k - half].set(t, l->keys[k].get());
            detail::copy_field(t, right->values[k - half], l->values[k]);
            release(t, l->values[k]);
        }
        l->count.set(t, half);
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
    // Splits what is full on the way down, so there is room above each split.
    V* insert(tx<H>& t, const K& key) {
        leaf_cursor l = leaf_;
        if (const std::uint32_t levels = levels_; levels != 0) {
            branch_cursor b = root_;
            for (std::uint32_t level = levels; level > 1; --level) {
                const std::uint32_t i = child_of(b, key);
                if (b->branches[i]->count == width) split_branch(t, b, i, level - 1);
                b = b->branches[child_of(b, key)];
            }
            const std::uint32_t i = child_of(b, key);
            if (b->leaves[i]->count == width) split_leaf(t, b, i);
            l = b->leaves[child_of(b, key)];
        }
        const std::uint32_t i = index_in(l, key);
        const std::uint32_t n = l->count;
        for (std::uint32_t k = n; k > i; --k) {
            l->keys[k].set(t, l->keys[k - 1].get());
            detail::copy_field(t, l->values[k], l->values[k - 1]);
        }
        l->keys[i].set(t, key);
        release(t, l->values[i]);
        l->count.set(t, n + 1);
        return std::addressof(l->values[i]);
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
        for (std::uint32_t i = from ? index_in(l, *from) : 0; i < l->count; ++i) {
            if (!visit(l->keys[i].get(), l->values[i])) return false;
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
    p<std::size_t> size_;
    p<std::uint32_t> levels_;

   public:
    static constexpr auto nv_members =
        std::tuple{&map::root_, &map::leaf_, &map::size_, &map::levels_};
};

}  // namespace hf::nv
