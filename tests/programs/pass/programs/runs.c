// Neighbouring stores, which may be announced together, with loads and aliases in between.
#include "pass/recorder.h"

#include <assert.h>

struct node {
    struct node* next;
    struct node* previous;
    long a, b, c, d;
    char far[400];
    long e;
};

__attribute__((noinline)) static void link(struct node* n, struct node* head) {
    n->next = head->next;
    n->previous = head;
    head->next->previous = n;
    head->next = n;
}

__attribute__((noinline)) static long fill(struct node* n, const struct node* from) {
    n->a = from->a + 1;  // `from` may be n itself: the loads must see the stores before them
    n->b = from->a + 2;
    n->c = from->b + from->a;
    n->d = 4;
    n->e = from->d;
    n->a = from->c;  // twice in one run
    return n->a;
}

__attribute__((noinline)) static void backwards(long* p) {
    p[3] = 3;
    p[1] = 1;
    p[2] = 2;
    p[0] = 0;
    p[-1] = -1;
}

__attribute__((noinline)) static void overlapping(char* p) {
    *(volatile int*)p = 0x01010101;
    __builtin_memcpy(p + 2, "abcd", 4);
    __builtin_memset(p + 1, 'x', 2);
    p[4] = 'y';
}

int main(void) {
    struct node* n = recorder_allocate(3 * sizeof *n);
    n[0].next = n[0].previous = &n[0];
    link(&n[1], &n[0]);
    link(&n[2], &n[0]);
    link(&n[0], &n[0]);  // nonsense, but the same nonsense as without the plugin
    assert(n[0].next == &n[0] && n[2].next == &n[1]);
    n[0].a = 10;
    assert(fill(&n[0], &n[0]) == 24 && n[0].b == 13 && n[0].e == 4);
    n[1].a = 1;
    n[1].b = 2;
    n[1].c = 3;
    n[1].d = 4;
    assert(fill(&n[2], &n[1]) == 3 && n[2].b == 3 && n[2].c == 3 && n[2].e == 4);
    long* p = recorder_allocate(64);
    backwards(p + 1);
    assert(p[0] == -1 && p[1] == 0 && p[4] == 3);
    char* c = recorder_allocate(64);
    overlapping(c);
    assert(c[0] == 1 && c[1] == 'x' && c[2] == 'x' && c[3] == 'b' && c[4] == 'y' && c[5] == 'd');
}
