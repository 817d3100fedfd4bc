// libpmemobj: objects of a pool, changed in its transactions, which log data before it is changed
// (pmemobj_tx_add_range_direct). The structures use its interface as its manual recommends: a
// chained hash table, a red-black tree, a B+ tree of eight children.
#include "bench/peers/object_rival.hpp"
#include "bench/peers/pmemobj_pool.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>

namespace hf::bench {

namespace {

using namespace pmem;

// ------------------------------------------------------------------------------------- hash table

struct hash_table {
    struct entry {
        word key;
        word value;
        link<entry> next;
    };
    word buckets;
    word first;  ///< offset of the array of links

    [[nodiscard]] link<entry>* bucket(const pool& p, word key) const {
        word h = key * 0x9e3779b97f4a7c15U;
        h ^= h >> 32;
        return p.at(link<link<entry>>{first}) + h % buckets;
    }
    void make(const pool& p, word n) {
        p.transact([&] {
            pool::changing(this);
            buckets = n;
            first = pool::make<link<entry>>(n * sizeof(link<entry>)).offset;
        });
    }
    bool toggle(const pool& p, word key) const {
        link<entry>* from = bucket(p, key);
        for (link<entry> e = *from; e; from = &p.at(e)->next, e = *from) {
            if (p.at(e)->key != key) continue;
            pool::changing(from);
            *from = p.at(e)->next;
            p.destroy(e);
            return false;
        }
        link<entry>* const head = bucket(p, key);
        const link<entry> made = pool::make<entry>();
        *p.at(made) = {key, key, *head};
        pool::changing(head);
        *head = made;
        return true;
    }
};

// --------------------------------------------------------------------------------------- B+ tree

struct b_tree {
    static constexpr word width = 8;
    struct node {
        word is_leaf;
        word count;  ///< number of keys
        std::array<word, width> keys;
        std::array<word, width + 1> below;  ///< values of a leaf, or offsets of children
    };
    link<node> root;

    void make(const pool& p) {
        p.transact([&] {
            pool::changing(this);
            root = pool::make<node>();
            p.at(root)->is_leaf = 1;
        });
    }
    /// The position of the first key that is not less; in an inner node, of the child to descend
    /// into.
    [[nodiscard]] static word place(const node& n, word key) {
        word i = 0;
        while (i < n.count && (n.is_leaf != 0 ? n.keys[i] < key : n.keys[i] <= key)) ++i;
        return i;
    }
    static void put(node& n, word at, word key, word below, word shift) {
        for (word i = n.count; i > at; --i) {
            n.keys[i] = n.keys[i - 1];
            n.below[i + shift] = n.below[i + shift - 1];
        }
        n.keys[at] = key;
        n.below[at + shift] = below;
        ++n.count;
    }
    void split(const pool& p, node* parent, word at) const {
        node* const left = p.changing(link<node>{parent->below[at]});
        const link<node> made = pool::make<node>();
        node* const right = p.at(made);
        const word half = width / 2;
        right->is_leaf = left->is_leaf;
        const word skipped = left->is_leaf != 0 ? 0 : 1;
        right->count = left->count - half - skipped;
        std::copy_n(left->keys.begin() + half + skipped, right->count, right->keys.begin());
        std::copy_n(left->below.begin() + half + skipped, right->count + skipped,
                    right->below.begin());
        const word middle = left->keys[half];
        left->count = half;
        put(*pool::changing(parent), at, middle, made.offset, 1);
    }
    /// Splits full nodes during the descent. Empty leaves stay, which is to its advantage.
    bool toggle(const pool& p, word key) {
        if (p.at(root)->count == width) {
            const link<node> top = pool::make<node>();
            p.at(top)->below[0] = root.offset;
            split(p, p.at(top), 0);
            pool::changing(this);
            root = top;
        }
        node* n = p.at(root);
        while (n->is_leaf == 0) {
            word i = place(*n, key);
            if (p.at(link<node>{n->below[i]})->count == width) {
                split(p, n, i);
                i = place(*n, key);
            }
            n = p.at(link<node>{n->below[i]});
        }
        const word i = place(*n, key);
        pool::changing(n);
        if (i == n->count || n->keys[i] != key) {
            put(*n, i, key, key, 0);
            return true;
        }
        for (word k = i; k + 1 < n->count; ++k) {
            n->keys[k] = n->keys[k + 1];
            n->below[k] = n->below[k + 1];
        }
        --n->count;
        return false;
    }
};

// --------------------------------------------------------------------------------- red-black tree

/// As in Cormen, Leiserson, Rivest and Stein, "Introduction to Algorithms", chapter 13.
struct red_black_tree {
    struct node {
        word key;
        word value;
        word red;
        link<node> parent;
        std::array<link<node>, 2> child;
    };
    using ref = link<node>;
    ref root;
    ref nil;

    void make(const pool& p) {
        p.transact([&] {
            pool::changing(this);
            nil = pool::make<node>();
            p.at(nil)->child = {nil, nil};
            p.at(nil)->parent = nil;
            root = nil;
        });
    }
    void set_child(const pool& p, ref n, unsigned side, ref c) { p.changing(n)->child[side] = c; }
    void set_parent(const pool& p, ref n, ref parent) { p.changing(n)->parent = parent; }
    void set_red(const pool& p, ref n, bool red) { p.changing(n)->red = red ? 1 : 0; }
    [[nodiscard]] static unsigned side_of(const pool& p, ref n) {
        return p.at(p.at(n)->parent)->child[1] == n ? 1 : 0;
    }
    /// Replaces `n` by `by` in its parent.
    void replace(const pool& p, ref n, ref by) {
        const ref parent = p.at(n)->parent;
        if (parent == nil) {
            pool::changing(this);
            root = by;
        } else {
            set_child(p, parent, side_of(p, n), by);
        }
        set_parent(p, by, parent);
    }
    void rotate(const pool& p, ref n, unsigned side) {
        const ref up = p.at(n)->child[1 - side];
        const ref middle = p.at(up)->child[side];
        set_child(p, n, 1 - side, middle);
        if (middle != nil) set_parent(p, middle, n);
        replace(p, n, up);
        set_child(p, up, side, n);
        set_parent(p, n, up);
    }
    void insert(const pool& p, ref parent, word key) {
        const ref made = pool::make<node>();
        *p.at(made) = {key, key, 1, parent, {nil, nil}};
        if (parent == nil) {
            pool::changing(this);
            root = made;
        } else {
            set_child(p, parent, key < p.at(parent)->key ? 0 : 1, made);
        }
        ref n = made;
        while (p.at(p.at(n)->parent)->red != 0) {
            const ref above = p.at(n)->parent;
            const ref top = p.at(above)->parent;
            const unsigned side = side_of(p, above);
            const ref uncle = p.at(top)->child[1 - side];
            if (p.at(uncle)->red != 0) {
                set_red(p, above, false);
                set_red(p, uncle, false);
                set_red(p, top, true);
                n = top;
                continue;
            }
            if (side_of(p, n) != side) {
                n = above;
                rotate(p, n, side);
            }
            set_red(p, p.at(n)->parent, false);
            set_red(p, top, true);
            rotate(p, top, 1 - side);
        }
        if (p.at(root)->red != 0) set_red(p, root, false);
    }
    void mend(const pool& p, ref n) {
        while (n != root && p.at(n)->red == 0) {
            const ref parent = p.at(n)->parent;
            const unsigned side = p.at(parent)->child[0] == n ? 0 : 1;
            ref other = p.at(parent)->child[1 - side];
            if (p.at(other)->red != 0) {
                set_red(p, other, false);
                set_red(p, parent, true);
                rotate(p, parent, side);
                other = p.at(parent)->child[1 - side];
            }
            const auto is_red = [&](unsigned s) { return p.at(p.at(other)->child[s])->red != 0; };
            if (!is_red(0) && !is_red(1)) {
                set_red(p, other, true);
                n = parent;
                continue;
            }
            if (!is_red(1 - side)) {
                set_red(p, p.at(other)->child[side], false);
                set_red(p, other, true);
                rotate(p, other, 1 - side);
                other = p.at(parent)->child[1 - side];
            }
            set_red(p, other, p.at(parent)->red != 0);
            set_red(p, parent, false);
            set_red(p, p.at(other)->child[1 - side], false);
            rotate(p, parent, side);
            n = root;
        }
        if (p.at(n)->red != 0) set_red(p, n, false);
    }
    void remove(const pool& p, ref n) {
        bool lost_black = p.at(n)->red == 0;
        ref filler;
        if (p.at(n)->child[0] == nil || p.at(n)->child[1] == nil) {
            filler = p.at(n)->child[p.at(n)->child[0] == nil ? 1 : 0];
            replace(p, n, filler);
        } else {
            ref next = p.at(n)->child[1];
            while (p.at(next)->child[0] != nil) next = p.at(next)->child[0];
            lost_black = p.at(next)->red == 0;
            filler = p.at(next)->child[1];
            if (p.at(next)->parent == n) {
                set_parent(p, filler, next);
            } else {
                replace(p, next, filler);
                set_child(p, next, 1, p.at(n)->child[1]);
                set_parent(p, p.at(next)->child[1], next);
            }
            replace(p, n, next);
            set_child(p, next, 0, p.at(n)->child[0]);
            set_parent(p, p.at(next)->child[0], next);
            set_red(p, next, p.at(n)->red != 0);
        }
        if (lost_black) mend(p, filler);
        p.destroy(n);
    }
    bool toggle(const pool& p, word key) {
        ref parent = nil;
        for (ref n = root; n != nil; n = p.at(n)->child[key < p.at(n)->key ? 0 : 1]) {
            if (p.at(n)->key == key) {
                remove(p, n);
                return false;
            }
            parent = n;
        }
        insert(p, parent, key);
        return true;
    }
};

struct all_roots {
    word field;
    word array;
    word length;
    hash_table hash;
    b_tree tree;
    red_black_tree red_black;
};

class pmemobj final : public object_rival {
   public:
    explicit pmemobj(const object_options& options)
        : elements_(options.elements),
          pool_(options.directory / "pool", options.bytes),
          roots_(pool_.root<all_roots>()) {}

    [[nodiscard]] bool does(object_work w) const override {
        return w != object_work::cache && w != object_work::value;
    }
    void prepare(object_work w) override {
        work_ = w;
        if (w == object_work::hash) roots_->hash.make(pool_, elements_);
        if (w == object_work::tree) roots_->tree.make(pool_);
        if (w == object_work::red_black) roots_->red_black.make(pool_);
        if (w != object_work::swap) return;
        pool_.transact([&] {
            pool::changing(roots_);
            roots_->array = pool::make<word>(elements_ * sizeof(word)).offset;
            roots_->length = elements_;
            for (word i = 0; i < elements_; ++i) array()[i] = i;
        });
    }
    void load(std::span<const word> keys) override {
        for (const word k : keys) (void)toggle(k);
    }
    void nothing() override {
        pool_.transact([] {});
    }
    [[nodiscard]] word read() override { return roots_->field; }
    void set(word value) override {
        pool_.transact([&] { *pool::changing(&roots_->field) = value; });
    }
    void swap(std::span<const pair> which) override {
        pool_.transact([&] {
            for (const auto& [a, b] : which) {
                std::swap(*pool::changing(array() + a), *pool::changing(array() + b));
            }
        });
    }
    void overwrite(word, word) override { throw std::runtime_error("it has no values"); }
    [[nodiscard]] word last_word(word) override { return 0; }
    [[nodiscard]] word sum() override {
        word total = 0;
        for (word i = 0; i < elements_; ++i) total += array()[i];
        return total;
    }
    [[nodiscard]] bool toggle(word key) override {
        return pool_.transact([&] {
            if (work_ == object_work::hash) return roots_->hash.toggle(pool_, key);
            if (work_ == object_work::tree) return roots_->tree.toggle(pool_, key);
            return roots_->red_black.toggle(pool_, key);
        });
    }
    [[nodiscard]] std::string settings() const override {
        return std::string("libpmemobj ") + std::to_string(PMEMOBJ_MAJOR_VERSION) + "." +
               std::to_string(PMEMOBJ_MINOR_VERSION) +
               "; told that its pool is persistent memory, so lines are written back";
    }

   private:
    [[nodiscard]] word* array() const { return pool_.at(link<word>{roots_->array}); }

    word elements_;
    pool pool_;
    all_roots* roots_;
    object_work work_ = object_work::field;
};

}  // namespace

}  // namespace hf::bench

unsigned hf_bench_rival_interface() { return hf::bench::object_rival_interface; }
hf::bench::object_rival* hf_bench_rival_open(const hf::bench::object_options& options) {
    return new hf::bench::pmemobj(options);
}
