// holdfast/nv/rb_map.hpp: an ordered map in a heap, a red-black tree. With the public interface
// alone. map (map.hpp) reads and writes less; this one moves no entry when another is inserted.
//
// Key is any type that nv::p holds, with operator<; Value a field: nv::p<T>, nv::ptr<T, H>. What a
// transaction pays: find() reads an entry on each of at most 2 log_2 n levels. Inserting and
// erasing read the same path once and keep it in ordinary memory, so an entry needs no pointer to
// its parent, which would have to be weak. On the way back they mend colours from the bottom up,
// and end where the rules hold: that is behind a few levels on the average, so about five entries
// are written, and none beside the path is read above there. A rotation exchanges pointers in a
// ring, so no object's count changes.
//
// The number of entries is kept in parts, by thread (counter.hpp): threads that change different
// entries seldom meet.
//
// Literature: Guibas, Sedgewick, "A Dichromatic Framework for Balanced Trees" (FOCS 1978); Cormen,
// Leiserson, Rivest, Stein, "Introduction to Algorithms", chapter 13, for the cases.
#pragma once

#include <holdfast/nv/counter.hpp>
#include <holdfast/nv/vector.hpp>

#include <array>
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
    using link_type = ptr<entry, H>;

    /// Where a key is, or belongs. Good within the transaction, until the map changes. It holds the
    /// pointers that were followed from the root on: the last one leads to the entry, or to
    /// nothing.
    class place {
       public:
        /// Whether the key is there.
        [[nodiscard]] explicit operator bool() const { return static_cast<bool>(link()); }
        /// Of the key that is there.
        [[nodiscard]] cursor_type entry() const { return entry(0); }

       private:
        friend class rb_map;
        place(const link_type& root, const K& key) {
            // A find() for who will change it: the links are the map's own.
            push(const_cast<link_type&>(root));
            for (cursor_type e = entry(); e; e = entry()) {
                const K here = e->key;
                if (here < key) {
                    push(e->right);
                } else if (key < here) {
                    push(e->left);
                } else {
                    return;
                }
            }
        }
        void go_to_successor() {
            push(entry()->right);
            for (cursor_type e = entry(); e->left; e = entry()) push(e->left);
        }
        void push(link_type& l) {
            if (depth_ == most) [[unlikely]]
                detail::misuse("a red-black tree is deeper than any can be: its heap is damaged");
            links_[depth_++] = std::addressof(l);
        }
        void pop() noexcept { --depth_; }
        [[nodiscard]] std::size_t depth() const noexcept { return depth_; }
        /// So many levels up.
        [[nodiscard]] link_type& link(std::size_t up = 0) const noexcept {
            return *links_[depth_ - 1 - up];
        }
        [[nodiscard]] cursor_type entry(std::size_t up) const { return link(up).get(); }
        /// Whether the link so many levels up is the right one of its entry.
        [[nodiscard]] bool is_right(std::size_t up = 0) const {
            return links_[depth_ - 1 - up] == std::addressof(entry(up + 1)->right);
        }

        static constexpr std::size_t most = 96;  // 2 log_2 of what a region can hold
        std::array<link_type*, most> links_;
        std::size_t depth_ = 0;
    };

    rb_map() = default;
    rb_map(const rb_map&) = delete;
    rb_map& operator=(const rb_map&) = delete;
    ~rb_map() = default;

    [[nodiscard]] std::size_t size() const { return size_.get(); }
    [[nodiscard]] bool empty() const { return !root_; }
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
    [[nodiscard]] place place_of(const K& key) const { return place(root_, key); }
    /// The entry of a key that is not there, with a value of zeros; `at` is its place.
    cursor_type insert_at(tx<H>& t, place at, const K& key) {
        const cursor_type made = t.template make<entry>(key, true);
        at.link().set(t, made);
        mend_red(t, at);
        size_.add(t, 1);
        return made;
    }
    /// The key that is there goes.
    void erase_at(tx<H>& t, place at) {
        const cursor_type found = at.entry();
        if (found->left && found->right) {
            at.go_to_successor();
            const cursor_type next = at.entry();
            found->key.set(t, next->key);
            detail::copy_field(t, found->value, next->value);
        }
        unlink(t, at);
        size_.add(t, -1);
    }
    /// The entry of that key; made, with a value of zeros, where there is none. Second: made.
    std::pair<cursor_type, bool> try_emplace(tx<H>& t, const K& key) {
        const place at(root_, key);
        if (at) return {at.entry(), false};
        return {insert_at(t, at, key), true};
    }
    template <class U>
    void insert_or_assign(tx<H>& t, const K& key, const U& value) {
        try_emplace(t, key).first->value.set(t, value);
    }
    bool erase(tx<H>& t, const K& key) {
        const place at(root_, key);
        if (!at) return false;
        erase_at(t, at);
        return true;
    }
    void clear(tx<H>& t) {
        root_.set(t, nullptr);
        size_.clear(t);
    }
    /// visit(key, value) for each, in ascending order.
    template <class F>
    void for_each(F&& visit) const {
        walk(root_, visit);
    }

   private:
    [[nodiscard]] static link_type& child(const cursor_type& e, bool right) {
        return right ? e->right : e->left;
    }
    [[nodiscard]] static bool is_red(const cursor_type& e) { return e && e->red; }
    static void paint(tx<H>& t, const cursor_type& e, bool red) {
        if (e->red != red) e->red.set(t, red);
    }

    /// The entry at the link goes down to one side, and its child of the other takes its place.
    static void rotate(tx<H>& t, link_type& at, bool to_right) {
        const cursor_type e = at;
        link_type& up = child(e, !to_right);
        const cursor_type above = up;
        at.swap(t, up);                      // at: above, up: e itself
        up.swap(t, child(above, to_right));  // up: what was between them
    }
    /// The path's entry is red, and its parent may be.
    static void mend_red(tx<H>& t, place& down) {
        while (down.depth() > 2 && down.entry(1)->red) {
            const cursor_type top = down.entry(2);
            const bool right = down.is_right(1);
            const cursor_type uncle = child(top, !right);
            top->red.set(t, true);
            if (is_red(uncle)) {
                down.entry(1)->red.set(t, false);
                uncle->red.set(t, false);
                down.pop();
                down.pop();
                continue;
            }
            if (down.is_right() != right) rotate(t, down.link(1), right);
            down.entry(1)->red.set(t, false);
            rotate(t, down.link(2), !right);
            return;
        }
        if (down.depth() == 1) paint(t, down.entry(), false);
    }
    /// The path's entry goes; it has one child at most.
    static void unlink(tx<H>& t, place& down) {
        const cursor_type gone = down.entry();
        const cursor_type heir = gone->left ? gone->left : gone->right;
        const bool was_red = gone->red;
        down.link().set(t, heir);
        if (was_red) return;
        if (heir) {
            heir->red.set(t, false);  // it was red: else the other side would be shorter
        } else {
            mend_black(t, down);
        }
    }
    /// Below the path's last link there is one black entry less than beside it.
    static void mend_black(tx<H>& t, place& down) {
        while (down.depth() > 1) {
            const cursor_type parent = down.entry(1);
            const bool right = down.is_right();
            cursor_type other = child(parent, !right);
            if (other->red) {
                other->red.set(t, false);
                parent->red.set(t, true);
                rotate(t, down.link(1), right);
                down.pop();
                down.push(child(other, right));
                down.push(child(parent, right));
                other = child(parent, !right);
            }
            const bool far_is_red = is_red(child(other, !right));
            if (!far_is_red && !is_red(child(other, right))) {
                other->red.set(t, true);
                if (parent->red) {
                    parent->red.set(t, false);
                    return;
                }
                down.pop();
                continue;
            }
            if (!far_is_red) {
                rotate(t, child(parent, !right), !right);
                other->red.set(t, true);  // it is the far one now
                other = child(parent, !right);
            }
            paint(t, other, parent->red);
            paint(t, parent, false);
            paint(t, child(other, !right), false);
            rotate(t, down.link(1), right);
            return;
        }
    }
    template <class F>
    static void walk(const cursor_type& h, F& visit) {  // NOLINT(misc-no-recursion)
        if (!h) return;
        walk(h->left, visit);
        visit(h->key.get(), h->value);
        walk(h->right, visit);
    }

    ptr<entry, H> root_;
    counter size_;

   public:
    static constexpr auto nv_members = std::tuple{&rb_map::root_, &rb_map::size_};
};

}  // namespace hf::nv
