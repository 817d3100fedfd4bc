// A store before its own announcement, made by hand: the audit finds it although the bytes are
// announced in the end.
// flags: --hf-skip=main -g
#include "pass/recorder.h"

int main(void) {
    int* p = recorder_allocate(64);
    *p = 1;
    if (hf_section_store(p, sizeof *p)) hf_section_stored();
}
