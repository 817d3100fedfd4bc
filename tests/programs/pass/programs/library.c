// Strings, formatting, conversion, sorting: each wrapper is called twice, on memory of a region and
// on private memory, and must do the same to both.
#define _GNU_SOURCE
#include "pass/recorder.h"

#include <arpa/inet.h>
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

struct place {
    char text[512];
    wchar_t wide[32];
    char *end, *rest;
    long numbers[40];
    int i, j;
    double d, e;
    float f;
    unsigned char address[16];
};

static const char* volatile word = "hold";  // unknown to the optimiser
static volatile size_t three = 3;

__attribute__((noinline)) static void copies(struct place* p) {
    strcpy(p->text, word);
    strcat(p->text, word);
    strncat(p->text, word, three);
    assert(stpcpy(p->text + 100, word) == p->text + 104);
    assert(stpncpy(p->text + 120, word, 10) == p->text + 124);
    strncpy(p->text + 140, word, three);
    assert(mempcpy(p->text + 160, word, three) == p->text + 163);
    assert(memccpy(p->text + 170, word, 'l', 5) == p->text + 173);
    assert(memccpy(p->text + 180, word, 'x', three) == NULL);
    memcpy(p->text + 190, word, three);
    memmove(p->text + 191, p->text + 190, three);
    memset(p->text + 200, 'm', three);
    bzero(p->text + 201, 1);
    bcopy(word, p->text + 210, three);
    explicit_bzero(p->text + 211, 1);
    swab(word, p->text + 220, 4);
    p->i = (int)strxfrm(p->text + 230, word, 20);
    wcscpy(p->wide, L"fast");
    wcscat(p->wide, L"er");
    wcsncpy(p->wide + 8, L"ab", 4);
    wmemcpy(p->wide + 12, p->wide, three);
    wmemmove(p->wide + 13, p->wide + 12, three);
    wmemset(p->wide + 20, L'x', three);
    p->j = (int)mbstowcs(p->wide + 24, word, 8);
    p->i += (int)wcstombs(p->text + 260, p->wide, 8);
}

__attribute__((noinline)) static void tokens(struct place* p) {
    strcpy(p->text, "a,bc;;d");
    for (char* t = strtok(p->text, ",;"); t; t = strtok(NULL, ",;")) p->i += (int)strlen(t);
    strcpy(p->text + 50, "x y");
    for (char* t = strtok_r(p->text + 50, " ", &p->rest); t; t = strtok_r(NULL, " ", &p->rest)) {
        p->j += t[0];
    }
    p->rest = NULL;
    strcpy(p->text + 80, "k=v=");
    p->end = p->text + 80;
    while (p->end) p->j = p->j * 3 + (int)strlen(strsep(&p->end, "="));
    char* outside = p->text + 80;
    outside[1] = ':';
    assert(strsep(&outside, ":") == p->text + 80 && outside == p->text + 82);
    strcpy(p->text + 90, "u v");
    (void)strtok_r(p->text + 90, "x", &outside);
    outside = p->text + 90;
    assert(strtok_r(NULL, " ", &outside) == p->text + 90 && p->text[91] == 0);
    assert(strcmp(p->text, "a") == 0 && strcmp(p->text + 50, "x") == 0);
}

__attribute__((noinline, format(printf, 2, 3))) static void vary(char* to, const char* format,
                                                                 ...) {
    va_list arguments;
    va_start(arguments, format);
    assert(vsprintf(to, format, arguments) == 7);
    va_end(arguments);
    va_start(arguments, format);
    assert(vsnprintf(to + 20, 4, format, arguments) == 7);
    va_end(arguments);
}

__attribute__((noinline)) static void formats(struct place* p, char* large) {
    assert(sprintf(p->text, "%s %d", word, 42) == 7);
    assert(snprintf(p->text + 30, 6, "%s%s", word, word) == 8);
    assert(strcmp(p->text + 30, "holdh") == 0);
    vary(p->text + 60, "%d-%s", 12, word);
    assert(snprintf(large, 6000, "%5000d", 7) == 5000 && large[4999] == '7');
    assert(asprintf(&p->rest, "%s", word) == 4);
    free(p->rest);
    p->rest = NULL;
    p->i = snprintf(p->text + 90, 0, "nothing");
}

__attribute__((noinline)) static void conversions(struct place* p) {
    const char* const text = "12 rest";
    p->numbers[0] = strtol(text, &p->end, 10);
    p->i = (int)(p->end - text);
    p->numbers[1] = (long)strtoul("ff", &p->end, 16);
    p->numbers[2] = (long)strtoll(text, &p->end, 8);
    p->numbers[3] = (long)strtoull(text, NULL, 10);
    p->numbers[4] = strtoimax(text, &p->end, 10) + (long)strtoumax(text, &p->end, 10);
    p->d = strtod("1.5x", &p->end) + strtof("2.5", &p->end) + (double)strtold("1", &p->end);
    p->end = NULL;
    p->d += frexp(48.0 * (double)three, &p->j);
    p->d += modf(3.25 * (double)three, &p->e);
    p->d += modff(1.5f * (float)three, &p->f);
    sincos((double)three, &p->d, &p->e);
    assert(inet_pton(AF_INET, "10.2.3.4", p->address) == 1);
    assert(inet_pton(AF_INET6, "::1", p->address) == 1);
    assert(inet_ntop(AF_INET6, p->address, p->text, 100) == p->text);
    struct in_addr* v4 = (struct in_addr*)p->address;
    assert(inet_aton("1.2.3.4", v4) == 1 && p->address[1] == 2);
}

__attribute__((noinline)) static void scans(struct place* p) {
    const int got = sscanf("17 x 2.5 word tail z9", "%d x %lf %4s %*s %c%hhx", &p->i, &p->d,
                           p->text, p->text + 20, (unsigned char*)p->text + 30);
    assert(got == 5 && p->i == 17 && p->d == 2.5 && strcmp(p->text, "word") == 0);
    assert(p->text[20] == 'z' && p->text[30] == 9);
    assert(sscanf("ab]12", "%[]ab]%ld%n", p->text + 40, &p->numbers[5], &p->j) == 2);
    assert(strcmp(p->text + 40, "ab]") == 0 && p->numbers[5] == 12 && p->j == 5);
    assert(sscanf("none", "%d %s", &p->i, p->text + 60) == 0 && p->text[60] == 0);
}

static int compare(const void* a, const void* b) {
    return (int)(*(const long*)a - *(const long*)b);
}

static int compare_in(const void* a, const void* b, void* sign) {
    return *(int*)sign * compare(a, b);
}

__attribute__((noinline)) static void sorts(struct place* p) {
    for (int i = 0; i < 40; ++i) p->numbers[i] = i * 17 % 40;
    qsort(p->numbers, 40, sizeof(long), compare);
    for (int i = 0; i < 40; ++i) assert(p->numbers[i] == i);
    int sign = -1;
    qsort_r(p->numbers, 20, sizeof(long), compare_in, &sign);
    assert(p->numbers[0] == 19 && p->numbers[19] == 0 && p->numbers[20] == 20);
    char* (*volatile errors)(int, char*, size_t) = strerror_r;
    assert(errors(2, p->text, 100)[0] == 'N');
    assert(errors(9999, p->text, 100) == p->text && strstr(p->text, "9999"));
    unsigned seed = 5;
    p->i = rand_r(&seed);
}

int main(void) {
    struct place* there = recorder_allocate(sizeof *there);
    struct place* here = calloc(1, sizeof *here);
    char* large_there = recorder_allocate(6000);
    char* large_here = malloc(6000);
    void (*const all[])(struct place*) = {copies, tokens, conversions, scans, sorts};
    for (int i = 0; i < 5; ++i) {
        const size_t before = recorder_hooks();
        all[i](there);
        assert(recorder_hooks() > before);
        all[i](here);
        here->end = there->end = NULL;
        here->rest = there->rest = NULL;
        assert(memcmp(there, here, sizeof *here) == 0);
    }
    formats(there, large_there);
    formats(here, large_here);
    assert(memcmp(there, here, sizeof *here) == 0);
    assert(memcmp(large_there, large_here, 5001) == 0);
}
