// durable.h: memcached's state that outlives the process, and how it is opened and repaired.
//
// Persistent: the hash table and its variables (assoc.c), the LRU lists and their sizes (items.c),
// the slab classes, their page lists and pages (slabs.c), the clock's origin and the last
// flush_all. All else is transient: locks, connections, statistics, the state of the background
// threads. The patch beside this file makes the variables members of `durable`, under their old
// names.
//
// After a restart:
//   - crawlers that were passing through a list are taken out of it; they lie in `durable` because
//     items point to them meanwhile;
//   - linked items get the reference count 1, and free ones 0, for no connection exists; so the
//     count is HF_TRANSIENT, and a get, which changes nothing else, needs no undo;
//   - chunks that are neither linked nor in a free list, because a connection was filling them or
//     the rebalancer was moving them, are freed;
//   - the clock goes on from its old origin, so that expiry times keep their meaning.
#pragma once

/* Without an include guard. */
#ifndef ITEM_UPDATE_INTERVAL
#include <memcached.h>
#endif

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef struct {
    unsigned int size;    /* sizes of items */
    unsigned int perslab; /* how many items per slab */

    void* slots;          /* list of item ptrs */
    unsigned int sl_curr; /* total free items in list */

    unsigned int slabs; /* how many slabs were allocated for this class */

    void** slab_list;       /* array of slab pointers */
    unsigned int list_size; /* size of prev array */
} slabclass_t;

struct durable_state {
    /* assoc.c */
    unsigned int hash_power;
    item** primary_table;
    item** old_table;
    bool is_expanding;
    uint64_t next_bucket;
    /* items.c */
    item* lru_heads[POWER_LARGEST];
    item* lru_tails[POWER_LARGEST];
    unsigned int lru_sizes[POWER_LARGEST];
    uint64_t lru_bytes[POWER_LARGEST];
    uint64_t newest_cas;
    /* crawler.c */
    crawler lru_crawlers[POWER_LARGEST];
    /* slabs.c */
    slabclass_t classes[MAX_NUMBER_OF_SLAB_CLASSES];
    size_t allocated;
    bool limit_reached;
    /* memcached.c */
    time_t started;
    rel_time_t oldest_live; /* flush_all: older items are invalid */
    uint64_t oldest_cas;
    int page_size;
    int chunk_size_max;
};

extern struct durable_state* durable;

/* Opens the region in the file that MEMCACHED_DURABLE names. Ends the process with a message if it
 * cannot, or if memory is preallocated (-L, -e): items would lie outside of the region. Returns
 * true iff the state of an earlier process was found. From the environment besides:
 *
 *   MEMCACHED_DURABLE_STORES  announced (the default; needs the plugin) or pages
 *   MEMCACHED_DURABLE_MS      from one cut to the next, in milliseconds */
bool durable_open(bool preallocated);

/* For the command "stats durable". The longest times and the quantiles of pauses are of the time
 * since the command before. `ticket`: the cut that contains what was stored before. Once
 * `durable` is at least that, no crash undoes it. */
void durable_stats(ADD_STAT add_stats, void* c);

/* Memory of the region; NULL if there is none left. */
void* durable_allocate(size_t size);
void* durable_zeroed(size_t count, size_t size);
void* durable_reallocate(void* old, size_t size);
void durable_free(void* p);

/* The first store to a line since the last cut reads the line for the undo log; the original's
 * store would not wait for memory. So lines that will be stored to soon are prefetched, above all
 * those that are stored to under an LRU's lock, for which other threads wait. */
static inline void durable_prefetch(const void* p, size_t bytes) {
    const char* const line = p;
    for (size_t i = 0; i < bytes && i < 512; i += 64) __builtin_prefetch(line + i, 1);
}
/* Both neighbours of an item that will be unlinked. The pointers may change meanwhile: no harm. */
static inline void durable_prefetch_neighbours(const item* it) {
    __builtin_prefetch(it->next, 1);
    __builtin_prefetch(it->prev, 1);
}

/* After a flush_all: keeps its moment. */
void durable_flushed(void);

/* The lock protects no persistent invariant: a background thread holds it while it works. */
void durable_not_a_section(pthread_mutex_t* lock);

/* The repair after a restart, before any thread is started, where the private state is. */
void crawler_durable_repair(void);
void slabs_durable_repair(void);
