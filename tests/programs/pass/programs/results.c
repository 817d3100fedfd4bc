// Results of fixed size by pointers into a region.
#define _GNU_SOURCE
#include "pass/recorder.h"

#include <assert.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

struct place {
    time_t now;
    struct timeval tv;
    struct timespec ts;
    struct tm broken;
    char text[64];
    struct stat status;
    struct utsname system;
    struct rlimit limit;
    struct rusage usage;
    int ends[2];
    struct pollfd poll;
    struct epoll_event event;
    fd_set set;
    void* block;
    pthread_t thread;
    struct addrinfo* found;
    unsigned seed;
};

static void times(struct place* p) {
    assert(time(&p->now) > 1000000 && p->now > 1000000);
    assert(gettimeofday(&p->tv, NULL) == 0 && p->tv.tv_sec >= p->now);
    assert(clock_gettime(CLOCK_REALTIME, &p->ts) == 0 && p->ts.tv_sec >= p->now);
    assert(clock_getres(CLOCK_REALTIME, &p->ts) == 0 && p->ts.tv_sec == 0);
    const struct timespec wanted = {0, 1};
    assert(nanosleep(&wanted, &p->ts) == 0);
    const time_t when = 86400 * 365;
    assert(gmtime_r(&when, &p->broken) == &p->broken && p->broken.tm_year == 71);
    assert(timegm(&p->broken) == when);
    p->broken.tm_mday += 40;
    (void)mktime(&p->broken);
    assert(p->broken.tm_mon == 1 && p->broken.tm_mday == 10);
    assert(asctime_r(&p->broken, p->text) == p->text && strlen(p->text) == 25);
    assert(ctime_r(&when, p->text) == p->text);
    assert(strftime(p->text, 20, "%Y", &p->broken) == 4 && strcmp(p->text, "1971") == 0);
    assert(localtime_r(&when, &p->broken) == &p->broken);
}

static void files(struct place* p) {
    assert(stat("/", &p->status) == 0 && S_ISDIR(p->status.st_mode));
    assert(lstat("/proc/self", &p->status) == 0 && S_ISLNK(p->status.st_mode));
    assert(fstat(0, &p->status) == 0);
    assert(fstatat(AT_FDCWD, "/usr", &p->status, 0) == 0 && S_ISDIR(p->status.st_mode));
    assert(uname(&p->system) == 0 && p->system.sysname[0] == 'L');
    assert(getrlimit(RLIMIT_NOFILE, &p->limit) == 0 && p->limit.rlim_cur > 0);
    assert(getrusage(RUSAGE_SELF, &p->usage) == 0 && p->usage.ru_maxrss > 0);
}

static void waits(struct place* p) {
    assert(pipe2(p->ends, O_CLOEXEC) == 0);
    assert(write(p->ends[1], "x", 1) == 1);
    p->poll = (struct pollfd){.fd = p->ends[0], .events = POLLIN};
    assert(poll(&p->poll, 1, 1000) == 1 && p->poll.revents == POLLIN);
    FD_ZERO(&p->set);
    FD_SET(p->ends[0], &p->set);
    p->tv = (struct timeval){1, 0};
    assert(select(p->ends[0] + 1, &p->set, NULL, NULL, &p->tv) == 1);
    const int set = epoll_create1(0);
    struct epoll_event wanted = {.events = EPOLLIN, .data.u64 = 99};
    assert(epoll_ctl(set, EPOLL_CTL_ADD, p->ends[0], &wanted) == 0);
    assert(epoll_wait(set, &p->event, 1, 1000) == 1 && p->event.data.u64 == 99);
    close(set);
    close(p->ends[0]);
    close(p->ends[1]);
}

static void* nothing(void* argument) { return argument; }

static void others(struct place* p) {
    assert(posix_memalign(&p->block, 64, 100) == 0 && p->block != NULL);
    free(p->block);
    assert(pthread_create(&p->thread, NULL, nothing, p) == 0);
    void* result = NULL;
    assert(pthread_join(p->thread, &result) == 0 && result == p);
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST};
    assert(getaddrinfo("127.0.0.1", NULL, &hints, &p->found) == 0 && p->found != NULL);
    freeaddrinfo(p->found);
    p->seed = 1;
    (void)rand_r(&p->seed);
    assert(p->seed != 1);
}

int main(void) {
    struct place* there = recorder_allocate(sizeof *there);
    struct place* here = calloc(1, sizeof *here);
    void (*const all[])(struct place*) = {times, files, waits, others};
    for (int i = 0; i < 4; ++i) {
        const size_t before = recorder_hooks();
        all[i](there);
        assert(recorder_hooks() > before + 3);
        all[i](here);
    }
}
