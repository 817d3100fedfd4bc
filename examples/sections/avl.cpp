// A textbook AVL tree under a read-write lock: writers insert and remove, readers look up. What comes
// back is balanced, ordered, and has as many nodes as are counted.
#include "program.hpp"

#include <algorithm>

namespace {

constexpr unsigned keys = 2000;

struct node {
    unsigned key;
    int height;
    node* child[2];
};
struct tree {
    node* root;
    unsigned long size;
    unsigned long changes;
};

hf_region* region;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

int height(const node* n) { return n == nullptr ? 0 : n->height; }
void measure(node* n) { n->height = 1 + std::max(height(n->child[0]), height(n->child[1])); }

/// The child on `side` becomes the root of the subtree.
node* rotate(node* n, int side) {
    node* const up = n->child[side];
    n->child[side] = up->child[1 - side];
    up->child[1 - side] = n;
    measure(n);
    measure(up);
    return up;
}

node* balance(node* n) {
    measure(n);
    for (int side = 0; side < 2; ++side) {
        if (height(n->child[side]) <= height(n->child[1 - side]) + 1) continue;
        node* const c = n->child[side];
        if (height(c->child[side]) < height(c->child[1 - side])) {
            n->child[side] = rotate(c, 1 - side);
        }
        return rotate(n, side);
    }
    return n;
}

node* insert(tree* t, node* n, unsigned key) {
    if (n == nullptr) {
        auto* const fresh = static_cast<node*>(hf_alloc(region, sizeof(node)));
        if (fresh == nullptr) example::fail("no memory");
        *fresh = {key, 1, {nullptr, nullptr}};
        t->size += 1;
        return fresh;
    }
    if (key == n->key) return n;
    node*& side = n->child[key < n->key ? 0 : 1];
    side = insert(t, side, key);
    return balance(n);
}

node* remove_first(node* n, node*& first) {
    if (n->child[0] == nullptr) {
        first = n;
        return n->child[1];
    }
    n->child[0] = remove_first(n->child[0], first);
    return balance(n);
}

node* remove(tree* t, node* n, unsigned key) {
    if (n == nullptr) return nullptr;
    if (key != n->key) {
        node*& side = n->child[key < n->key ? 0 : 1];
        side = remove(t, side, key);
        return balance(n);
    }
    node* const left = n->child[0];
    node* const right = n->child[1];
    hf_free(n);
    t->size -= 1;
    if (right == nullptr) return left;
    node* first = nullptr;
    node* const rest = remove_first(right, first);
    first->child[0] = left;
    first->child[1] = rest;
    return balance(first);
}

void change(tree* t, std::minstd_rand& random) {
    const unsigned key = static_cast<unsigned>(random() % keys);
    pthread_rwlock_wrlock(&lock);
    t->root = random() % 2 == 0 ? insert(t, t->root, key) : remove(t, t->root, key);
    t->changes += 1;
    pthread_rwlock_unlock(&lock);
}

bool look_up(const tree* t, unsigned key) {
    pthread_rwlock_rdlock(&lock);
    const node* n = t->root;
    while (n != nullptr && n->key != key) n = n->child[key < n->key ? 0 : 1];
    pthread_rwlock_unlock(&lock);
    return n != nullptr;
}

/// The number of nodes; a height that is wrong, or an order, ends the program.
unsigned long audit(const node* n, long above, long below) {
    if (n == nullptr) return 0;
    const int left = height(n->child[0]);
    const int right = height(n->child[1]);
    if (n->key <= above || n->key >= below || n->height != 1 + std::max(left, right) ||
        std::abs(left - right) > 1) {
        std::fputs("the tree is damaged\n", stderr);
        std::exit(1);
    }
    return 1 + audit(n->child[0], above, n->key) + audit(n->child[1], n->key, below);
}

tree* open_tree() {
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    const example::locked guard(once);
    return example::root_of<tree>(region, "tree");
}

int check() {
    const tree* const t = open_tree();
    std::printf("%lu nodes, %lu changes\n", t->size, t->changes);
    if (t->changes == 0) return example::nothing_yet;
    return audit(t->root, -1, keys) == t->size ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    return example::run(argc, argv, 3, region,
                        [](unsigned t) {
                            tree* const all = open_tree();
                            std::minstd_rand random(t + 3);
                            for (;;) {
                                if (t != 0) change(all, random);
                                else look_up(all, static_cast<unsigned>(random() % keys));
                            }
                        },
                        check);
}
