// The debugging mode of failure-atomic sections: finds stores to a region that were not announced,
// and names the source line. The run-time half of "no silent miss".
//
// A runtime of sections calls the functions below: the real one when HF_AUDIT is set, and the one
// that the plugin's tests record with. It is slow, and it costs two further copies of the region's
// memory.
//
//     hf_audit_map(base, n)            a region has been mapped; its contents are the truth
//     hf_audit_announced(p, n, pc)     a hook, called from pc, announced [p, p + n)
//     hf_audit_stored()                the store outside of all sections has happened
//     hf_audit_accept(p, n)            the runtime itself has written to these bytes
//     hf_audit_cut()                   a cut: no thread is inside a section
//
// Invariants. For each byte of a mapped range there is a shadow: its value when it was last
// accepted.
//
//   A1  A byte that differs from its shadow has been announced since the last cut. Checked by every
//       cut for all bytes, and by every announcement for the bytes announced: a store that comes
//       before its own announcement is found, too.
//   A2  Outside of all sections an announcement covers one store only: hf_audit_stored() accepts
//       the bytes and withdraws the announcement.
//
// Modes.
//   compare   A1 and A2 alone. A finding names the two hooks between which the byte changed, or the
//             cut.
//   exact     Besides, the region is write-protected. Every store faults; the handler checks that
//             its bytes are announced, lets the one instruction run, and protects the page again. A
//             finding names the instruction. A system call that writes to the region itself fails
//             with EFAULT: the wrappers of src/section/libc never let it.
//             x86-64 only. Stores of other threads to the same page during that one instruction are
//             left to A1.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum hf_audit_mode { HF_AUDIT_COMPARE, HF_AUDIT_EXACT };

/// Chooses the mode. Call it before the first hf_audit_map().
void hf_audit_start(enum hf_audit_mode mode);
void hf_audit_map(void* base, size_t n);
void hf_audit_announced(const void* p, size_t n, const void* pc);
void hf_audit_stored(void);
void hf_audit_accept(const void* p, size_t n);
/// Returns the number of findings so far.
size_t hf_audit_cut(void);
/// Writes the findings to the file descriptor, one per line with function and source line where the
/// program's debug information has them. Returns their number.
size_t hf_audit_report(int fd);
/// Stores that were announced so far.
size_t hf_audit_announcements(void);
/// Forgets all ranges, before they are unmapped. No thread stores to them meanwhile.
void hf_audit_end(void);

#ifdef __cplusplus
}
#endif
