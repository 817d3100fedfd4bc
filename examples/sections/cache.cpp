// A shared cache with a bounded number of entries: a hash table and a list in the order of use, under
// one lock, with memory from the region. An entry is in both or in neither.
#include "program.hpp"

namespace {

constexpr unsigned buckets = 256;
constexpr unsigned max_entries = 500;
constexpr unsigned keys = 5000;

struct item {
    item* next;  // in its bucket
    item* newer;
    item* older;
    unsigned long key;
    unsigned long value;  // key * key
};
struct cache {
    item* table[buckets];
    item* newest;
    item* oldest;
    unsigned long count;
    unsigned long hits;
    unsigned long misses;
};

hf_region* region;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void unlink_from_order(cache* c, item* i) {
    (i->newer == nullptr ? c->newest : i->newer->older) = i->older;
    (i->older == nullptr ? c->oldest : i->older->newer) = i->newer;
}

void make_newest(cache* c, item* i) {
    i->newer = nullptr;
    i->older = c->newest;
    (c->newest == nullptr ? c->oldest : c->newest->newer) = i;
    c->newest = i;
}

void evict_oldest(cache* c) {
    item* const old = c->oldest;
    unlink_from_order(c, old);
    item** at = &c->table[old->key % buckets];
    while (*at != old) at = &(*at)->next;
    *at = old->next;
    c->count -= 1;
    hf_free(old);
}

unsigned long look_up(cache* c, unsigned long key) {
    const example::locked guard(lock);
    for (item* i = c->table[key % buckets]; i != nullptr; i = i->next) {
        if (i->key != key) continue;
        c->hits += 1;
        unlink_from_order(c, i);
        make_newest(c, i);
        return i->value;
    }
    c->misses += 1;
    if (c->count == max_entries) evict_oldest(c);
    auto* const fresh = static_cast<item*>(hf_alloc(region, sizeof(item)));
    if (fresh == nullptr) example::fail("no memory");
    *fresh = {c->table[key % buckets], nullptr, nullptr, key, key * key};
    c->table[key % buckets] = fresh;
    make_newest(c, fresh);
    c->count += 1;
    return fresh->value;
}

cache* open_cache() {
    const example::locked guard(lock);
    return example::root_of<cache>(region, "cache");
}

int check() {
    const cache* const c = open_cache();
    unsigned long in_table = 0;
    unsigned long in_order = 0;
    for (item* bucket : c->table) {
        for (const item* i = bucket; i != nullptr; i = i->next, ++in_table) {
            if (i->value != i->key * i->key) return 1;
        }
    }
    const item* newer = nullptr;
    for (const item* i = c->newest; i != nullptr; newer = i, i = i->older, ++in_order) {
        if (i->newer != newer) return 1;
    }
    std::printf("%lu entries, %lu hits, %lu misses\n", c->count, c->hits, c->misses);
    if (c->misses == 0) return example::nothing_yet;
    return in_table == c->count && in_order == c->count && newer == c->oldest ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    return example::run(argc, argv, 3, region,
                        [](unsigned t) {
                            cache* const c = open_cache();
                            std::minstd_rand random(t + 7);
                            for (;;) {
                                const unsigned long key = random() % (1 + random() % keys);
                                if (look_up(c, key) != key * key) std::abort();
                            }
                        },
                        check);
}
