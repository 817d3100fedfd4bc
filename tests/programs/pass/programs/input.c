// Input into a region. The recorder refuses read() between the hooks.
#define _GNU_SOURCE
#include "pass/recorder.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static void send_all(int fd, const char* text) {
    assert(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

static void pipes(char* p) {
    int* ends = (int*)p;
    assert(pipe(ends) == 0);
    const int from = ends[0];
    const int to = ends[1];
    send_all(to, "abcdefghijklmnop");
    assert(read(from, p, 3) == 3 && memcmp(p, "abc", 3) == 0);
    struct iovec* parts = (struct iovec*)(p + 256);
    parts[0] = (struct iovec){p + 10, 2};
    parts[1] = (struct iovec){p + 20, 3};
    assert(readv(from, parts, 2) == 5 && memcmp(p + 20, "fgh", 3) == 0 && p[11] == 'e');
    // The parts are described on the stack, and lie in the region all the same.
    const struct iovec outside[1] = {{p + 40, 1}};
    assert(readv(from, outside, 1) == 1 && p[40] == 'i');
    const size_t large = 20000;  // more than fits on the wrapper's stack
    assert(read(from, p + 300, large) == 7 && p[306] == 'p' && p[307] == 0);
    assert(read(-1, p, 4) == -1 && errno == EBADF);
    assert(p[0] == 'a');
    close(to);
    assert(read(from, p, 4) == 0);
    close(from);
}

static void sockets(char* p) {
    int* ends = (int*)p;
    assert(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    const int a = ends[0];
    const int b = ends[1];
    send_all(a, "one");
    assert(recv(b, p + 16, 100, 0) == 3 && memcmp(p + 16, "one", 3) == 0);
    socklen_t* length = (socklen_t*)(p + 64);
    *length = 100;
    send_all(a, "two");
    assert(recvfrom(b, p + 16, 100, 0, (struct sockaddr*)(p + 128), length) == 3 && *length == 0);
    struct iovec* parts = (struct iovec*)(p + 256);
    parts[0] = (struct iovec){p + 320, 2};
    parts[1] = (struct iovec){p + 330, 20};
    struct msghdr* message = (struct msghdr*)(p + 512);
    *message = (struct msghdr){.msg_iov = parts, .msg_iovlen = 2, .msg_flags = 77};
    send_all(a, "three");
    assert(recvmsg(b, message, 0) == 5 && p[321] == 'h' && memcmp(p + 330, "ree", 3) == 0);
    assert(message->msg_flags == 0);
    struct iovec part = {p + 360, 8};
    struct msghdr outside = {.msg_iov = &part, .msg_iovlen = 1};
    send_all(a, "four");
    assert(recvmsg(b, &outside, 0) == 4 && p[363] == 'r');
    int* value = (int*)(p + 700);
    *length = sizeof *value;
    assert(getsockopt(a, SOL_SOCKET, SO_TYPE, value, length) == 0 && *value == SOCK_STREAM);
    struct sockaddr* name = (struct sockaddr*)(p + 720);
    *length = 2;
    assert(getsockname(a, name, length) == 0 && name->sa_family == AF_UNIX);
    *length = 2;
    assert(getpeername(a, name, length) == 0);
    close(a);
    close(b);
}

static void streams(char* p) {
    FILE* file = tmpfile();
    fputs("first line\nsecond\n0123456789", file);
    rewind(file);
    assert(fgets(p, 100, file) == p && strcmp(p, "first line\n") == 0);
    assert(fgets(p, 4, file) == p && strcmp(p, "sec") == 0);
    char** line = (char**)(p + 128);
    size_t* size = (size_t*)(p + 136);
    *line = NULL;
    *size = 0;
    assert(getline(line, size, file) == 4 && strcmp(*line, "ond\n") == 0 && *size >= 5);
    assert(fread(p + 200, 4, 2, file) == 2 && memcmp(p + 200, "01234567", 8) == 0);
    assert(fread(p + 200, 4, 2, file) == 0);
    assert(fgets(p, 10, file) == NULL);
    assert(pread(fileno(file), p, 5, 6) == 5 && memcmp(p, "line\n", 5) == 0);
    struct iovec one = {p + 300, 6};
    assert(preadv(fileno(file), &one, 1, 11) == 6 && memcmp(p + 300, "second", 6) == 0);
    free(*line);
    fclose(file);
}

static void names(char* p) {
    assert(getcwd(p, 1000) == p && p[0] == '/');
    assert(realpath("/usr/../usr", p) == p && strcmp(p, "/usr") == 0);
    assert(readlink("/proc/self/exe", p, 3) == 3 && p[0] == '/');
    assert(gethostname(p, 100) == 0 && strlen(p) < 100);
    assert(getrandom(p + 100, 32, 0) == 32 && getentropy(p + 200, 16) == 0);
}

int main(void) {
    char* there = recorder_allocate(24000);
    char* here = calloc(1, 24000);
    void (*const all[])(char*) = {pipes, sockets, streams, names};
    for (int i = 0; i < 4; ++i) {
        const size_t before = recorder_hooks();
        memset(there, 0, 24000);
        all[i](there);
        assert(recorder_hooks() > before + 3);
        all[i](here);
    }
}
