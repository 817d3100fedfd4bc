/* See durable.h. */
#include "durable.h"

#include <holdfast/section.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct durable_state* durable;

static hf_region* region;

static void fail(const char* what) {
    fprintf(stderr, "memcached: %s: %s\n", what, hf_section_error());
    exit(EXIT_FAILURE);
}

static void refuse(const char* what) {
    fprintf(stderr, "memcached: %s\n", what);
    exit(EXIT_FAILURE);
}

/* A number of the environment; 0: it is not set. */
static unsigned long number(const char* name, unsigned long max) {
    const char* const text = getenv(name);
    if (text == NULL) return 0;
    char* end;
    const unsigned long n = strtoul(text, &end, 10);
    if (end == text || *end != '\0' || *text == '-' || n == 0 || n > max) {
        fprintf(stderr, "memcached: %s must be a number from 1 to %lu, not \"%s\"\n", name, max,
                text);
        exit(EXIT_FAILURE);
    }
    return n;
}

static enum hf_stores stores(void) {
    const char* const text = getenv("MEMCACHED_DURABLE_STORES");
    if (text != NULL && strcmp(text, "pages") == 0) return HF_STORES_TRACKED;
    if (text != NULL && strcmp(text, "announced") != 0) {
        refuse("MEMCACHED_DURABLE_STORES must be announced or pages");
    }
#ifdef DURABLE_WITHOUT_PLUGIN
    if (text != NULL) refuse("this program was built without the plugin: its stores are pages");
    return HF_STORES_TRACKED;
#else
    return HF_STORES_ANNOUNCED;
#endif
}

/* MEMCACHED_DURABLE_FIGURE: graph mode as in the rows of the paper's figure 4; measurements. */
static void choose_figure(struct hf_group_options* options) {
    const char* const row = getenv("MEMCACHED_DURABLE_FIGURE");
    if (row == NULL) return;
    const bool is_flushed = strcmp(row, "flushed") == 0, is_elided = strcmp(row, "elided") == 0;
    if (!is_flushed && !is_elided && strcmp(row, "unflushed") != 0) {
        refuse("MEMCACHED_DURABLE_FIGURE must be flushed, unflushed or elided");
    }
    options->mode = HF_MODE_GRAPH;
    options->flush = is_flushed;
    options->no_flush_for_figures = !is_flushed;
    options->log_all_stores = !is_elided;
    /* A new slab page of a megabyte is cleared in one section: 4 MiB of entries. */
    options->log_bytes = (uint64_t)64 << 20;
}

bool durable_open(bool preallocated) {
    const char* const path = getenv("MEMCACHED_DURABLE");
    if (path == NULL) refuse("MEMCACHED_DURABLE must name the file of the durable data");
    if (preallocated) {
        refuse("-L and -e would keep items outside of the durable data: leave them out");
    }
    struct hf_group_options options = {
        .stores = stores(),
        .period_us = 1000 * (uint32_t)number("MEMCACHED_DURABLE_MS", 3600 * 1000),
        .program = "memcached 1.6.18"};
    choose_figure(&options);
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

void durable_stats(ADD_STAT add_stats, void* c) {
    struct hf_section_numbers n;
    hf_section_numbers_get(&n);
    APPEND_STAT("ticket", "%llu", (unsigned long long)hf_section_ticket());
    APPEND_STAT("durable", "%llu", (unsigned long long)hf_section_durable());
    APPEND_STAT("cuts", "%llu", (unsigned long long)n.cuts);
    APPEND_STAT("failed_cuts", "%llu", (unsigned long long)n.failed);
    APPEND_STAT("longest_between_us", "%llu", (unsigned long long)n.longest_ns / 1000);
    APPEND_STAT("last_pause_us", "%llu", (unsigned long long)n.last_pause_ns / 1000);
    APPEND_STAT("longest_pause_us", "%llu", (unsigned long long)n.longest_pause_ns / 1000);
    APPEND_STAT("pause_p50_us", "%llu", (unsigned long long)n.pause_p50_ns / 1000);
    APPEND_STAT("pause_p99_us", "%llu", (unsigned long long)n.pause_p99_ns / 1000);
    APPEND_STAT("sections", "%llu", (unsigned long long)n.sections);
    APPEND_STAT("lines", "%llu", (unsigned long long)n.lines);
    APPEND_STAT("entries", "%llu", (unsigned long long)n.entries);
    APPEND_STAT("kept", "%llu", (unsigned long long)n.kept);
    APPEND_STAT("log_waits", "%llu", (unsigned long long)n.log_waits);
    APPEND_STAT("undone_lines", "%llu", (unsigned long long)n.undone_lines);
    hf_section_numbers_restart();
}

void* durable_allocate(size_t size) { return hf_alloc(region, size); }

void* durable_zeroed(size_t count, size_t size) { return hf_zeroed(region, count, size); }

void* durable_reallocate(void* old, size_t size) { return hf_realloc(region, old, size); }

void durable_free(void* p) { hf_free(p); }

void durable_not_a_section(pthread_mutex_t* lock) {
    if (hf_not_a_consistency_lock(lock) != 0) fail("cannot exclude a lock");
}
