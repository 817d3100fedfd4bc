// bench/sections/small_works.hpp: a bank, a queue, a cache and an AVL tree (examples/sections).
//
// Each is a template of the way that it stores (ways.hpp). An object is made while the group is
// open; operate(thread, n) does n operations of that thread.
#pragma once

#include "base/random.hpp"
#include "bench/sections/ways.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace hf::bench {

/// Accounts in a list, locked hand over hand: an operation is a walk from one to another.
template <class Way>
class bank_work {
   public:
    explicit bank_work(unsigned) {
        for (u64 i = 0; i < accounts; ++i) {
            auto* const a = static_cast<account*>(Way::allocate(sizeof(account)));
            Way::store(a->next, first_);
            Way::store(a->balance, 1000);
            first_ = a;
        }
    }
    void operate(unsigned thread, u64 operations) {
        xoshiro256ss random(thread + 1);
        for (u64 i = 0; i < operations; ++i) {
            const u64 from = random.below(accounts - 1);
            transfer(from, from + 1 + random.below(accounts - 1 - from), random.below(100));
        }
    }

   private:
    static constexpr u64 accounts = 16;
    struct account {
        account* next;
        u64 balance;
    };
    void transfer(u64 from, u64 to, u64 amount) {
        locks_[0].lock();
        account* a = first_;
        bool has_taken = false;
        for (u64 i = 0;; ++i, a = a->next) {
            if (i == from && a->balance >= amount) {
                Way::store(a->balance, a->balance - amount);
                has_taken = true;
            }
            if (i == to) {
                if (has_taken) Way::store(a->balance, a->balance + amount);
                locks_[i].unlock();
                return;
            }
            locks_[i + 1].lock();
            locks_[i].unlock();
        }
    }
    account* first_ = nullptr;
    std::array<typename Way::mutex, accounts> locks_;
};

/// A bounded queue with two condition variables. One thread alternates between put and take; of
/// several, one half puts and the other takes.
template <class Way>
class queue_work {
   public:
    explicit queue_work(unsigned threads)
        : threads_(threads), q_(static_cast<queue*>(Way::allocate(sizeof(queue)))) {}
    void operate(unsigned thread, u64 operations) {
        for (u64 i = 0; i < operations; ++i) {
            const u64 turn = threads_ == 1 ? i : thread;
            turn % 2 == 0 ? put() : take();
        }
    }

   private:
    static constexpr u64 capacity = 64;
    struct queue {
        std::array<u64, capacity> items;
        u64 produced;
        u64 taken;
        u64 sum;
    };
    void put() {
        const holding guard(lock_);
        while (q_->produced - q_->taken == capacity) lock_.wait(not_full_);
        Way::store(q_->items[q_->produced % capacity], q_->produced);
        Way::store(q_->produced, q_->produced + 1);
        ::pthread_cond_signal(&not_empty_);
    }
    void take() {
        const holding guard(lock_);
        while (q_->produced == q_->taken) lock_.wait(not_empty_);
        Way::store(q_->sum, q_->sum + q_->items[q_->taken % capacity]);
        Way::store(q_->taken, q_->taken + 1);
        ::pthread_cond_signal(&not_full_);
    }
    unsigned threads_;
    queue* q_;
    typename Way::mutex lock_;
    pthread_cond_t not_full_ = PTHREAD_COND_INITIALIZER;
    pthread_cond_t not_empty_ = PTHREAD_COND_INITIALIZER;
};

/// A hash table and a list in the order of use under one lock: an operation is a look-up, which
/// replaces the oldest entry if it finds nothing.
template <class Way>
class cache_work {
   public:
    explicit cache_work(unsigned) : c_(static_cast<cache*>(Way::allocate(sizeof(cache)))) {}
    void operate(unsigned thread, u64 operations) {
        xoshiro256ss random(thread + 7);
        for (u64 i = 0; i < operations; ++i) look_up(random.below(1 + random.below(keys)));
    }

   private:
    static constexpr u64 buckets = 256;
    static constexpr u64 max_entries = 500;
    static constexpr u64 keys = 5000;
    struct item {
        item* next;  ///< in its bucket
        item* newer;
        item* older;
        u64 key;
        u64 value;
    };
    struct cache {
        std::array<item*, buckets> table;
        item* newest;
        item* oldest;
        u64 count;
        u64 hits;
    };
    void unlink(item* i) {
        Way::store(i->newer == nullptr ? c_->newest : i->newer->older, i->older);
        Way::store(i->older == nullptr ? c_->oldest : i->older->newer, i->newer);
    }
    void make_newest(item* i) {
        Way::store(i->newer, nullptr);
        Way::store(i->older, c_->newest);
        Way::store(c_->newest == nullptr ? c_->oldest : c_->newest->newer, i);
        Way::store(c_->newest, i);
    }
    void evict() {
        item* const old = c_->oldest;
        unlink(old);
        item** at = &c_->table[old->key % buckets];
        while (*at != old) at = &(*at)->next;
        Way::store(*at, old->next);
        Way::store(c_->count, c_->count - 1);
        Way::release(old);
    }
    void look_up(u64 key) {
        const holding guard(lock_);
        item*& bucket = c_->table[key % buckets];
        for (item* i = bucket; i != nullptr; i = i->next) {
            if (i->key != key) continue;
            Way::store(c_->hits, c_->hits + 1);
            unlink(i);
            make_newest(i);
            return;
        }
        if (c_->count == max_entries) evict();
        auto* const fresh = static_cast<item*>(Way::allocate(sizeof(item)));
        Way::store(fresh->next, bucket);
        Way::store(fresh->key, key);
        Way::store(fresh->value, key * key);
        Way::store(bucket, fresh);
        make_newest(fresh);
        Way::store(c_->count, c_->count + 1);
    }
    cache* c_;
    typename Way::mutex lock_;
};

/// A textbook AVL tree under one lock: an operation inserts or removes.
template <class Way>
class avl_work {
   public:
    explicit avl_work(unsigned) : t_(static_cast<tree*>(Way::allocate(sizeof(tree)))) {}
    void operate(unsigned thread, u64 operations) {
        xoshiro256ss random(thread + 3);
        for (u64 i = 0; i < operations; ++i) {
            const u64 key = random.below(keys);
            const holding guard(lock_);
            set(t_->root, random.below(2) == 0 ? insert(t_->root, key) : remove(t_->root, key));
        }
    }

   private:
    static constexpr u64 keys = 2000;
    struct node {
        u64 key;
        u64 height;
        node* child[2];
    };
    struct tree {
        node* root;
    };
    static void set(node*& link, node* to) {
        if (link != to) Way::store(link, to);
    }
    static u64 height(const node* n) { return n == nullptr ? 0 : n->height; }
    static void measure(node* n) {
        const u64 now = 1 + std::max(height(n->child[0]), height(n->child[1]));
        if (n->height != now) Way::store(n->height, now);
    }
    static node* rotate(node* n, int side) {
        node* const up = n->child[side];
        set(n->child[side], up->child[1 - side]);
        set(up->child[1 - side], n);
        measure(n);
        measure(up);
        return up;
    }
    static node* balance(node* n) {
        measure(n);
        for (int side = 0; side < 2; ++side) {
            if (height(n->child[side]) <= height(n->child[1 - side]) + 1) continue;
            node* const c = n->child[side];
            if (height(c->child[side]) < height(c->child[1 - side])) {
                set(n->child[side], rotate(c, 1 - side));
            }
            return rotate(n, side);
        }
        return n;
    }
    static node* insert(node* n, u64 key) {
        if (n == nullptr) {
            auto* const fresh = static_cast<node*>(Way::allocate(sizeof(node)));
            Way::store(fresh->key, key);
            Way::store(fresh->height, 1);
            return fresh;
        }
        if (key == n->key) return n;
        node*& side = n->child[key < n->key ? 0 : 1];
        set(side, insert(side, key));
        return balance(n);
    }
    static node* remove_first(node* n, node*& first) {
        if (n->child[0] == nullptr) {
            first = n;
            return n->child[1];
        }
        set(n->child[0], remove_first(n->child[0], first));
        return balance(n);
    }
    static node* remove(node* n, u64 key) {
        if (n == nullptr) return nullptr;
        if (key != n->key) {
            node*& side = n->child[key < n->key ? 0 : 1];
            set(side, remove(side, key));
            return balance(n);
        }
        node* const left = n->child[0];
        node* const right = n->child[1];
        Way::release(n);
        if (right == nullptr) return left;
        node* first = nullptr;
        node* const rest = remove_first(right, first);
        set(first->child[0], left);
        set(first->child[1], rest);
        return balance(first);
    }
    tree* t_;
    typename Way::mutex lock_;
};

}  // namespace hf::bench
