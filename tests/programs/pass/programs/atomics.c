// Atomic stores, exchanges, read-modify-writes and compare-exchanges of 1 to 16 bytes.
// flags: -mcx16
#include "pass/recorder.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

struct counters {
    _Atomic uint8_t a;
    _Atomic uint16_t b;
    _Atomic uint32_t c;
    _Atomic uint64_t d;
    _Atomic(void*) p;
    _Atomic float f;
    _Alignas(16) unsigned __int128 wide;
    atomic_flag flag;
};

__attribute__((noinline)) static void use(struct counters* n) {
    atomic_store(&n->a, 1);
    atomic_fetch_add(&n->b, 2);
    assert(atomic_exchange_explicit(&n->c, 3, memory_order_acq_rel) == 0);
    uint64_t expected = 1;
    assert(!atomic_compare_exchange_strong(&n->d, &expected, 4) && expected == 0);
    assert(atomic_compare_exchange_strong(&n->d, &expected, 4));
    atomic_fetch_or_explicit(&n->d, 8, memory_order_relaxed);
    void* none = NULL;
    while (!atomic_compare_exchange_weak(&n->p, &none, n)) none = NULL;
    n->f = 1.5f;
    n->f += 2;
    assert(__sync_bool_compare_and_swap(&n->wide, 0, (unsigned __int128)7 << 80));
    assert(!atomic_flag_test_and_set(&n->flag));
    __sync_fetch_and_add((uint64_t*)&n->d, 1);
    __sync_fetch_and_sub((uint32_t*)&n->c, 1);
}

int main(void) {
    struct counters* shared = recorder_allocate(sizeof *shared);
    use(shared);
    assert(shared->a == 1 && shared->b == 2 && shared->c == 2 && shared->d == 13);
    assert(shared->p == shared && shared->f == 3.5f && shared->wide >> 80 == 7);
    assert(recorder_hooks() >= 10);
    struct counters local = {0};
    use(&local);
    assert(local.d == 13);
}
