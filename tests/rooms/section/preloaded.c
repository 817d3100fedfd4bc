/* A program in C, without the plugin, that knows the runtime by its shared library alone.
 *
 *     preloaded FILE         counts up under a mutex until it is killed; the first line that it
 *                            prints is what it found
 *     preloaded FILE tell    writes each count besides, inside the section, in lines of 21 bytes */
#include <holdfast/section.h>

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int main(int argc, char** argv) {
    struct hf_group_options o = {0};
    o.period_us = 2000;
    if (argc < 2 || hf_group_open(argv[1], &o) != 0) {
        fprintf(stderr, "%s\n", hf_section_error());
        return 1;
    }
    hf_region* r = hf_region_open("count");
    unsigned long* pair = hf_root_get(r, "pair");
    if (pair == NULL) {
        pair = hf_zeroed(r, 2, sizeof *pair);
        hf_root_set(r, "pair", pair);
    }
    pthread_mutex_lock(&lock);
    printf("%lu %lu %d\n", pair[0], pair[1], hf_section_depth());
    fflush(stdout);
    pthread_mutex_unlock(&lock);
    for (;;) {
        pthread_mutex_lock(&lock);
        pair[0] += 1;
        pair[1] += 1;
        if (argc > 2) {
            char line[32];
            int n = snprintf(line, sizeof line, "%20lu\n", pair[1]);
            if (write(1, line, n) != n) return 2;
        }
        pthread_mutex_unlock(&lock);
    }
}
