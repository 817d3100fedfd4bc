// Stores to transient memory: no hook is called, and no call of one is emitted for those that are
// known to be transient.
#include "pass/recorder.h"

#include <holdfast/section_hooks.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int global;
static int array[100];
_Thread_local int of_thread;
int* escaped;

struct pair {
    long a, b;
};

__attribute__((noinline)) static long by_value(struct pair p) {
    p.a++;
    escaped = (int*)&p;
    return p.a;
}

struct counted {
    long value;
    HF_TRANSIENT unsigned short readers;
};

/* The structure might lie in a region; the member needs no hook there either. */
__attribute__((noinline)) static void add_reader(struct counted* c) { c->readers++; }

__attribute__((noinline)) static int transient(int n) {
    int local[16];
    escaped = local;
    local[n & 15] = n;
    int* chosen = n & 1 ? &global : array;
    chosen[0] = n;
    array[n % 100] = 2;
    of_thread = n;
    long* heap = malloc(80);
    escaped = (int*)heap;
    heap[n & 7] = n;
    memset(heap, 0, 80);
    add_reader((struct counted*)heap);
    errno = 0;
    const int result = (int)heap[3] + local[3];
    free(heap);
    return result + (int)by_value((struct pair){n, n});
}

int main(void) {
    for (int i = 0; i < 100; ++i) (void)transient(i);
    return recorder_hooks() == 0 ? 0 : 1;
}
