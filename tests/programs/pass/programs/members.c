// Stores that only begin at the address of a member declared HF_TRANSIENT, or are computed from it:
// they may write beyond the member, so they are announced.
#include "pass/recorder.h"

#include <holdfast/section_hooks.h>

#include <assert.h>
#include <stddef.h>
#include <string.h>

struct node {
    struct node* next;
};

struct item {
    long hits;
    HF_TRANSIENT struct node node;
    HF_TRANSIENT unsigned char marks[8];
    HF_TRANSIENT unsigned short readers;
    char rest[30];
};

union either {
    HF_TRANSIENT short small;
    long large[4];
};

struct holder {
    long first;
    union {
        HF_TRANSIENT short small;
        long large[4];
    };
};

__attribute__((noinline)) static void clear_from_member(struct item* it) {
    memset(&it->readers, 0, sizeof *it - offsetof(struct item, readers));
}
__attribute__((noinline)) static void clear_some(struct item* it, size_t n) {
    memset(&it->readers, 1, n);
}
__attribute__((noinline)) static void copy_string(struct item* it, const char* from, size_t n) {
    strncpy((char*)&it->readers, from, n);
}
static struct item* item_of(struct node* n) {
    return (struct item*)((char*)n - offsetof(struct item, node));
}
__attribute__((noinline)) static void count_hit(struct item* it) { item_of(&it->node)->hits++; }
__attribute__((noinline)) static void mark(struct item* it, int i) { it->marks[i] = 1; }
__attribute__((noinline)) static void clear_unions(union either* e, struct holder* h) {
    memset(&e->small, 7, sizeof *e);
    memset(&h->small, 7, sizeof h->large);
}

int main(void) {
    struct item* it = recorder_allocate(sizeof *it);
    clear_from_member(it);
    clear_some(it, 20);
    copy_string(it, "a longer text", 14);
    count_hit(it);
    mark(it, 9);
    clear_unions(recorder_allocate(sizeof(union either)), recorder_allocate(sizeof(struct holder)));
    assert(it->hits == 1);
    return recorder_hooks() >= 7 ? 0 : 1;
}
