/* recorder.h: the runtime that the plugin's tests link programs with. It implements the hooks,
 * maps an arena of 1 MiB at the arena's address, and has every store to it audited
 * (src/section/audit). A program that stores without an announcement ends with status 3 and names
 * the lines.
 *
 * Environment: RECORDER_DEPTH=1 runs the whole program inside of a section; without it every store
 * is a section of its own, and the arena may change between the two hooks only. HF_AUDIT=exact has
 * each instruction checked. RECORDER_COUNTS=1 prints how many hooks were called. */
#pragma once

#include <holdfast/section_hooks.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zeroed memory in the arena, aligned to 64 bytes; never freed. */
void* recorder_allocate(size_t n);

/* How often hf_section_store() was called, and for how many bytes. */
size_t recorder_hooks(void);
size_t recorder_bytes(void);

#ifdef __cplusplus
}
#endif
