// holdfast/nv/rb_map.hpp: an ordered map in a heap, a red-black tree. Written with the public
// interface, except that it loads the words of an entry together (at_once.hpp). map (map.hpp) reads
// and writes less; this one never moves an entry.
//
// Key is any type that nv::p holds, with operator<; Value a field: nv::p<T>, nv::ptr<T, H>. Cost in
// a transaction: find() reads an entry on each of at most 2 log_2 n levels. Insertions and erasures
// read the same path once and keep it in ordinary memory, so entries need no parent pointers, which
// would have to be weak. They restore the colour rules from the bottom up, and stop when the rules
// hold: on average after a few levels.
//
// The colour of an entry is stored in its parent, as two bits for the red children. So children's
// colours are read without a cache miss, and changed by a store to the parent alone. An insertion
// reads only entries on the path; an erasure also reads a sibling on each level that it ascends,
// for the colours of its children. The root is black. A rotation exchanges pointers in a ring, so
// no reference count changes. With a key and a value of 8 bytes an entry, including its object
// header, is one cache line.
//
// The size is counted in one part a thread (counter.hpp): threads that change different entries
// seldom conflict.
//
// Literature: Guibas, Sedgewick, "A Dichromatic Framework for Balanced Trees" (FOCS 1978), for red
// links; Cormen, Leiserson, Rivest, Stein, "Introduction to Algorithms", chapter 13, for the cases.
#pragma once

#include <holdfast/nv/at_once.hpp>
#include <holdfast/nv/counter.hpp>
#include <holdfast/nv/vector.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

namespace hf::nv {

template <class K, class V, class H = common>
class rb_map {
   public:
    struct entry {
        p<K> key;
        p<std::uint8_t> red;  ///< bit 0: the left child is red; bit 1: the right child is
        ptr<entry, H> left;
        ptr<entry, H> right;
        V value;
    };
    using cursor_type = cursor<entry, H>;
    using link_type = ptr<entry, H>;

    static constexpr std::size_t most = 96;  ///< levels: 2 log_2 of the entries a region can hold

    /// Position of a key, present or to be inserted. Valid in the transaction until the map
    /// changes. Contains the path: the entries above, and for each of them the child that was
    /// followed.
    class place {
       public:
        /// True if the key is present.
        [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(found_); }
        /// The entry; the key must be present.
        [[nodiscard]] cursor_type entry() const noexcept { return found_; }

       private:
        friend class rb_map;
        struct step {
            rb_map::entry* from;
            bool right;
        };
        place() = default;
        void push(rb_map::entry& from, bool right) const {
            if (depth_ == most) [[unlikely]]
                too_deep();
            steps_[depth_++] = {std::addressof(from), right};
        }

        cursor_type found_;
        // A change modifies it, since copying the path would be a good part of the change's cost.
        mutable std::array<step, most> steps_;
        mutable std::size_t depth_ = 0;
    };

    rb_map() = default;
    rb_map(const rb_map&) = delete;
    rb_map& operator=(const rb_map&) = delete;
    ~rb_map() = default;

    [[nodiscard]] std::size_t size() const { return size_.get(); }
    [[nodiscard]] bool empty() const { return !root_; }
    /// The entry, or null: find(k)->value.
    [[nodiscard]] cursor_type find(const K& key) const {
        std::size_t depth = 0;
        return descend(key, [&](entry&, bool) {
            if (++depth > most) [[unlikely]]
                too_deep();
        });
    }
    [[nodiscard]] bool contains(const K& key) const { return static_cast<bool>(find(key)); }
    [[nodiscard]] place place_of(const K& key) const {
        place at;
        at.found_ = descend(key, [&](entry& e, bool right) { at.push(e, right); });
        return at;
    }
    /// Inserts an absent key with a zero-initialised value. `at` is place_of(key).
    cursor_type insert_at(tx<H>& t, const place& at, const K& key) {
        size_.add(t, 1);
        const cursor_type made = t.template make<entry>(key);
        link(at, at.depth_).set(t, made);
        if (at.depth_ != 0) {
            paint(t, at, at.depth_, true);
            mend_red(t, at);
        }
        return made;
    }
    /// Erases a key that is present. `at` is its place.
    void erase_at(tx<H>& t, const place& at) {
        size_.add(t, -1);
        entry& found = *at.found_;
        cursor_type gone = at.found_;
        if (found.left && found.right) {
            gone = go_to_successor(at);
            found.key.set(t, gone->key);
            detail::copy_field(t, found.value, gone->value);
        }
        unlink(t, at, *gone);
    }
    /// Finds or inserts the key; a new value is zero-initialised. Second: true if inserted.
    std::pair<cursor_type, bool> try_emplace(tx<H>& t, const K& key) {
        const place at = place_of(key);
        if (at) return {at.entry(), false};
        return {insert_at(t, at, key), true};
    }
    template <class U>
    void insert_or_assign(tx<H>& t, const K& key, const U& value) {
        try_emplace(t, key).first->value.set(t, value);
    }
    bool erase(tx<H>& t, const K& key) {
        const place at = place_of(key);
        if (!at) return false;
        erase_at(t, at);
        return true;
    }
    void clear(tx<H>& t) {
        root_.set(t, nullptr);
        size_.clear(t);
    }
    /// Calls visit(key, value) for each entry in ascending order.
    template <class F>
    void for_each(F&& visit) const {
        walk(root_, visit);
    }

   private:
    using step = typename place::step;
    /// The next step of a search from an entry. Small enough for registers.
    struct turn {
        static constexpr std::uint64_t left = 0;
        static constexpr std::uint64_t right = 1;
        static constexpr std::uint64_t here = 2;  ///< none: the entry has the key
        std::uint64_t way;
        std::uint64_t to;  ///< offset of the child; 0: none
    };
    [[nodiscard, gnu::always_inline]] static inline turn turn_at(transaction& t, const entry& e,
                                                                 const K& key) {
        const auto look = [at = std::addressof(e), key](const auto& load) {
            const std::uint64_t to[2] = {load(at->left), load(at->right)};
            const K here = load(at->key);
            const auto right = static_cast<std::uint64_t>(here < key);
            const auto left = static_cast<std::uint64_t>(key < here);
            // Computed without a branch, since half of the branches would be mispredicted.
            return turn{turn::here - 2 * left - right, to[0] ^ ((to[0] ^ to[1]) & (0 - right))};
        };
        if constexpr (detail::is_word<K>) {
            // Key and links come before the value, and take at most 4 words.
            using detail::words_at_once;
            return words_at_once::load<words_at_once::lines_of<entry>(0, 4 * 8)>(
                t, std::addressof(e), std::addressof(e.value), look);
        } else {
            return look(detail::words_at_once::one_by_one{t});
        }
    }
    /// Descends from the root to the key, or to the null pointer where it belongs. Calls
    /// pass(entry, right) for each entry on the path.
    template <class F>
    [[nodiscard]] cursor_type descend(const K& key, F&& pass) const {
        const cursor_type root = root_;
        transaction& t = *transaction::running();
        std::byte* at = root.address();
        while (at != nullptr) {
            entry& e = *reinterpret_cast<entry*>(at);
            const turn next = turn_at(t, e, key);
            if (next.way == turn::here) break;
            pass(e, next.way == turn::right);
            at = next.to == 0 ? nullptr : t.base() + next.to;
        }
        return cursor_type::at(at, t.serial());
    }
    /// The pointer that the first `depth` steps of the path lead to.
    [[nodiscard]] link_type& link(const place& way, std::size_t depth) {
        if (depth == 0) return root_;
        const step& last = way.steps_[depth - 1];
        return child(*last.from, last.right);
    }
    [[noreturn]] static void too_deep() {
        detail::broken("a red-black tree is deeper than any can be");
    }
    [[nodiscard]] static link_type& child(entry& e, bool right) { return right ? e.right : e.left; }
    [[nodiscard]] static std::uint8_t bit(bool right) noexcept { return right ? 2 : 1; }
    [[nodiscard]] static bool is_red(const entry& parent, bool right) {
        return (parent.red & bit(right)) != 0;
    }
    static void paint(tx<H>& t, entry& parent, bool right, bool red) {
        const std::uint8_t before = parent.red;
        const int after = red ? before | bit(right) : before & ~bit(right);
        if (after != before) parent.red.set(t, static_cast<std::uint8_t>(after));
    }
    static void paint_both(tx<H>& t, entry& parent, std::uint8_t red) {
        if (parent.red != red) parent.red.set(t, red);
    }
    /// Colour of the entry that the first `depth` steps lead to; the root is black.
    [[nodiscard]] static bool is_red(const place& way, std::size_t depth) {
        return depth != 0 && is_red(*way.steps_[depth - 1].from, way.steps_[depth - 1].right);
    }
    static void paint(tx<H>& t, const place& way, std::size_t depth, bool red) {
        if (depth != 0) paint(t, *way.steps_[depth - 1].from, way.steps_[depth - 1].right, red);
    }

    /// Rotates: the entry at the link becomes a child of its child on the other side, which takes
    /// its position. The caller updates the colours.
    static void rotate(tx<H>& t, link_type& at, bool to_right) {
        entry& e = *at.get();
        link_type& up = child(e, !to_right);
        entry& above = *up.get();
        at.swap(t, up);                      // at: above, up: e itself
        up.swap(t, child(above, to_right));  // up: the subtree between them
    }
    /// Restores the rules when the entry at the path's end is red and its parent may be, too.
    void mend_red(tx<H>& t, const place& way) {
        for (std::size_t depth = way.depth_; depth > 1 && is_red(way, depth - 1); depth -= 2) {
            const step& down = way.steps_[depth - 1];
            const step& top = way.steps_[depth - 2];
            const bool right = top.right;
            if (is_red(*top.from, !right)) {  // the uncle
                paint_both(t, *top.from, 0);
                paint(t, way, depth - 2, true);
                continue;
            }
            entry* parent = down.from;
            if (down.right != right) {
                link_type& at = child(*top.from, right);
                rotate(t, at, right);
                paint_both(t, *parent, 0);
                parent = std::addressof(*at.get());
            }
            // The entry moves above the two others, which become its red children.
            rotate(t, link(way, depth - 2), !right);
            paint_both(t, *top.from, 0);
            paint_both(t, *parent, 3);
            return;
        }
    }
    /// Extends the path to the next larger entry, which has no left child.
    [[nodiscard]] static cursor_type go_to_successor(const place& way) {
        cursor_type e = way.found_;
        way.push(*e, true);
        e = e->right;
        while (e->left) {
            way.push(*e, false);
            e = e->left;
        }
        return e;
    }
    /// Unlinks the entry at the path's end, which has at most one child.
    void unlink(tx<H>& t, const place& way, entry& gone) {
        const cursor_type left = gone.left;
        const cursor_type heir = left ? left : gone.right.get();
        link(way, way.depth_).set(t, heir);
        if (is_red(way, way.depth_)) {
            paint(t, way, way.depth_, false);
        } else if (!heir) {  // one was red, or the other side would be shorter; it is black now
            mend_black(t, way);
        }
    }
    /// Restores the rules when the subtree at the path's end has one black entry too few.
    void mend_black(tx<H>& t, const place& way) {
        for (std::size_t depth = way.depth_; depth > 0; --depth) {
            entry& parent = *way.steps_[depth - 1].from;
            const bool right = way.steps_[depth - 1].right;
            link_type& to_other = child(parent, !right);
            if (is_red(parent, !right)) {
                // The parent becomes the red child of the sibling, and gets a black sibling.
                entry& other = *to_other.get();
                rotate(t, link(way, depth - 1), right);
                paint(t, parent, !right, false);
                paint(t, other, right, true);
                way.depth_ = depth - 1;
                way.push(other, right);
                way.push(parent, right);
                ++depth;
            }
            entry* other = std::addressof(*to_other.get());
            const bool far_is_red = is_red(*other, !right);
            const bool near_is_red = is_red(*other, right);
            if (!far_is_red && !near_is_red) {
                paint(t, parent, !right, true);
                if (!is_red(way, depth - 1)) continue;
                paint(t, way, depth - 1, false);
                return;
            }
            paint_both(t, *other, 0);
            if (far_is_red) {
                // The sibling takes the parent's position and colour, between two black children.
                paint(t, parent, !right, near_is_red);
            } else {
                rotate(t, to_other, !right);  // the near child does so, with black children
            }
            rotate(t, link(way, depth - 1), right);
            return;
        }
    }
    template <class F>
    // NOLINTNEXTLINE(misc-no-recursion)
    static void walk(const cursor_type& h, F& visit, std::size_t depth = 0) {
        if (!h) return;
        if (depth == most) [[unlikely]]
            too_deep();
        walk(h->left, visit, depth + 1);
        visit(h->key.get(), h->value);
        walk(h->right, visit, depth + 1);
    }

    ptr<entry, H> root_;
    counter size_;

   public:
    static constexpr auto nv_members = std::tuple{&rb_map::root_, &rb_map::size_};
};

}  // namespace hf::nv
