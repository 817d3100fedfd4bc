// bench/layers/red_black_tree.hpp: a left-leaning red-black tree on any layer, with the algorithm
// of nv::rb_map (see there for literature).
#pragma once

#include "bench/layers/workload.hpp"

namespace hf::bench {

template <class On>
struct red_black_tree {
    using tx = typename On::tx;
    template <class T>
    using p = typename On::template p<T>;
    struct entry {
        p<u64> key;
        p<u64> value;
        p<bool> red;
        typename On::template ptr<entry> left;
        typename On::template ptr<entry> right;
    };
    using place = typename On::template cursor<entry>;
    typename On::template ptr<entry> top;

    void make(tx&, u64) {}
    bool toggle(tx& t, u64 key) {
        if (contains(key)) {
            if (!is_red(top->left) && !is_red(top->right)) top->red.set(t, true);
            adopt(t, remove(t, top, key));
            return false;
        }
        adopt(t, insert(t, top, t.template make<entry>(key, key, true)));
        return true;
    }
    template <class F>
    void for_each(F&& visit) const {
        walk(top, visit);
    }

   private:
    [[nodiscard]] bool contains(u64 key) const {
        place e = top;
        while (e) {
            const u64 here = e->key;
            if (here == key) return true;
            e = key < here ? e->left.get() : e->right.get();
        }
        return false;
    }
    void adopt(tx& t, const place& e) {
        top.set(t, e);
        if (e && e->red) e->red.set(t, false);
    }
    [[nodiscard]] static bool is_red(const place& e) { return e && e->red; }
    static place rotate_left(tx& t, const place& h) {
        const place x = h->right;
        h->right.set(t, x->left.get());
        x->left.set(t, h);
        x->red.set(t, h->red);
        h->red.set(t, true);
        return x;
    }
    static place rotate_right(tx& t, const place& h) {
        const place x = h->left;
        h->left.set(t, x->right.get());
        x->right.set(t, h);
        x->red.set(t, h->red);
        h->red.set(t, true);
        return x;
    }
    static void flip(tx& t, const place& h) {
        h->red.set(t, !h->red);
        h->left->red.set(t, !h->left->red);
        h->right->red.set(t, !h->right->red);
    }
    static place balance(tx& t, place h) {
        if (is_red(h->right) && !is_red(h->left)) h = rotate_left(t, h);
        if (is_red(h->left) && is_red(h->left->left)) h = rotate_right(t, h);
        if (is_red(h->left) && is_red(h->right)) flip(t, h);
        return h;
    }
    // The depth is at most 2 log_2 n.
    static place insert(tx& t, const place& h, const place& made) {  // NOLINT(misc-no-recursion)
        if (!h) return made;
        if (made->key.get() < h->key.get()) {
            h->left.set(t, insert(t, h->left, made));
        } else {
            h->right.set(t, insert(t, h->right, made));
        }
        return balance(t, h);
    }
    static place red_to_the_left(tx& t, place h) {
        flip(t, h);
        if (is_red(h->right->left)) {
            h->right.set(t, rotate_right(t, h->right));
            h = rotate_left(t, h);
            flip(t, h);
        }
        return h;
    }
    static place red_to_the_right(tx& t, place h) {
        flip(t, h);
        if (is_red(h->left->left)) {
            h = rotate_right(t, h);
            flip(t, h);
        }
        return h;
    }
    static place remove_least(tx& t, place h) {  // NOLINT(misc-no-recursion)
        if (!h->left) {
            On::template dispose<entry>(t, h);
            return nullptr;
        }
        if (!is_red(h->left) && !is_red(h->left->left)) h = red_to_the_left(t, h);
        h->left.set(t, remove_least(t, h->left));
        return balance(t, h);
    }
    static place remove(tx& t, place h, u64 key) {  // NOLINT(misc-no-recursion)
        if (key < h->key.get()) {
            if (!is_red(h->left) && !is_red(h->left->left)) h = red_to_the_left(t, h);
            h->left.set(t, remove(t, h->left, key));
            return balance(t, h);
        }
        if (is_red(h->left)) h = rotate_right(t, h);
        if (h->key == key && !h->right) {
            On::template dispose<entry>(t, h);
            return nullptr;
        }
        if (!is_red(h->right) && !is_red(h->right->left)) h = red_to_the_right(t, h);
        if (h->key != key) {
            h->right.set(t, remove(t, h->right, key));
            return balance(t, h);
        }
        place least = h->right;
        while (least->left) least = least->left;
        h->key.set(t, least->key);
        h->value.set(t, least->value);
        h->right.set(t, remove_least(t, h->right));
        return balance(t, h);
    }
    template <class F>
    static void walk(const place& h, F& visit) {  // NOLINT(misc-no-recursion)
        if (!h) return;
        walk(h->left, visit);
        visit(h->key.get());
        walk(h->right, visit);
    }
};

}  // namespace hf::bench
