/* holdfast/section_hooks.h: calls that compiled code makes around its stores to persistent memory.
 *
 * Purpose. The compiler plugin (pass/) surrounds each store that may go to a region of
 * failure-atomic sections with the calls below; C programs that are compiled without the plugin may
 * make them by hand. No other program includes this file. C99 and C++; it needs no other header.
 *
 *     if (hf_is_persistent(p)) {
 *         int alone = hf_section_store(p, sizeof *p);
 *         *p = value;
 *         if (alone) hf_section_stored();
 *     }
 *
 * Why two calls. Inside a section the thread is inside the gate already, and the call before the
 * store is enough. Outside of all sections the store is a section of its own: hf_section_store()
 * enters the gate and returns nonzero, and hf_section_stored() leaves it after the store. A cut can
 * therefore never fall between the announcement of a store and the store.
 *
 * Both calls leave errno as it was: the program has no call there that might change it.
 * A range may span any number of lines. Between the two calls the thread must not block, take a
 * lock, or call back into the runtime.
 *
 * Literature. Chakrabarti and Boehm, "Durability Semantics for Lock-based Multithreaded Programs",
 * HotPar 2013, section 2.7. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Regions of sections lie in one range of addresses, 2^44 bytes long and aligned to its length. Its
 * number, which is the address shifted right by 44, is this constant in ordinary programs. */
#define HF_SECTION_ARENA_SHIFT 44
#define HF_SECTION_ARENA_NUMBER 2

/* Declares a member of a structure whose value after a crash does not matter, because the program
 * sets it again when it starts: a reference count of connections, a mark of a thread. The plugin
 * announces no store to it, so that reading an object that counts its readers needs no undo:
 *
 *     struct item { struct item* next; HF_TRANSIENT unsigned short readers; };
 *
 * After a crash it may hold any value that it had since the last cut or before. */
#define HF_TRANSIENT_ANNOTATION "hf_transient"
#ifdef __clang__
#define HF_TRANSIENT __attribute__((annotate(HF_TRANSIENT_ANNOTATION)))
#else
#define HF_TRANSIENT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The same number for programs whose address space is used otherwise (ThreadSanitizer, Valgrind):
 * with -mllvm -hf-arena=dynamic the plugin reads it instead of the constant. It does not change
 * after the first region was opened. */
extern uintptr_t hf_section_arena_number;

/* Whether p may point into a region of sections. */
static inline int hf_is_persistent(const void* p) {
    return ((uintptr_t)p >> HF_SECTION_ARENA_SHIFT) == HF_SECTION_ARENA_NUMBER;
}

/* Announces a store to [p, p + n), which lies in the arena. Call it before the store. A nonzero
 * result means that the thread is outside of all sections: call hf_section_stored() after the
 * store, and do nothing that waits in between. */
int hf_section_store(const void* p, size_t n);

/* Ends what a nonzero result of hf_section_store() began. */
void hf_section_stored(void);

#ifdef __cplusplus
}
#endif
