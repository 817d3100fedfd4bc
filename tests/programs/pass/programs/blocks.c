// memcpy, memmove and memset, with sizes known and unknown, zero, and overlapping.
#include "pass/recorder.h"

#include <assert.h>
#include <string.h>

__attribute__((noinline)) static void blocks(char* p, size_t n) {
    memset(p, 'a', n);
    memset(p + 100, 'b', 16);
    memcpy(p + 200, p, n);
    memcpy(p + 300, p + 100, 16);
    memmove(p + 1, p, n);
    memmove(p + 104, p + 100, 16);
    memset(p, 0, 0);
    for (size_t i = 0; i < n; ++i) p[400 + i] = 0;
    for (size_t i = 0; i < n; ++i) p[500 + i] = p[i];
}

int main(void) {
    char* p = recorder_allocate(1024);
    const size_t before = recorder_hooks();
    blocks(p, 0);
    // Of no bytes nothing is announced.
    assert(recorder_hooks() - before <= 3);
    blocks(p, 57);
    char local[1024] = {0};
    blocks(local, 0);
    blocks(local, 57);
    assert(memcmp(p, local, sizeof local) == 0);
}
