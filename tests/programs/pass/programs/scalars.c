// Stores of every scalar width and type, bit fields, structures by value, volatile stores.
#include "pass/recorder.h"

#include <assert.h>
#include <complex.h>
#include <stdbool.h>
#include <string.h>

struct inner {
    int x;
    char tail[3];
};

struct all {
    char c;
    short s;
    int i;
    long l;
    __int128 wide;
    float f;
    double d;
    long double ld;
    double complex z;
    void* p;
    bool b;
    unsigned bits : 5;
    unsigned more_bits : 11;
    struct inner in;
    struct inner array[4];
    volatile int v;
    void (*function)(void);
};

static void nothing(void) {}

static struct inner make(int x) { return (struct inner){x, {1, 2, 3}}; }

__attribute__((noinline)) static void store_all(struct all* a, int n) {
    a->c = (char)n;
    a->s = (short)n;
    a->i = n;
    a->l = n * 3L;
    a->wide = (__int128)n << 70;
    a->f = (float)n;
    a->d = n;
    a->ld = n;
    a->z = n + 2.0 * I;
    a->p = a;
    a->b = n > 0;
    a->bits = (unsigned)n & 31;
    a->more_bits = (unsigned)n & 2047;
    a->in = make(n);
    a->array[n & 3] = a->in;
    a->v = n;
    a->v += 1;
    a->function = nothing;
    a->i++;
    a->l ^= 5;
}

__attribute__((noinline)) static struct all copy_of(const struct all* a) { return *a; }

int main(void) {
    struct all* one = recorder_allocate(sizeof *one);
    struct all* two = recorder_allocate(sizeof *two);
    store_all(one, 7);
    *two = copy_of(one);
    assert(two->c == 7 && two->s == 7 && two->i == 8 && two->l == (21 ^ 5));
    assert(two->wide == (__int128)7 << 70 && two->f == 7 && two->d == 7 && two->ld == 7);
    assert(creal(two->z) == 7 && two->p == one && two->b && two->bits == 7 && two->more_bits == 7);
    assert(two->in.x == 7 && two->array[3].tail[2] == 3 && two->v == 8);
    assert(two->function == nothing);
    struct all local;
    memset(&local, 0, sizeof local);
    store_all(&local, 7);  // the same code, on the stack
    assert(local.i == 8);
    assert(recorder_hooks() > 5);
}
