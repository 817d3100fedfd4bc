// holdfast/nv/rb_map.hpp: an ordered map in a heap, a red-black tree. With the public interface
// alone. map (map.hpp) reads and writes less; this one moves no entry when another is inserted.
//
// Key is any type that nv::p holds, with operator<; Value a field: nv::p<T>, nv::ptr<T, H>. What a
// transaction pays: find() reads a node on each of at most 2 log_2 n levels; inserting makes one,
// and changes pointers and colours of about three others; erasing changes some of each level.
//
// Literature: Sedgewick, "Left-leaning Red-Black Trees" (2008): red links lean left, so that there
// are few cases; no pointers to parents, which would have to be weak.
#pragma once

#include <holdfast/nv/vector.hpp>

#include <cstddef>
#include <utility>

namespace hf::nv {

template <class K, class V, class H = common>
class rb_map {
   public:
    struct entry {
        p<K> key;
        p<bool> red;
        ptr<entry, H> left;
        ptr<entry, H> right;
        V value;
    };
    using cursor_type = cursor<entry, H>;

    rb_map() = default;
    rb_map(const rb_map&) = delete;
    rb_map& operator=(const rb_map&) = delete;
    ~rb_map() = default;

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    /// Null, or the entry: find(k)->value.
    [[nodiscard]] cursor_type find(const K& key) const {
        cursor_type e = root_;
        while (e) {
            const K here = e->key;
            if (key < here) {
                e = e->left;
            } else if (here < key) {
                e = e->right;
            } else {
                break;
            }
        }
        return e;
    }
    [[nodiscard]] bool contains(const K& key) const { return static_cast<bool>(find(key)); }
    /// The entry of that key; made, with a value of zeros, where there is none. Second: made.
    std::pair<cursor_type, bool> try_emplace(tx<H>& t, const K& key) {
        if (auto e = find(key)) return {e, false};
        const cursor_type made = t.template make<entry>(key, true);
        adopt(t, insert(t, root_, made));
        size_.set(t, size_ + 1);
        return {made, true};
    }
    template <class U>
    void insert_or_assign(tx<H>& t, const K& key, const U& value) {
        try_emplace(t, key).first->value.set(t, value);
    }
    bool erase(tx<H>& t, const K& key) {
        if (!contains(key)) return false;
        if (!is_red(root_->left) && !is_red(root_->right)) root_->red.set(t, true);
        adopt(t, remove(t, root_, key));
        size_.set(t, size_ - 1);
        return true;
    }
    void clear(tx<H>& t) {
        root_.set(t, nullptr);
        size_.set(t, 0);
    }
    /// visit(key, value) for each, in ascending order.
    template <class F>
    void for_each(F&& visit) const {
        walk(root_, visit);
    }

   private:
    void adopt(tx<H>& t, const cursor_type& top) {
        root_.set(t, top);
        if (top && top->red) top->red.set(t, false);
    }
    [[nodiscard]] static bool is_red(const cursor_type& e) { return e && e->red; }
    static cursor_type rotate_left(tx<H>& t, const cursor_type& h) {
        const cursor_type x = h->right;
        h->right.set(t, x->left);
        x->left.set(t, h);
        x->red.set(t, h->red);
        h->red.set(t, true);
        return x;
    }
    static cursor_type rotate_right(tx<H>& t, const cursor_type& h) {
        const cursor_type x = h->left;
        h->left.set(t, x->right);
        x->right.set(t, h);
        x->red.set(t, h->red);
        h->red.set(t, true);
        return x;
    }
    static void flip(tx<H>& t, const cursor_type& h) {
        h->red.set(t, !h->red);
        h->left->red.set(t, !h->left->red);
        h->right->red.set(t, !h->right->red);
    }
    static cursor_type balance(tx<H>& t, cursor_type h) {
        if (is_red(h->right) && !is_red(h->left)) h = rotate_left(t, h);
        if (is_red(h->left) && is_red(h->left->left)) h = rotate_right(t, h);
        if (is_red(h->left) && is_red(h->right)) flip(t, h);
        return h;
    }
    // The depth is at most 2 log_2 n.
    static cursor_type insert(tx<H>& t,  // NOLINT(misc-no-recursion)
                              const cursor_type& h, const cursor_type& made) {
        if (!h) return made;
        if (made->key.get() < h->key.get()) {
            h->left.set(t, insert(t, h->left, made));
        } else {
            h->right.set(t, insert(t, h->right, made));
        }
        return balance(t, h);
    }
    static cursor_type red_to_the_left(tx<H>& t, cursor_type h) {
        flip(t, h);
        if (is_red(h->right->left)) {
            h->right.set(t, rotate_right(t, h->right));
            h = rotate_left(t, h);
            flip(t, h);
        }
        return h;
    }
    static cursor_type red_to_the_right(tx<H>& t, cursor_type h) {
        flip(t, h);
        if (is_red(h->left->left)) {
            h = rotate_right(t, h);
            flip(t, h);
        }
        return h;
    }
    static cursor_type remove_least(tx<H>& t, cursor_type h) {  // NOLINT(misc-no-recursion)
        if (!h->left) return nullptr;
        if (!is_red(h->left) && !is_red(h->left->left)) h = red_to_the_left(t, h);
        h->left.set(t, remove_least(t, h->left));
        return balance(t, h);
    }
    static cursor_type remove(tx<H>& t,  // NOLINT(misc-no-recursion)
                              cursor_type h, const K& key) {
        if (key < h->key.get()) {
            if (!is_red(h->left) && !is_red(h->left->left)) h = red_to_the_left(t, h);
            h->left.set(t, remove(t, h->left, key));
            return balance(t, h);
        }
        if (is_red(h->left)) h = rotate_right(t, h);
        if (!(h->key.get() < key) && !h->right) return nullptr;
        if (!is_red(h->right) && !is_red(h->right->left)) h = red_to_the_right(t, h);
        if (h->key.get() < key) {
            h->right.set(t, remove(t, h->right, key));
            return balance(t, h);
        }
        cursor_type least = h->right;
        while (least->left) least = least->left;
        h->key.set(t, least->key);
        detail::copy_field(t, h->value, least->value);
        h->right.set(t, remove_least(t, h->right));
        return balance(t, h);
    }
    template <class F>
    static void walk(const cursor_type& h, F& visit) {  // NOLINT(misc-no-recursion)
        if (!h) return;
        walk(h->left, visit);
        visit(h->key.get(), h->value);
        walk(h->right, visit);
    }

    ptr<entry, H> root_;
    p<std::size_t> size_;

   public:
    static constexpr auto nv_members = std::tuple{&rb_map::root_, &rb_map::size_};
};

}  // namespace hf::nv
