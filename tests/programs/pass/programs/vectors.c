// Vector stores: vector types, and loops that the compiler vectorises.
#include "pass/recorder.h"

#include <assert.h>

typedef int v4 __attribute__((vector_size(16)));
typedef double d8 __attribute__((vector_size(64), aligned(8)));
typedef short v3 __attribute__((vector_size(8)));

__attribute__((noinline)) static void fill(int* p, int n, int from) {
    for (int i = 0; i < n; ++i) p[i] = from + 3 * i;
}

__attribute__((noinline)) static void add(double* to, const double* a, const double* b, int n) {
    for (int i = 0; i < n; ++i) to[i] = a[i] + b[i];
}

__attribute__((noinline)) static void positive(int* to, const int* from, int n) {
    for (int i = 0; i < n; ++i) {
        if (from[i] > 0) to[i] = from[i];
    }
}

__attribute__((noinline)) static void spread(int* to, const int* at, int n) {
    for (int i = 0; i < n; ++i) to[at[i]] = i;
}

__attribute__((noinline)) static void strided(long* to, int n) {
    for (int i = 0; i < n; ++i) to[3 * i] = i;
}

int main(void) {
    int* a = recorder_allocate(101 * sizeof *a);
    fill(a, 101, -7);
    for (int i = 0; i < 101; ++i) assert(a[i] == -7 + 3 * i);
    int* b = recorder_allocate(101 * sizeof *b);
    positive(b, a, 101);
    for (int i = 0; i < 101; ++i) assert(b[i] == (a[i] > 0 ? a[i] : 0));
    int order[64];
    for (int i = 0; i < 64; ++i) order[i] = i * 37 % 64;
    spread(b, order, 64);
    for (int i = 0; i < 64; ++i) assert(b[order[i]] == i);
    double* d = recorder_allocate(3 * 40 * sizeof *d);
    for (int i = 0; i < 80; ++i) d[i] = i;
    add(d + 80, d, d + 40, 40);
    for (int i = 0; i < 40; ++i) assert(d[80 + i] == i + 40 + i);
    long* s = recorder_allocate(90 * sizeof *s);
    strided(s, 30);
    for (int i = 0; i < 90; ++i) assert(s[i] == (i % 3 == 0 ? i / 3 : 0));
    *(v4*)a = (v4){1, 2, 3, 4};
    *(d8*)(d + 1) = (d8){1, 2, 3, 4, 5, 6, 7, 8};
    *(v3*)b = (v3){9, 8, 7, 6};
    ((v4*)a)[1][2] = 5;
    assert(a[2] == 3 && a[6] == 5 && d[8] == 8 && ((short*)b)[3] == 6);
}
