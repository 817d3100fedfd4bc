// Inline assembly says by its memory outputs what it writes.
#include "pass/recorder.h"

#include <assert.h>

__attribute__((noinline)) static void store(int* p, int value) {
    __asm__("movl %1, %0" : "=m"(*p) : "r"(value));
}

__attribute__((noinline)) static void add(long* p, long value) {
    __asm__("addq %1, %0" : "+m"(*p) : "r"(value) : "cc");
}

int main(void) {
    int* a = recorder_allocate(sizeof *a);
    long* b = recorder_allocate(sizeof *b);
    store(a, 5);
    add(b, 6);
    add(b, 7);
    assert(*a == 5 && *b == 13 && recorder_hooks() == 3);
}
