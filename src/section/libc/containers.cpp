// The parts of libstdc++'s std::list, std::map, std::set and the unordered containers that are
// compiled code of the library: here again, with announced stores. Their nodes' layout is part of
// libstdc++'s ABI.
#include "section/libc/announced.hpp"

#include <cstddef>
#include <tuple>
#include <utility>

using hf::section_libc::assign;
using hf::section_libc::out;

namespace {

enum class color : int { red = 0, black = 1 };

struct tree_node {
    color paint;
    tree_node* parent;
    tree_node* left;
    tree_node* right;
};

struct list_node {
    list_node* next;
    list_node* previous;
};

/// Which of a node's two children; a mirror image exchanges them.
using child = tree_node* tree_node::*;
constexpr child left = &tree_node::left;
constexpr child right = &tree_node::right;
constexpr child other(child side) { return side == left ? right : left; }

bool is_red(const tree_node* n) { return n != nullptr && n->paint == color::red; }

/// Makes `by` the child of n's parent in the place of n.
void replace_child(tree_node* n, tree_node* by, tree_node& header) {
    tree_node* const parent = n->parent;
    if (header.parent == n) {
        assign(header.parent, by);
    } else if (parent->left == n) {
        assign(parent->left, by);
    } else {
        assign(parent->right, by);
    }
}

/// Moves n down to `side`; its child on the other side takes its place.
void rotate(tree_node* n, child side, tree_node& header) {
    tree_node* const up = n->*other(side);
    tree_node* const inner = up->*side;
    assign(n->*other(side), inner);
    if (inner != nullptr) assign(inner->parent, n);
    assign(up->parent, n->parent);
    replace_child(n, up, header);
    assign(up->*side, n);
    assign(n->parent, up);
}

void repair_after_insert(tree_node* n, tree_node& header) {
    while (n != header.parent && is_red(n->parent)) {
        tree_node* const grandparent = n->parent->parent;
        const child side = n->parent == grandparent->left ? left : right;
        tree_node* const uncle = grandparent->*other(side);
        if (is_red(uncle)) {
            assign(n->parent->paint, color::black);
            assign(uncle->paint, color::black);
            assign(grandparent->paint, color::red);
            n = grandparent;
            continue;
        }
        if (n == n->parent->*other(side)) {
            n = n->parent;
            rotate(n, side, header);
        }
        assign(n->parent->paint, color::black);
        assign(grandparent->paint, color::red);
        rotate(grandparent, other(side), header);
    }
    assign(header.parent->paint, color::black);
}

/// Paths through n, a child of `parent` that may be null, have one black node too few.
void repair_after_erase(tree_node* n, tree_node* parent, tree_node& header) {
    while (n != header.parent && !is_red(n)) {
        const child side = n == parent->left ? left : right;
        tree_node* sibling = parent->*other(side);
        if (is_red(sibling)) {
            assign(sibling->paint, color::black);
            assign(parent->paint, color::red);
            rotate(parent, side, header);
            sibling = parent->*other(side);
        }
        if (!is_red(sibling->left) && !is_red(sibling->right)) {
            assign(sibling->paint, color::red);
            n = parent;
            parent = parent->parent;
            continue;
        }
        if (!is_red(sibling->*other(side))) {
            assign((sibling->*side)->paint, color::black);
            assign(sibling->paint, color::red);
            rotate(sibling, other(side), header);
            sibling = parent->*other(side);
        }
        assign(sibling->paint, parent->paint);
        assign(parent->paint, color::black);
        if (sibling->*other(side) != nullptr) assign((sibling->*other(side))->paint, color::black);
        rotate(parent, side, header);
        break;
    }
    if (n != nullptr) assign(n->paint, color::black);
}

tree_node* outermost(tree_node* n, child side) {
    while (n->*side != nullptr) n = n->*side;
    return n;
}

/// Unlinks a node with two children: the next larger node takes its place and colour. Returns the
/// node that moved up instead, which may be null, and its parent.
std::pair<tree_node*, tree_node*> exchange_with_next(tree_node* n, tree_node& header) {
    tree_node* const next = outermost(n->right, left);
    tree_node* const moved = next->right;
    tree_node* parent = next;
    if (next != n->right) {
        parent = next->parent;
        assign(parent->left, moved);
        if (moved != nullptr) assign(moved->parent, parent);
        assign(next->right, n->right);
        assign(n->right->parent, next);
    }
    assign(next->left, n->left);
    assign(n->left->parent, next);
    replace_child(n, next, header);
    assign(next->parent, n->parent);
    const color paint = next->paint;
    assign(next->paint, n->paint);
    assign(n->paint, paint);
    return {moved, parent};
}

}  // namespace

extern "C" {

// void _Rb_tree_insert_and_rebalance(bool, _Rb_tree_node_base*, _Rb_tree_node_base*,
//                                    _Rb_tree_node_base&): header.parent is the root, header.left
// the smallest node, header.right the largest.
void hf_lib__ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(bool is_left,
                                                                              tree_node* n,
                                                                              tree_node* parent,
                                                                              tree_node& header) {
    assign(*n, tree_node{color::red, parent, nullptr, nullptr});
    if (parent == &header) {
        assign(header.parent, n);
        assign(header.left, n);
        assign(header.right, n);
    } else if (is_left) {
        assign(parent->left, n);
        if (parent == header.left) assign(header.left, n);
    } else {
        assign(parent->right, n);
        if (parent == header.right) assign(header.right, n);
    }
    repair_after_insert(n, header);
}

// _Rb_tree_node_base* _Rb_tree_rebalance_for_erase(_Rb_tree_node_base*, _Rb_tree_node_base&)
tree_node* hf_lib__ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(tree_node* n,
                                                                               tree_node& header) {
    tree_node* moved = nullptr;
    tree_node* parent = nullptr;
    if (n->left != nullptr && n->right != nullptr) {
        std::tie(moved, parent) = exchange_with_next(n, header);
    } else {
        moved = n->left != nullptr ? n->left : n->right;
        parent = n->parent;
        if (moved != nullptr) assign(moved->parent, parent);
        if (header.left == n) assign(header.left, moved ? outermost(moved, left) : parent);
        if (header.right == n) assign(header.right, moved ? outermost(moved, right) : parent);
        replace_child(n, moved, header);
    }
    if (n->paint == color::black) repair_after_erase(moved, parent, header);
    return n;
}

// void __detail::_List_node_base::_M_hook(_List_node_base*)
void hf_lib__ZNSt8__detail15_List_node_base7_M_hookEPS0_(list_node* n, list_node* position) {
    assign(*n, list_node{position, position->previous});
    assign(position->previous->next, n);
    assign(position->previous, n);
}

// void __detail::_List_node_base::_M_unhook()
void hf_lib__ZNSt8__detail15_List_node_base9_M_unhookEv(list_node* n) {
    assign(n->previous->next, n->next);
    assign(n->next->previous, n->previous);
}

// void __detail::_List_node_base::_M_transfer(_List_node_base* first, _List_node_base* last):
// moves [first, last) before n.
void hf_lib__ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_(list_node* n, list_node* first,
                                                                 list_node* last) {
    if (n == last) return;
    list_node* const end = last->previous;
    list_node* const before_first = first->previous;
    list_node* const before_n = n->previous;
    assign(end->next, n);
    assign(before_first->next, last);
    assign(before_n->next, first);
    assign(n->previous, end);
    assign(last->previous, before_first);
    assign(first->previous, before_n);
}

// void __detail::_List_node_base::_M_reverse()
void hf_lib__ZNSt8__detail15_List_node_base10_M_reverseEv(list_node* n) {
    list_node* at = n;
    do {
        const list_node old = *at;
        assign(*at, list_node{old.previous, old.next});
        at = old.next;
    } while (at != n);
}

// static void __detail::_List_node_base::swap(_List_node_base&, _List_node_base&): exchanges what
// two list heads hold. A head that points to itself is empty.
void hf_lib__ZNSt8__detail15_List_node_base4swapERS0_S1_(list_node& a, list_node& b) {
    const list_node old_a = a;
    const list_node old_b = b;
    const auto move = [](list_node& to, const list_node& from, const list_node* old_head) {
        if (from.next == old_head) {
            assign(to, list_node{&to, &to});
            return;
        }
        assign(to, from);
        assign(from.next->previous, &to);
        assign(from.previous->next, &to);
    };
    move(a, old_b, &b);
    move(b, old_a, &a);
}

}  // extern "C"

namespace std::__detail {

// A member of each unordered container in libstdc++; its functions may write to _M_next_resize.
struct _Prime_rehash_policy {
    float _M_max_load_factor;
    mutable std::size_t _M_next_resize;

    [[nodiscard]] std::size_t _M_next_bkt(std::size_t buckets) const;
    [[nodiscard]] std::pair<bool, std::size_t> _M_need_rehash(std::size_t buckets,
                                                              std::size_t elements,
                                                              std::size_t more) const;
};

}  // namespace std::__detail

using rehash_policy = std::__detail::_Prime_rehash_policy;

// Their results are returned in registers, as the originals' are: no C compiler calls them.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage"
#endif
extern "C" {

// size_t __detail::_Prime_rehash_policy::_M_next_bkt(size_t) const
size_t hf_lib__ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm(rehash_policy* policy,
                                                                   size_t buckets) {
    return out(policy).get()->_M_next_bkt(buckets);
}

// pair<bool, size_t> __detail::_Prime_rehash_policy::_M_need_rehash(size_t, size_t, size_t) const
std::pair<bool, size_t> hf_lib__ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm(
    rehash_policy* policy, size_t buckets, size_t elements, size_t more) {
    return out(policy).get()->_M_need_rehash(buckets, elements, more);
}

}  // extern "C"
