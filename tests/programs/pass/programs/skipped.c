// A store that is not announced, for the audit: `sneak` is compiled with --hf-skip=sneak.
// flags: --hf-skip=sneak -g -fno-inline
#include "pass/recorder.h"

__attribute__((noinline)) void sneak(int* p) { *p = 1; /* the culprit */ }

int main(void) {
    int* p = recorder_allocate(128);
    p[0] = 1; /* hook before */
    sneak(p + 8);
    p[1] = 2; /* hook after */
}
