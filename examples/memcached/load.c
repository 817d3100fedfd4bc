/* load.c: a load generator for memcached's text protocol, for ./dev demo memcached --speed.
 *
 *   load PORT OPERATION CONNECTIONS DEPTH SECONDS VALUE KEYS SEED
 *
 * OPERATION: fill (stores each key once), set, or mix (nine gets to a set) of random keys. A thread
 * a connection sends DEPTH requests at once, waits for all answers, and so on. All keys are there
 * and all values have VALUE bytes, so each answer has a known length, and its beginning and its
 * value are checked. Prints the operations and the seconds that they took. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { key_bytes = 16, head_bytes = 64, max_depth = 256 };
enum operation { fill, set, mix };

static int port, connections, depth, value_bytes;
static enum operation operation;
static double seconds;
static uint64_t keys;

struct client {
    pthread_t thread;
    uint64_t state;     /* of the random numbers */
    uint64_t next, end; /* keys of `fill` */
    uint64_t operations;
    int fd;
    char *out, *in;
};

static void fail(const char* what) {
    perror(what);
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t next_random(struct client* c) {
    c->state = c->state * 6364136223846793005u + 1442695040888963407u;
    return c->state >> 33;
}

/* The value of a key: its own name again and again. */
static void write_value(char* to, uint64_t key) {
    char name[key_bytes + 1];
    snprintf(name, sizeof name, "k%015llu", (unsigned long long)key);
    for (int i = 0; i < value_bytes; ++i) to[i] = name[i % key_bytes];
}

/* Writes a request; returns its length. */
static size_t write_request(char* to, int is_set, uint64_t key) {
    if (!is_set) return (size_t)sprintf(to, "get k%015llu\r\n", (unsigned long long)key);
    const int n = sprintf(to, "set k%015llu 0 0 %d\r\n", (unsigned long long)key, value_bytes);
    write_value(to + n, key);
    memcpy(to + n + value_bytes, "\r\n", 2);
    return (size_t)(n + value_bytes + 2);
}

/* The answer that must come; returns its length. */
static size_t write_answer(char* to, int is_set, uint64_t key) {
    if (is_set) return (size_t)sprintf(to, "STORED\r\n");
    const int n = sprintf(to, "VALUE k%015llu 0 %d\r\n", (unsigned long long)key, value_bytes);
    write_value(to + n, key);
    return (size_t)(n + value_bytes + sprintf(to + n + value_bytes, "\r\nEND\r\n"));
}

static void send_all(int fd, const char* p, size_t n) {
    while (n > 0) {
        const ssize_t done = send(fd, p, n, MSG_NOSIGNAL);
        if (done <= 0) fail("send");
        p += done;
        n -= (size_t)done;
    }
}

static void batch(struct client* c) {
    int is_set[max_depth];
    uint64_t key[max_depth];
    size_t length = 0, wanted = 0;
    int n = 0;
    for (; n < depth && (operation != fill || c->next < c->end); ++n) {
        is_set[n] = operation != mix || next_random(c) % 10 == 0;
        key[n] = operation == fill ? c->next++ : next_random(c) % keys;
        length += write_request(c->out + length, is_set[n], key[n]);
    }
    send_all(c->fd, c->out, length);
    char* const expected = c->out;
    for (int i = 0; i < n; ++i) wanted += write_answer(expected + wanted, is_set[i], key[i]);
    for (size_t have = 0; have < wanted;) {
        const ssize_t got = recv(c->fd, c->in + have, wanted - have, 0);
        if (got <= 0) fail("recv");
        have += (size_t)got;
    }
    if (memcmp(c->in, expected, wanted) != 0) {
        fprintf(stderr, "load: a wrong answer: %.60s\n", c->in);
        exit(1);
    }
    c->operations += (uint64_t)n;
}

static void* run(void* argument) {
    struct client* const c = argument;
    const double end = now() + seconds;
    while (operation == fill ? c->next < c->end : now() < end) batch(c);
    return NULL;
}

static void begin(struct client* c, int i, unsigned long seed) {
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int on = 1;
    const size_t bytes = (size_t)depth * ((size_t)value_bytes + head_bytes);
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(c->fd, (const struct sockaddr*)&address, sizeof address) != 0) fail("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    c->state = (seed << 8) + (unsigned long)i + 1;
    c->next = keys * (uint64_t)i / (uint64_t)connections;
    c->end = keys * ((uint64_t)i + 1) / (uint64_t)connections;
    if ((c->out = malloc(bytes)) == NULL || (c->in = malloc(bytes)) == NULL) fail("malloc");
}

int main(int argc, char** argv) {
    if (argc != 9) {
        fprintf(stderr,
                "usage: load PORT fill|set|mix CONNECTIONS DEPTH SECONDS VALUE KEYS SEED\n");
        return 2;
    }
    port = atoi(argv[1]);
    operation = strcmp(argv[2], "fill") == 0 ? fill : strcmp(argv[2], "set") == 0 ? set : mix;
    connections = atoi(argv[3]);
    depth = atoi(argv[4]);
    seconds = atof(argv[5]);
    value_bytes = atoi(argv[6]);
    keys = strtoull(argv[7], NULL, 10);
    if (connections < 1 || depth < 1 || depth > max_depth || value_bytes < 1 || keys < 1) return 2;
    struct client* const all = calloc((size_t)connections, sizeof *all);
    if (all == NULL) fail("calloc");
    for (int i = 0; i < connections; ++i) begin(&all[i], i, strtoul(argv[8], NULL, 10));
    const double start = now();
    for (int i = 0; i < connections; ++i) {
        if (pthread_create(&all[i].thread, NULL, run, &all[i]) != 0) fail("pthread_create");
    }
    uint64_t operations = 0;
    for (int i = 0; i < connections; ++i) {
        pthread_join(all[i].thread, NULL);
        operations += all[i].operations;
    }
    printf("%llu %.6f\n", (unsigned long long)operations, now() - start);
    return 0;
}
