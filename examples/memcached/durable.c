/* See durable.h. */
// First, for durable.h needs it, and it has no include guard.
#include "memcached.h"
// And then:
#include <holdfast/section.h>

#include "durable.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct durable_state* durable;

static hf_region* region;

static void fail(const char* what) {
    fprintf(stderr, "memcached: %s: %s\n", what, hf_section_error());
    exit(EXIT_FAILURE);
}

bool durable_open(void) {
    const char* const path = getenv("MEMCACHED_DURABLE");
    if (path == NULL) {
        fprintf(stderr, "memcached: MEMCACHED_DURABLE must name the file of the durable data\n");
        exit(EXIT_FAILURE);
    }
    const struct hf_group_options options = {.stores = HF_STORES_ANNOUNCED,
                                             .program = "memcached 1.6.18"};
    if (hf_group_open(path, &options) != 0) fail(path);
    if ((region = hf_region_open("memcached")) == NULL) fail("cannot open its region");
    durable = hf_root_get(region, "state");
    if (durable != NULL) {
        if (durable->page_size != settings.slab_page_size ||
            durable->chunk_size_max != settings.slab_chunk_size_max) {
            fprintf(stderr,
                    "memcached: %s was made with pages of %d bytes and chunks of at most %d: "
                    "use the same -I and -o slab_chunk_max again\n",
                    path, durable->page_size, durable->chunk_size_max);
            exit(EXIT_FAILURE);
        }
        process_started = durable->started;
        settings.oldest_live = durable->oldest_live;
        settings.oldest_cas = durable->oldest_cas;
        return true;
    }
    hf_section_begin();
    if ((durable = hf_zeroed(region, 1, sizeof *durable)) == NULL) fail("cannot allocate");
    durable->started = process_started;
    durable->page_size = settings.slab_page_size;
    durable->chunk_size_max = settings.slab_chunk_size_max;
    if (hf_root_set(region, "state", durable) != 0) fail("cannot set the root");
    hf_section_end();
    return false;
}

void durable_flushed(void) {
    hf_section_begin();
    durable->oldest_live = settings.oldest_live;
    durable->oldest_cas = settings.oldest_cas;
    hf_section_end();
}

void* durable_allocate(size_t size) { return hf_alloc(region, size); }

void* durable_zeroed(size_t count, size_t size) { return hf_zeroed(region, count, size); }

void* durable_reallocate(void* old, size_t size) { return hf_realloc(region, old, size); }

void durable_free(void* p) { hf_free(p); }

void durable_not_a_section(pthread_mutex_t* lock) {
    if (hf_not_a_consistency_lock(lock) != 0) fail("cannot exclude a lock");
}
