// holdfast/nv/rb_map.hpp: an ordered map in a heap, a red-black tree. With the public interface
// alone, but for what loads the words of an entry at once (at_once.hpp). map (map.hpp) reads and
// writes less; this one moves no entry when another is inserted.
//
// Key is any type that nv::p holds, with operator<; Value a field: nv::p<T>, nv::ptr<T, H>. What a
// transaction pays: find() reads an entry on each of at most 2 log_2 n levels. Inserting and
// erasing read the same path once and keep it in ordinary memory, so an entry needs no pointer to
// its parent, which would have to be weak. On the way back they mend colours from the bottom up,
// and end where the rules hold: that is behind a few levels on the average.
//
// The colour of an entry lies in its parent, which says which of its two children are red. So the
// colours of children are looked at without a miss of the cache, and painted by a store to the
// parent alone. Inserting looks at nothing beside the path; erasing looks at a sibling, on each
// level that it goes back, for what its children are. The root is black. A rotation exchanges
// pointers in a ring, so no object's count changes. With a key and a value of 8 bytes an entry is
// one line, its object's header included.
//
// The number of entries is kept in parts, by thread (counter.hpp): threads that change different
// entries seldom meet.
//
// Literature: Guibas, Sedgewick, "A Dichromatic Framework for Balanced Trees" (FOCS 1978), whose
// links are what is red; Cormen, Leiserson, Rivest, Stein, "Introduction to Algorithms", chapter
// 13, for the cases.
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
        p<std::uint8_t> red;  ///< of its children: 1, the left one, + 2, the right one
        ptr<entry, H> left;
        ptr<entry, H> right;
        V value;
    };
    using cursor_type = cursor<entry, H>;
    using link_type = ptr<entry, H>;

    static constexpr std::size_t most = 96;  ///< levels: 2 log_2 of what a region can hold

    /// Where a key is, or belongs. Valid within one attempt, until the map changes. It holds the
    /// entries above, and which of their pointers was followed.
    class place {
       public:
        /// Whether the key is there.
        [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(found_); }
        /// Of the key that is there.
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
        std::uint64_t serial_ = 0;  ///< the attempt that found it
        // A change uses it up: copying the path would be a part of what that costs.
        mutable std::array<step, most> steps_;
        mutable std::size_t depth_ = 0;
    };

    rb_map() = default;
    rb_map(const rb_map&) = delete;
    rb_map& operator=(const rb_map&) = delete;
    ~rb_map() = default;

    [[nodiscard]] std::size_t size() const { return size_.get(); }
    [[nodiscard]] bool empty() const { return !root_; }
    /// Null, or the entry: find(k)->value.
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
        at.serial_ = transaction::running()->serial();
        return at;
    }
    /// The entry of a key that is not there, with a value of zeros; `at` is its place.
    cursor_type insert_at(tx<H>& t, const place& at, const K& key) {
        detail::check_attempt(at.serial_);
        size_.add(t, 1);
        const cursor_type made = t.template make<entry>(key);
        link(at, at.depth_).set(t, made);
        if (at.depth_ != 0) {
            paint(t, at, at.depth_, true);
            mend_red(t, at);
        }
        return made;
    }
    /// The key that is there goes.
    void erase_at(tx<H>& t, const place& at) {
        detail::check_attempt(at.serial_);
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
    /// The entry of that key; made, with a value of zeros, where there is none. Second: made.
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
    /// visit(key, value) for each, in ascending order.
    template <class F>
    void for_each(F&& visit) const {
        walk(root_, visit);
    }

   private:
    using step = typename place::step;
    /// Where a search goes on from an entry. So small that registers take it.
    struct turn {
        static constexpr std::uint64_t left = 0;
        static constexpr std::uint64_t right = 1;
        static constexpr std::uint64_t here = 2;  ///< nowhere: the key is this one's
        std::uint64_t way;
        std::uint64_t to;  ///< offset; 0: there is none
    };
    [[nodiscard, gnu::always_inline]] static inline turn turn_at(transaction& t, const entry& e,
                                                                 const K& key) {
        const auto look = [at = std::addressof(e), key](const auto& load) {
            const std::uint64_t to[2] = {load(at->left), load(at->right)};
            const K here = load(at->key);
            const auto right = static_cast<std::uint64_t>(here < key);
            const auto left = static_cast<std::uint64_t>(key < here);
            // By arithmetic, for of the branches half would be foretold wrongly.
            return turn{turn::here - 2 * left - right, to[0] ^ ((to[0] ^ to[1]) & (0 - right))};
        };
        if constexpr (detail::is_word<K>) {
            // They come before the value, and take 4 words at most.
            using detail::words_at_once;
            return words_at_once::load<words_at_once::lines_of<entry>(0, 4 * 8)>(
                t, std::addressof(e), std::addressof(e.value), look);
        } else {
            return look(detail::words_at_once::one_by_one{t});
        }
    }
    /// From the root to the key, or to where it belongs: null. Calls pass(entry, right) for each
    /// entry above.
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
            at = next.to == 0 ? nullptr : t.at_offset(next.to, sizeof(entry));
        }
        return cursor_type::at(at, t.serial());
    }
    /// The pointer behind the first `depth` steps of the way.
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
    /// Of what the pointer behind `depth` steps leads to; the root is black.
    [[nodiscard]] static bool is_red(const place& way, std::size_t depth) {
        return depth != 0 && is_red(*way.steps_[depth - 1].from, way.steps_[depth - 1].right);
    }
    static void paint(tx<H>& t, const place& way, std::size_t depth, bool red) {
        if (depth != 0) paint(t, *way.steps_[depth - 1].from, way.steps_[depth - 1].right, red);
    }

    /// The entry at the link goes down to one side, and its child of the other takes its place.
    /// Colours are the caller's business.
    static void rotate(tx<H>& t, link_type& at, bool to_right) {
        entry& e = *at.get();
        link_type& up = child(e, !to_right);
        entry& above = *up.get();
        at.swap(t, up);                      // at: above, up: e itself
        up.swap(t, child(above, to_right));  // up: what was between them
    }
    /// What the way leads to is red, and its parent may be.
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
            // It takes the place of the two above, which become its red children.
            rotate(t, link(way, depth - 2), !right);
            paint_both(t, *top.from, 0);
            paint_both(t, *parent, 3);
            return;
        }
    }
    /// The way goes on to the next larger entry, which has no left child.
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
    /// What the way leads to goes; it has one child at most.
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
    /// Behind the way there is one black entry less than beside it.
    void mend_black(tx<H>& t, const place& way) {
        for (std::size_t depth = way.depth_; depth > 0; --depth) {
            entry& parent = *way.steps_[depth - 1].from;
            const bool right = way.steps_[depth - 1].right;
            link_type& to_other = child(parent, !right);
            if (is_red(parent, !right)) {
                // The parent becomes the other one's red child, and has a black one instead.
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
                // It takes the parent's place and colour, between two black ones.
                paint(t, parent, !right, near_is_red);
            } else {
                rotate(t, to_other, !right);  // the near one does, whose children are black
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
