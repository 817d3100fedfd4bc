/* holdfast/section.h: failure-atomic sections for programs with locks.
 *
 * Purpose. A program keeps its long-lived data in persistent regions and changes them under
 * ordinary locks. After a crash the regions come back as they were at some moment at which no
 * thread held a lock (a cut), with all of every outermost critical section before it and nothing of
 * any after it.
 *
 *     hf_group_open("data.hf", NULL);                      first of all, before other threads
 *     hf_region* r = hf_region_open("bank");               finds or creates
 *     struct bank* b = hf_root_get(r, "bank");
 *     if (b == NULL) {                                     first start
 *         hf_section_begin();
 *         b = hf_zeroed(r, 1, sizeof *b);
 *         hf_root_set(r, "bank", b);
 *         hf_section_end();
 *     }
 *     pthread_mutex_lock(&m);  b->total += 1;  pthread_mutex_unlock(&m);
 *     hf_wait_stable();                                    no crash undoes it from here on
 *     hf_group_close();
 *
 * Regions. A region is a name, its roots and its memory. All regions that a process has open form
 * one group, which is one file: so one cut covers them all, and a section that changes two regions
 * is atomic as a whole. A region keeps its address for ever; pointers in it are ordinary pointers.
 *
 * How stores are found. `tracked` (the default): by pages; nothing is compiled in another way,
 * memory is private and a redo journal beside the file makes each cut durable, on any file system.
 * `announced`: the program makes the calls of section_hooks.h, by the compiler plugin or by hand;
 * then stores go in place on persistent memory and on tmpfs, and an undo log is kept.
 *
 * Errors. Functions that return int return 0, or the number of a class of errors
 * (holdfast/result.hpp); those that return a pointer return NULL. hf_section_error() then has the
 * text. A use that cannot be carried on from (a thread outside of all sections that ends one, a
 * lock destroyed while it is held, a full undo log) ends the process with a message: the data goes
 * back to the last cut.
 *
 * docs/sections.md lists the duties of a program, and every kind of lock.
 *
 * Literature. Chakrabarti and Boehm, "Durability Semantics for Lock-based Multithreaded Programs",
 * HotPar 2013, section 2. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------- the group */

enum hf_stores {
    HF_STORES_TRACKED = 0,  /* found by pages; memory is private, a redo journal makes it durable */
    HF_STORES_ANNOUNCED = 1 /* by hf_section_store(); in place where the medium is memory */
};

/* How sections are kept atomic. `epoch` (the default): the moments at which no thread is inside a
 * section are the cuts; a crash goes back to the newest one. `graph`: each section is logged with
 * what it depends on (paper, sections 2.2 to 2.7); a crash undoes the sections that had not ended
 * and those that depend on them. It needs announced stores, and a file on persistent memory or
 * tmpfs. The environment variable HOLDFAST_SECTION_MODE (epoch, graph) decides instead, if it is
 * set. A file that was not closed in order opens in the mode of its last session only. */
enum hf_mode { HF_MODE_EPOCH = 0, HF_MODE_GRAPH = 1 };

/* All zero bytes are the defaults. */
struct hf_group_options {
    enum hf_stores stores;
    uint64_t bytes;       /* of a new file; 0: 64 MiB. It grows when more is allocated */
    uint64_t max_bytes;   /* 0: the whole window of 1 TiB */
    uint32_t period_us;   /* from one cut to the next; 0: 10 ms in place, else 500 ms;
                             graph: from one look at the logs to the next; 0: 1 ms */
    uint32_t patience_us; /* of the first attempt to cut; 0: .5 ms. It doubles after 3 failures;
                             graph: a section waits for room in its log; 0: 10 s. Then the process
                             ends with a message */
    const char* program;  /* up to 63 bytes: another program's file is refused. NULL: not asked */
    int keep_unreachable; /* nonzero: open does not reclaim what no root reaches */
    int flush;            /* nonzero: lines are written back on tmpfs, too (measurements) */
    int by_hand;          /* nonzero: no thread cuts; only hf_section_cut() does (tests) */
    int private_image;    /* nonzero: announced stores go to private memory, and each cut to a redo
                             journal, on persistent memory and tmpfs, too: no fence is on the
                             program's path. The pages stored to stay in memory until the group is
                             closed. Not in graph mode */
    enum hf_mode mode;
    uint64_t log_bytes; /* graph: of each thread's log; 0: 4 MiB. A section may use half of it: an
                             entry of 32 bytes for each word of 8 bytes that it stores to */
    int log_all_stores; /* graph, nonzero: log stores outside of sections even where none of what
                             they depend on can be undone (paper, section 2.7.2) */
    int no_flush_for_figures; /* nonzero: never write lines back. Measurements only: a power cut may
                                 then leave anything */
    int hold_output;     /* nonzero: the program's own writes to clients are held until they are
                            stable (below). HOLDFAST_SECTION_HOLD_OUTPUT=1 (or 0) decides instead,
                            if it is set */
    uint64_t hold_bytes; /* of output that waits; 0: 16 MiB */
};

/* Opens the group in the file `path`, or creates it. After a crash it is as it was at the last
 * durable cut. Call it before threads exist that use the data, and outside of all locks. One group
 * at a time. */
int hf_group_open(const char* path, const struct hf_group_options* options);
/* Makes a last cut and closes the file. No other thread may be inside a section or enter one; the
 * memory is unmapped. A program that exits without it makes a last cut at exit. */
int hf_group_close(void);
/* Whether this open created the file; whether the file had not been closed in order. */
int hf_group_created(void);
int hf_group_recovered(void);

/* ------------------------------------------------------------------------------------ regions */

/* Lies in the group itself: a pointer to it may be kept there. */
typedef struct hf_region hf_region;

/* Finds the region, or creates it. Names have 1 to 47 bytes; a group has up to 64 regions. */
hf_region* hf_region_open(const char* name);
/* NULL without an error text: there is no region of this name. */
hf_region* hf_region_find(const char* name);
/* Frees all that the region has, and its name. */
int hf_region_remove(hf_region* r);
const char* hf_region_name(const hf_region* r);

/* Roots: up to 32 a region, names of 1 to 23 bytes. NULL: none of this name. Setting a root to NULL
 * removes it. */
void* hf_root_get(const hf_region* r, const char* name);
int hf_root_set(hf_region* r, const char* name, void* p);

/* ------------------------------------------------------------------------------------- memory */

/* As malloc, calloc, realloc, free, malloc_usable_size and aligned_alloc; aligned to 16 bytes. Each
 * call is a section, or a part of the caller's. NULL: no space; hf_section_error() says why. */
void* hf_alloc(hf_region* r, size_t bytes);
void* hf_zeroed(hf_region* r, size_t count, size_t bytes);
void* hf_realloc(hf_region* r, void* p, size_t bytes);
void* hf_aligned(hf_region* r, size_t alignment, size_t bytes); /* a power of two up to 64 KiB */
void hf_free(void* p);
size_t hf_usable_size(const void* p);

/* ----------------------------------------------------------------------------------- sections */

/* A section without a lock. They nest, with each other and with locks. */
void hf_section_begin(void);
void hf_section_end(void);
/* How deeply the calling thread is inside; 0: outside. */
int hf_section_depth(void);

/* The lock makes no section: for one that is held for very long, or for ever. Call it while the
 * lock is free. At most 64 locks; else 8 (no space). */
int hf_not_a_consistency_lock(const void* lock);

/* Waits until all sections that this thread has ended are durable. Inside a section: an error. */
int hf_wait_stable(void);
/* The cut that will contain what is stored now, and the newest durable one. Graph: numbers of the
 * calling thread's own sections. */
uint64_t hf_section_ticket(void);
uint64_t hf_section_durable(void);
/* Tries to cut now, with the time limit of the options. 0: it is cut, though perhaps not durable
 * yet. Graph: 0: every section that has ended is kept. */
int hf_section_cut(void);

/* ------------------------------------------------------------------------------------- output */

/* Writes to the descriptor once no crash can undo what the calling thread has done so far, the
 * section that it is in included. The bytes are copied and the call returns at once, with n as
 * write() does; they wait, in the order of the calls for each descriptor, and a thread of the
 * runtime writes them. Closing the descriptor meanwhile loses none. A file's position moves when
 * they are written. Without an open group the call is write().
 *
 * When hold_bytes wait, a call outside of sections waits for room, for 10 s at most. -1, errno and
 * hf_section_error(): ENOBUFS: no room, after 10 s or inside a section (whose output can be written
 * only after its end); EAGAIN: no room, and the descriptor does not block; EMSGSIZE: a datagram
 * larger than hold_bytes; else the error with which an earlier call's bytes could not be written,
 * all that waited on the descriptor having been dropped. */
ssize_t hf_output_write(int fd, const void* bytes, size_t n);
ssize_t hf_output_writev(int fd, const struct iovec* parts, int count);
/* Waits until all that is held has been written: hf_wait_stable() first, then the descriptors.
 * Busy: after 10 s a peer does not read, or other threads' sections are not stable. */
int hf_output_flush(void);

/* ---------------------------------------------------------------------------------- diagnosis */

struct hf_section_numbers {
    uint64_t cuts;          /* that succeeded */
    uint64_t failed;        /* attempts that ran out of time */
    uint64_t disk_busy;     /* attempts put off: the disk was still writing the cuts before */
    uint64_t longest_ns;    /* between two cuts, while sections run */
    uint64_t last_pause_ns; /* gate closed, of the newest attempt */
    uint64_t longest_pause_ns;
    uint64_t stalled_ns;      /* gate closed, all attempts together */
    uint64_t lines;           /* of 64 bytes that were touched first in an epoch (announced) */
    uint64_t log_bytes;       /* of undo entries */
    uint64_t sections;        /* outermost ones */
    uint64_t allocated_bytes; /* in blocks, all regions */
    uint64_t reclaimed_bytes; /* by the last open: no root reached them */
    uint64_t undone_lines;    /* by the last open */
    const void* in_the_way;   /* where the section began that the last failed attempt waited for */
    uint64_t in_the_way_ns;   /* for how long it had been running then; 0: unknown */
    uint64_t entries;         /* graph: in the logs, all that were ever written */
    uint64_t kept;            /* graph: sections that no crash can undo any more */
    uint64_t undone_sections; /* graph: by the last open */
    uint64_t unlogged_stores; /* graph: outside of sections, with no entry */
    uint64_t log_waits;       /* graph: for room in a log */
    uint64_t pause_p50_ns;    /* half of all attempts closed the gate for no longer than this */
    uint64_t pause_p99_ns;    /* 99 of 100 attempts */
};
void hf_section_numbers_get(struct hf_section_numbers* into);
/* Clears the longest time, the longest pause and the quantiles of pauses: for a monitor that reads
 * them from time to time. */
void hf_section_numbers_restart(void);
/* The same as text, with the source of the section in the way where symbols tell it. Returns the
 * length; at most `size` bytes are written, the last of them zero. */
size_t hf_section_report(char* text, size_t size);

/* The error text of this thread's last function that failed; "" before. Valid until the next one
 * fails. */
const char* hf_section_error(void);

#ifdef __cplusplus
}
#endif
