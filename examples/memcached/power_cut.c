/* power_cut.c: what a power cut would take from a program's files, for a program that is killed.
 *
 * A kill takes nothing that the kernel has. A power cut also takes what was written and not synced.
 * This library, loaded first (LD_PRELOAD), keeps the old bytes of each write until a sync of the
 * file has returned; power_cut.py puts them back after the kill.
 *
 *   POWER_CUT_FILE   this file and its journal, FILE.journal, are watched
 *   POWER_CUT_LOG    a directory for the old bytes; it should lie in memory
 *   POWER_CUT_SYNC   microseconds that each sync takes longer, as on a slow disk: so that a kill
 *                    finds something that is not synced
 *
 * Each watched file has two logs, LOG/0.0 and LOG/0.1, and LOG/1.0 and LOG/1.1 of the journal. A
 * sync makes durable what was written before it began, so writes during a sync go to the other log,
 * and the log before is emptied when the sync has succeeded. A log is a sequence of records: kind,
 * offset, length, bytes that follow. It begins with its generation; the higher is the later one.
 *
 * Writes by pwrite and pwritev, and changes of length, are watched: all that Holdfast's journal
 * does. Stores to shared mappings are not; a region on a disk has none. A file that is created
 * without a name is watched once it has its name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { watched_files = 2 };
enum kind { kind_generation = 0, kind_bytes = 1, kind_length = 2 };

struct record {
    uint64_t kind, offset, length, kept; /* `kept` old bytes follow; the rest lay past the end */
};

struct watched {
    int log[2];          /* 0: not opened yet */
    int now;             /* the log of writes that begin now */
    uint64_t generation; /* of that log */
    atomic_flag syncing; /* taken before `lock` */
};

/* Spinning: locks of pthread.h would be sections of the program's runtime. */
static atomic_flag lock = ATOMIC_FLAG_INIT;
static struct watched files[watched_files] = {{.syncing = ATOMIC_FLAG_INIT},
                                              {.syncing = ATOMIC_FLAG_INIT}};

static void* next(const char* name) {
    void* const p = dlsym(RTLD_NEXT, name);
    if (p == NULL) abort();
    return p;
}
#define REAL(name) ((__typeof__(&name))next(#name))

static void take(atomic_flag* f) {
    while (atomic_flag_test_and_set_explicit(f, memory_order_acquire)) usleep(10);
}
static void give(atomic_flag* f) { atomic_flag_clear_explicit(f, memory_order_release); }

static void give_up(const char* what) {
    fprintf(stderr, "power_cut: %s: %s\n", what, strerror(errno));
    _exit(70);
}

static int open_log(long file, int log) {
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s/%ld.%d", getenv("POWER_CUT_LOG"), file, log);
    const int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
    if (fd < 0) give_up(name);
    return fd;
}

/* The watched file that fd is, or NULL. */
static struct watched* find(int fd) {
    const char* const path = getenv("POWER_CUT_FILE");
    struct stat open, named;
    const int kept = errno;
    struct watched* w = NULL;
    if (path != NULL && fstat(fd, &open) == 0 && S_ISREG(open.st_mode)) {
        char journal[PATH_MAX];
        snprintf(journal, sizeof journal, "%s.journal", path);
        const char* const names[watched_files] = {path, journal};
        for (int i = 0; i < watched_files && w == NULL; ++i) {
            if (stat(names[i], &named) != 0 || named.st_ino != open.st_ino ||
                named.st_dev != open.st_dev) {
                continue;
            }
            w = &files[i];
        }
    }
    if (w != NULL) {
        take(&lock);
        for (int i = 0; i < 2 && w->log[1] == 0; ++i) w->log[i] = open_log(w - files, i);
        give(&lock);
    }
    errno = kept;
    return w;
}

static void append(const struct watched* w, const struct record* r, const void* bytes) {
    struct iovec v[2] = {{(void*)r, sizeof *r}, {(void*)bytes, r->kept}};
    if (writev(w->log[w->now], v, 2) != (ssize_t)(sizeof *r + r->kept)) give_up("write to a log");
}

/* Keeps what a write of `length` bytes at `offset` will replace. `lock` is held. */
static void keep_bytes(const struct watched* w, int fd, uint64_t offset, uint64_t length) {
    char* const old = malloc(length == 0 ? 1 : length);
    if (old == NULL) give_up("malloc");
    const ssize_t n = pread(fd, old, length, (off_t)offset);
    if (n < 0) give_up("read the old bytes");
    const struct record r = {kind_bytes, offset, length, (uint64_t)n};
    append(w, &r, old);
    free(old);
}

static void keep_length(const struct watched* w, int fd) {
    struct stat s;
    if (fstat(fd, &s) != 0) give_up("fstat");
    const struct record r = {kind_length, (uint64_t)s.st_size, 0, 0};
    append(w, &r, NULL);
}

ssize_t pwrite(int fd, const void* p, size_t n, off_t at) {
    struct watched* const w = find(fd);
    if (w == NULL) return REAL(pwrite)(fd, p, n, at);
    take(&lock);
    keep_bytes(w, fd, (uint64_t)at, n);
    const ssize_t done = REAL(pwrite)(fd, p, n, at);
    give(&lock);
    return done;
}
ssize_t pwrite64(int fd, const void* p, size_t n, off_t at) { return pwrite(fd, p, n, at); }

ssize_t pwritev(int fd, const struct iovec* v, int count, off_t at) {
    struct watched* const w = find(fd);
    if (w == NULL) return REAL(pwritev)(fd, v, count, at);
    uint64_t length = 0;
    for (int i = 0; i < count; ++i) length += v[i].iov_len;
    take(&lock);
    keep_bytes(w, fd, (uint64_t)at, length);
    const ssize_t done = REAL(pwritev)(fd, v, count, at);
    give(&lock);
    return done;
}
ssize_t pwritev64(int fd, const struct iovec* v, int count, off_t at) {
    return pwritev(fd, v, count, at);
}

int ftruncate(int fd, off_t length) {
    struct watched* const w = find(fd);
    if (w == NULL) return REAL(ftruncate)(fd, length);
    struct stat s;
    take(&lock);
    if (fstat(fd, &s) == 0 && s.st_size > length) {
        keep_bytes(w, fd, (uint64_t)length, (uint64_t)(s.st_size - length));
    }
    keep_length(w, fd);
    const int done = REAL(ftruncate)(fd, length);
    give(&lock);
    return done;
}
int ftruncate64(int fd, off_t length) { return ftruncate(fd, length); }

int fallocate(int fd, int mode, off_t at, off_t n) {
    struct watched* const w = find(fd);
    if (w == NULL) return REAL(fallocate)(fd, mode, at, n);
    take(&lock);
    keep_length(w, fd);
    const int done = REAL(fallocate)(fd, mode, at, n);
    give(&lock);
    return done;
}
int fallocate64(int fd, int mode, off_t at, off_t n) { return fallocate(fd, mode, at, n); }

static int sync_watched(int fd, int (*real)(int)) {
    struct watched* const w = find(fd);
    if (w == NULL) return real(fd);
    take(&w->syncing);
    take(&lock);
    const int before = w->now;
    w->now = 1 - before;
    const struct record r = {kind_generation, ++w->generation, 0, 0};
    append(w, &r, NULL);
    give(&lock);
    const char* const slow = getenv("POWER_CUT_SYNC");
    if (slow != NULL) usleep((useconds_t)atol(slow));
    const int done = real(fd);
    if (done != 0) give_up("sync"); /* the two logs would have to be joined */
    if (REAL(ftruncate)(w->log[before], 0) != 0) give_up("empty a log");
    give(&w->syncing);
    return done;
}
int fsync(int fd) { return sync_watched(fd, REAL(fsync)); }
int fdatasync(int fd) { return sync_watched(fd, REAL(fdatasync)); }
