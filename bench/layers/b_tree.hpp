// bench/layers/b_tree.hpp: a B-tree of up to sixteen children a node; splits and merges on the way
// down, so that one pass does. Literature: Cormen et al., "Introduction to Algorithms", chapter 18.
#pragma once

#include "bench/layers/workload.hpp"

namespace hf::bench {

template <class On, unsigned Least = 8>
struct b_tree {
    using tx = typename On::tx;
    using word = typename On::template p<u64>;
    static constexpr unsigned least = Least;         ///< children of a node but the top
    static constexpr unsigned most = 2 * least - 1;  ///< keys of a node

    struct node {
        word keys;
        nv::array<word, most> key;
        nv::array<word, most> value;
        nv::array<typename On::template ptr<node>, most + 1> child;
    };
    using place = typename On::template cursor<node>;
    typename On::template ptr<node> top;

    void make(tx& t, u64) { top.set(t, t.template make<node>()); }
    bool toggle(tx& t, u64 key) {
        if (contains(key)) {
            remove(t, key);
            return false;
        }
        insert(t, key);
        return true;
    }
    template <class F>
    void for_each(F&& visit) const {
        walk(top, visit);
    }

   private:
    [[nodiscard]] static unsigned at_or_behind(const place& n, u64 key) {
        const auto keys = static_cast<unsigned>(n->keys);
        unsigned i = 0;
        while (i < keys && n->key[i] < key) ++i;
        return i;
    }
    [[nodiscard]] static bool has(const place& n, unsigned i, u64 key) {
        return i < n->keys && n->key[i] == key;
    }
    [[nodiscard]] static bool is_leaf(const place& n) { return !n->child[0]; }
    [[nodiscard]] bool contains(u64 key) const {
        for (place n = top; n;) {
            const unsigned i = at_or_behind(n, key);
            if (has(n, i, key)) return true;
            n = n->child[i];
        }
        return false;
    }
    static void copy(tx& t, const place& to, unsigned i, const place& from, unsigned j) {
        to->key[i].set(t, from->key[j].get());
        to->value[i].set(t, from->value[j].get());
    }
    static void move_child(tx& t, const place& to, unsigned i, const place& from, unsigned j) {
        to->child[i].set(t, from->child[j].get());
        from->child[j].set(t, nullptr);
    }
    static void open_gap(tx& t, const place& n, unsigned at) {
        const auto keys = static_cast<unsigned>(n->keys);
        for (unsigned i = keys; i > at; --i) copy(t, n, i, n, i - 1);
        n->keys.set(t, keys + 1);
    }
    static void close_gap(tx& t, const place& n, unsigned at) {
        const auto keys = static_cast<unsigned>(n->keys);
        for (unsigned i = at + 1; i < keys; ++i) copy(t, n, i - 1, n, i);
        n->keys.set(t, keys - 1);
    }
    /// Child i, which is full, gives its upper half to a new one behind it.
    static void split(tx& t, const place& n, unsigned i) {
        const place lower = n->child[i];
        const place upper = t.template make<node>();
        for (unsigned k = 0; k < least - 1; ++k) copy(t, upper, k, lower, k + least);
        if (!is_leaf(lower)) {
            for (unsigned k = 0; k < least; ++k) move_child(t, upper, k, lower, k + least);
        }
        upper->keys.set(t, least - 1);
        lower->keys.set(t, least - 1);
        for (auto k = static_cast<unsigned>(n->keys); k > i; --k) {
            n->child[k + 1].set(t, n->child[k].get());
        }
        open_gap(t, n, i);
        copy(t, n, i, lower, least - 1);
        n->child[i + 1].set(t, upper);
    }
    void insert(tx& t, u64 key) {
        if (top->keys == most) {
            const place above = t.template make<node>();
            above->child[0].set(t, top.get());
            split(t, above, 0);
            top.set(t, above);
        }
        place n = top;
        while (!is_leaf(n)) {
            unsigned i = at_or_behind(n, key);
            if (n->child[i]->keys == most) {
                split(t, n, i);
                if (n->key[i] < key) ++i;
            }
            n = n->child[i];
        }
        const unsigned i = at_or_behind(n, key);
        open_gap(t, n, i);
        n->key[i].set(t, key);
        n->value[i].set(t, key);
    }
    /// Children i and i + 1 and the key between them become one.
    static void merge(tx& t, const place& n, unsigned i) {
        const place lower = n->child[i];
        const place upper = n->child[i + 1];
        const auto kept = static_cast<unsigned>(lower->keys);
        const auto more = static_cast<unsigned>(upper->keys);
        copy(t, lower, kept, n, i);
        for (unsigned k = 0; k < more; ++k) copy(t, lower, kept + 1 + k, upper, k);
        if (!is_leaf(lower)) {
            for (unsigned k = 0; k <= more; ++k) move_child(t, lower, kept + 1 + k, upper, k);
        }
        lower->keys.set(t, kept + 1 + more);
        const auto keys = static_cast<unsigned>(n->keys);
        for (unsigned k = i + 1; k < keys; ++k) n->child[k].set(t, n->child[k + 1].get());
        n->child[keys].set(t, nullptr);
        close_gap(t, n, i);
        On::template dispose<node>(t, upper);
    }
    static void borrow_from_left(tx& t, const place& n, unsigned i) {
        const place to = n->child[i];
        const place from = n->child[i - 1];
        const auto last = static_cast<unsigned>(from->keys) - 1;
        if (!is_leaf(to)) {
            for (auto k = static_cast<unsigned>(to->keys) + 1; k > 0; --k) {
                to->child[k].set(t, to->child[k - 1].get());
            }
            move_child(t, to, 0, from, last + 1);
        }
        open_gap(t, to, 0);
        copy(t, to, 0, n, i - 1);
        copy(t, n, i - 1, from, last);
        from->keys.set(t, last);
    }
    static void borrow_from_right(tx& t, const place& n, unsigned i) {
        const place to = n->child[i];
        const place from = n->child[i + 1];
        const auto keys = static_cast<unsigned>(to->keys);
        const auto others = static_cast<unsigned>(from->keys);
        if (!is_leaf(to)) {
            to->child[keys + 1].set(t, from->child[0].get());
            for (unsigned k = 0; k < others; ++k) from->child[k].set(t, from->child[k + 1].get());
            from->child[others].set(t, nullptr);
        }
        copy(t, to, keys, n, i);
        to->keys.set(t, keys + 1);
        copy(t, n, i, from, 0);
        close_gap(t, from, 0);
    }
    /// Child i gets a key more than it needs; the child to go on with.
    static place fill(tx& t, const place& n, unsigned i) {
        if (n->child[i]->keys >= least) return n->child[i];
        if (i > 0 && n->child[i - 1]->keys >= least) {
            borrow_from_left(t, n, i);
        } else if (i < n->keys && n->child[i + 1]->keys >= least) {
            borrow_from_right(t, n, i);
        } else {
            if (i == n->keys) --i;
            merge(t, n, i);
        }
        return n->child[i];
    }
    [[nodiscard]] static place outmost(place n, bool right) {
        while (!is_leaf(n)) n = n->child[right ? static_cast<unsigned>(n->keys) : 0];
        return n;
    }
    /// Of an inner node, whose key i it was: the place to go on with.
    static place replace(tx& t, const place& n, unsigned i, u64& key) {
        const bool left = n->child[i]->keys >= least;
        if (!left && n->child[i + 1]->keys < least) {
            merge(t, n, i);
            return n->child[i];
        }
        const place from = outmost(n->child[left ? i : i + 1], left);
        copy(t, n, i, from, left ? static_cast<unsigned>(from->keys) - 1 : 0);
        key = n->key[i];
        return n->child[left ? i : i + 1];
    }
    void remove(tx& t, u64 key) {
        place n = top;
        for (;;) {
            const unsigned i = at_or_behind(n, key);
            if (is_leaf(n)) {
                close_gap(t, n, i);
                break;
            }
            n = has(n, i, key) ? replace(t, n, i, key) : fill(t, n, i);
        }
        const place old = top;
        if (old->keys == 0 && !is_leaf(old)) {
            top.set(t, old->child[0].get());
            On::template dispose<node>(t, old);
        }
    }
    template <class F>
    static void walk(const place& n, F& visit) {  // NOLINT(misc-no-recursion)
        if (!n) return;
        const auto keys = static_cast<unsigned>(n->keys);
        for (unsigned i = 0; i < keys; ++i) {
            walk(n->child[i], visit);
            visit(n->key[i].get());
        }
        walk(n->child[keys], visit);
    }
};

}  // namespace hf::bench
