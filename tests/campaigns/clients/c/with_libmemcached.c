/* libmemcached's C interface. The steps are those of python/scenario.py. */
#define _DEFAULT_SOURCE /* usleep */
#include <libmemcached/memcached.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static memcached_st* client;
static int failed_steps;
/* What the running step found wrong first; NULL: nothing. */
static const char* wrong;

static void expect(int holds, const char* what) {
    if (!holds && wrong == NULL) wrong = what;
}

#define EXPECT(condition) expect((condition), #condition)

static void step(const char* name, void (*function)(void)) {
    wrong = NULL;
    function();
    if (wrong == NULL) {
        printf("ok %s\n", name);
    } else {
        printf("FAILED %s: not so: %s (%s)\n", name, wrong,
               memcached_last_error_message(client));
        failed_steps = 1;
    }
    fflush(stdout);
}

static memcached_return_t set_for(const char* key, const char* value, time_t seconds) {
    return memcached_set(client, key, strlen(key), value, strlen(value), seconds, 0);
}

static memcached_return_t set(const char* key, const char* value) {
    return set_for(key, value, 0);
}

/* Whether a get gives these bytes and flags. */
static int holds(const char* key, const void* wanted, size_t size, uint32_t wanted_flags) {
    size_t length = 0;
    uint32_t flags = 0;
    memcached_return_t result = MEMCACHED_FAILURE;
    char* value = memcached_get(client, key, strlen(key), &length, &flags, &result);
    const int same = result == MEMCACHED_SUCCESS && length == size && flags == wanted_flags &&
                     (size == 0 || memcmp(value, wanted, size) == 0);
    free(value);
    return same;
}

static int reads(const char* key, const char* wanted) {
    return holds(key, wanted, strlen(wanted), 0);
}

static int is_absent(const char* key) {
    size_t length = 0;
    uint32_t flags = 0;
    memcached_return_t result = MEMCACHED_FAILURE;
    free(memcached_get(client, key, strlen(key), &length, &flags, &result));
    return result == MEMCACHED_NOTFOUND;
}

static void step_version(void) {
    EXPECT(memcached_version(client) == MEMCACHED_SUCCESS);
    const memcached_instance_st* server = memcached_server_instance_by_position(client, 0);
    EXPECT(memcached_server_major_version(server) == 1);
    EXPECT(memcached_server_minor_version(server) == 6);
}

static void step_stats(void) {
    memcached_return_t result = MEMCACHED_FAILURE;
    memcached_stat_st* stats = memcached_stat(client, NULL, &result);
    EXPECT(result == MEMCACHED_SUCCESS && stats != NULL);
    if (stats == NULL) return;
    char* threads = memcached_stat_get_value(client, stats, "threads", &result);
    EXPECT(threads != NULL && strcmp(threads, "2") == 0);
    free(threads);
    memcached_stat_free(client, stats);
}

static void step_set_get(void) {
    EXPECT(is_absent("absent"));
    EXPECT(set("set_get", "first") == MEMCACHED_SUCCESS);
    EXPECT(reads("set_get", "first"));
    EXPECT(set("set_get", "second one") == MEMCACHED_SUCCESS);
    EXPECT(reads("set_get", "second one"));
}

static void step_types(void) {
    EXPECT(memcached_set(client, "typed", 5, "x", 1, 0, 4000000000U) == MEMCACHED_SUCCESS);
    EXPECT(holds("typed", "x", 1, 4000000000U));
}

static void step_empty(void) {
    EXPECT(set("empty", "") == MEMCACHED_SUCCESS);
    EXPECT(reads("empty", ""));
}

static void step_binary(void) {
    char value[8 + 512] = "\r\nEND\r\n";
    for (int i = 0; i < 512; ++i) value[8 + i] = (char)i;
    EXPECT(memcached_set(client, "binary", 6, value, sizeof value, 0, 0) == MEMCACHED_SUCCESS);
    EXPECT(holds("binary", value, sizeof value, 0));
}

static void step_large(void) {
    static char value[900000];
    uint32_t state = 1;
    for (size_t i = 0; i < sizeof value; ++i) {
        state = state * 1664525U + 1013904223U;
        value[i] = (char)(state >> 24);
    }
    EXPECT(memcached_set(client, "large", 5, value, sizeof value, 0, 0) == MEMCACHED_SUCCESS);
    EXPECT(holds("large", value, sizeof value, 0));
}

static void step_long_key(void) {
    char key[251];
    memset(key, 'k', 250);
    key[250] = 0;
    EXPECT(set(key, "250") == MEMCACHED_SUCCESS);
    EXPECT(set(key + 1, "249") == MEMCACHED_SUCCESS);
    EXPECT(reads(key, "250"));
}

static void step_add(void) {
    EXPECT(memcached_add(client, "add", 3, "first", 5, 0, 0) == MEMCACHED_SUCCESS);
    EXPECT(memcached_add(client, "add", 3, "second", 6, 0, 0) == MEMCACHED_NOTSTORED);
    EXPECT(reads("add", "first"));
}

static void step_replace(void) {
    EXPECT(memcached_replace(client, "replace", 7, "x", 1, 0, 0) == MEMCACHED_NOTSTORED);
    set("replace", "first");
    EXPECT(memcached_replace(client, "replace", 7, "second", 6, 0, 0) == MEMCACHED_SUCCESS);
    EXPECT(reads("replace", "second"));
}

static void step_append_prepend(void) {
    EXPECT(memcached_append(client, "joined", 6, "x", 1, 0, 0) == MEMCACHED_NOTSTORED);
    set("joined", "middle");
    EXPECT(memcached_append(client, "joined", 6, " end", 4, 0, 0) == MEMCACHED_SUCCESS);
    EXPECT(memcached_prepend(client, "joined", 6, "begin ", 6, 0, 0) == MEMCACHED_SUCCESS);
    EXPECT(reads("joined", "begin middle end"));
}

/* The token of a key, which takes a get of many; 0: there is none. */
static uint64_t token_of(const char* key) {
    const size_t length = strlen(key);
    memcached_return_t result = memcached_mget(client, &key, &length, 1);
    memcached_result_st* found = memcached_fetch_result(client, NULL, &result);
    if (found == NULL) return 0;
    const uint64_t token = memcached_result_cas(found);
    memcached_result_free(found);
    while ((found = memcached_fetch_result(client, NULL, &result)) != NULL) {
        memcached_result_free(found);
    }
    return token;
}

static void step_cas(void) {
    set("cas", "first");
    const uint64_t token = token_of("cas");
    EXPECT(token != 0);
    EXPECT(memcached_cas(client, "cas", 3, "second", 6, 0, 0, token) == MEMCACHED_SUCCESS);
    EXPECT(memcached_cas(client, "cas", 3, "third", 5, 0, 0, token) == MEMCACHED_DATA_EXISTS);
    EXPECT(reads("cas", "second"));
}

static void step_delete(void) {
    EXPECT(memcached_delete(client, "delete", 6, 0) == MEMCACHED_NOTFOUND);
    set("delete", "x");
    EXPECT(memcached_delete(client, "delete", 6, 0) == MEMCACHED_SUCCESS);
    EXPECT(is_absent("delete"));
}

static void step_counters(void) {
    uint64_t now = 0;
    EXPECT(memcached_increment(client, "counter", 7, 1, &now) == MEMCACHED_NOTFOUND);
    EXPECT(memcached_decrement(client, "counter", 7, 1, &now) == MEMCACHED_NOTFOUND);
    set("counter", "10");
    EXPECT(memcached_increment(client, "counter", 7, 5, &now) == MEMCACHED_SUCCESS && now == 15);
    EXPECT(memcached_decrement(client, "counter", 7, 6, &now) == MEMCACHED_SUCCESS && now == 9);
    EXPECT(memcached_decrement(client, "counter", 7, 100, &now) == MEMCACHED_SUCCESS && now == 0);
    set("counter", "18446744073709551614");
    EXPECT(memcached_increment(client, "counter", 7, 1, &now) == MEMCACHED_SUCCESS);
    EXPECT(now == UINT64_MAX);
}

static void step_touch(void) {
    EXPECT(memcached_touch(client, "touched", 7, 1) == MEMCACHED_NOTFOUND);
    set("touched", "x");
    EXPECT(memcached_touch(client, "touched", 7, 1) == MEMCACHED_SUCCESS);
}

static void step_get_many(void) {
    static char keys[101][16];
    const char* pointers[101];
    size_t lengths[101];
    for (int i = 0; i < 101; ++i) {
        snprintf(keys[i], sizeof keys[i], "many%d", i);
        pointers[i] = keys[i];
        lengths[i] = strlen(keys[i]);
        if (i < 100) set(keys[i], keys[i]);
    }
    EXPECT(memcached_mget(client, pointers, lengths, 101) == MEMCACHED_SUCCESS);
    int found = 0;
    memcached_return_t result = MEMCACHED_FAILURE;
    for (memcached_result_st* one; (one = memcached_fetch_result(client, NULL, &result)) != NULL;) {
        const size_t length = memcached_result_length(one);
        EXPECT(length == memcached_result_key_length(one) &&
               memcmp(memcached_result_value(one), memcached_result_key_value(one), length) == 0);
        ++found;
        memcached_result_free(one);
    }
    EXPECT(found == 100);
}

static void step_noreply(void) {
    EXPECT(memcached_behavior_set(client, MEMCACHED_BEHAVIOR_NOREPLY, 1) == MEMCACHED_SUCCESS);
    char key[16];
    char value[16];
    for (int i = 0; i < 50; ++i) {
        snprintf(key, sizeof key, "quiet%d", i % 5);
        snprintf(value, sizeof value, "%d", i);
        set(key, value);
    }
    memcached_behavior_set(client, MEMCACHED_BEHAVIOR_NOREPLY, 0);
    for (int i = 45; i < 50; ++i) {
        snprintf(key, sizeof key, "quiet%d", i % 5);
        snprintf(value, sizeof value, "%d", i);
        EXPECT(reads(key, value));
    }
}

static void step_expiry(void) {
    set_for("short", "x", 2);
    set_for("long", "x", 100);
    EXPECT(reads("short", "x"));
    usleep(2200000);
    EXPECT(is_absent("short"));
    EXPECT(is_absent("touched"));
    EXPECT(reads("long", "x"));
}

static void step_flush_all(void) {
    set("flushed", "x");
    EXPECT(memcached_flush(client, 0) == MEMCACHED_SUCCESS);
    EXPECT(is_absent("flushed"));
}

static void write_one(void) { EXPECT(set("survivor", "survivor") == MEMCACHED_SUCCESS); }
static void read_one(void) { EXPECT(reads("survivor", "survivor")); }

static void scenario(void) {
    step("version", step_version);
    step("stats", step_stats);
    step("set_get", step_set_get);
    step("types", step_types);
    step("empty", step_empty);
    step("binary", step_binary);
    step("large", step_large);
    step("long_key", step_long_key);
    step("add", step_add);
    step("replace", step_replace);
    step("append_prepend", step_append_prepend);
    step("cas", step_cas);
    step("delete", step_delete);
    step("counters", step_counters);
    step("touch", step_touch);
    puts("lacks gat: no such operation");
    step("get_many", step_get_many);
    step("noreply", step_noreply);
    step("expiry", step_expiry);
    step("flush_all", step_flush_all);
}

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    client = memcached_create(NULL);
    memcached_server_add(client, argv[1], (in_port_t)atoi(argv[2]));
    memcached_behavior_set(client, MEMCACHED_BEHAVIOR_SUPPORT_CAS, 1);
    if (strcmp(argv[3], "write") == 0) {
        step("write", write_one);
    } else if (strcmp(argv[3], "read") == 0) {
        step("read", read_one);
    } else {
        scenario();
    }
    memcached_free(client);
    return failed_steps;
}
