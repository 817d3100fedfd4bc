// A function that is declared as an allocator may allocate in a region.
#include "pass/recorder.h"

#include <assert.h>

__attribute__((malloc, noinline)) static int* allocate(void) { return recorder_allocate(64); }

int main(void) {
    volatile int* p = allocate();
    p[3] = 4;
    assert(p[3] == 4 && recorder_hooks() == 1);
}
