// Our implementations of the functions that -fsanitize=thread calls: each reports to the observer,
// and atomic ones also perform the operation. Names and signatures are the compiler's (LLVM's
// ThreadSanitizer pass).
#include "crashlab/runtime/observer.hpp"
#include "crashlab/schedule/yield.hpp"

namespace hf::lab {
constinit watch the_watch;
}

using hf::u64;
using hf::lab::ordering;
using hf::lab::tell_reading;
using hf::lab::tell_writing;

#define HF_PC reinterpret_cast<u64>(__builtin_return_address(0))

namespace {

// The memory orders of C11, as the compiler passes them.
constexpr int relaxed = 0;
constexpr int release = 3;

bool acquires(int order) { return order != relaxed && order != release; }
ordering how_stored(int order) { return order == relaxed ? ordering::relaxed : ordering::release; }
bool releases(int order) { return order >= release; }
void pass_barrier() { ++hf::lab::the_watch.barriers[hf::lab::running_fiber]; }
void passed_acquire(u64 pc) {
    pass_barrier();
    hf::lab::tell_acquiring(pc);
}
/// For ordinary memory; a store to the region is an event of its own.
void before_release(const volatile void* p, u64 pc) {
    if (!hf::lab::is_watched(const_cast<const void*>(p))) hf::lab::tell_releasing(pc);
}

}  // namespace

// The compiler's runtime interface has reserved names and C linkage.
// NOLINTBEGIN
extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_ignore_thread_begin() {}
void __tsan_ignore_thread_end() {}

#define HF_ACCESS(n)                                                                        \
    void __tsan_read##n(void* p) { tell_reading(p, n, HF_PC); }                             \
    void __tsan_write##n(void* p) { tell_writing(p, n, ordering::plain, HF_PC); }           \
    void __tsan_unaligned_read##n(void* p) { tell_reading(p, n, HF_PC); }                   \
    void __tsan_unaligned_write##n(void* p) { tell_writing(p, n, ordering::plain, HF_PC); } \
    void __tsan_read_write##n(void* p) {                                                    \
        tell_reading(p, n, HF_PC);                                                          \
        tell_writing(p, n, ordering::plain, HF_PC);                                         \
    }                                                                                       \
    void __tsan_unaligned_read_write##n(void* p) {                                          \
        tell_reading(p, n, HF_PC);                                                          \
        tell_writing(p, n, ordering::plain, HF_PC);                                         \
    }                                                                                       \
    void __tsan_volatile_read##n(void* p) { tell_reading(p, n, HF_PC); }                    \
    void __tsan_volatile_write##n(void* p) { tell_writing(p, n, ordering::plain, HF_PC); }
HF_ACCESS(1)
HF_ACCESS(2)
HF_ACCESS(4)
HF_ACCESS(8)
HF_ACCESS(16)

void __tsan_read_range(void* p, unsigned long n) { tell_reading(p, n, HF_PC); }
void __tsan_write_range(void* p, unsigned long n) { tell_writing(p, n, ordering::plain, HF_PC); }

#define HF_ATOMIC(bits, type)                                                                    \
    type __tsan_atomic##bits##_load(const volatile type* p, int order) {                         \
        hf::lab::yield();                                                                        \
        tell_reading(const_cast<type*>(p), sizeof(type), HF_PC, acquires(order));                \
        if (acquires(order)) passed_acquire(HF_PC);                                              \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                             \
    }                                                                                            \
    void __tsan_atomic##bits##_store(volatile type* p, type v, int order) {                      \
        hf::lab::yield();                                                                        \
        tell_writing(const_cast<type*>(p), sizeof(type), how_stored(order), HF_PC);              \
        if (releases(order)) before_release(p, HF_PC);                                           \
        __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                \
    }                                                                                            \
    HF_MODIFY(bits, type, exchange, exchange_n)                                                  \
    HF_MODIFY(bits, type, fetch_add, fetch_add)                                                  \
    HF_MODIFY(bits, type, fetch_sub, fetch_sub)                                                  \
    HF_MODIFY(bits, type, fetch_and, fetch_and)                                                  \
    HF_MODIFY(bits, type, fetch_or, fetch_or)                                                    \
    HF_MODIFY(bits, type, fetch_xor, fetch_xor)                                                  \
    HF_MODIFY(bits, type, fetch_nand, fetch_nand)                                                \
    HF_SWAP(bits, type, strong)                                                                  \
    HF_SWAP(bits, type, weak)                                                                    \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type* p, type expected, type v,     \
                                                    int order, int) {                            \
        HF_BEFORE_MODIFYING                                                                      \
        __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
        return expected;                                                                         \
    }

#define HF_BEFORE_MODIFYING                                                                  \
    hf::lab::yield();                                                                        \
    tell_reading(const_cast<void*>(static_cast<const volatile void*>(p)), sizeof(*p), HF_PC, \
                 acquires(order));                                                           \
    tell_writing(const_cast<void*>(static_cast<const volatile void*>(p)), sizeof(*p),        \
                 how_stored(order), HF_PC);                                                  \
    if (acquires(order)) passed_acquire(HF_PC);                                              \
    if (releases(order)) before_release(p, HF_PC);

#define HF_MODIFY(bits, type, name, builtin)                                 \
    type __tsan_atomic##bits##_##name(volatile type* p, type v, int order) { \
        HF_BEFORE_MODIFYING                                                  \
        return __atomic_##builtin(p, v, __ATOMIC_SEQ_CST);                   \
    }

// A weak exchange never fails spuriously here, because runs must be repeatable.
#define HF_SWAP(bits, type, kind)                                                               \
    int __tsan_atomic##bits##_compare_exchange_##kind(volatile type* p, type* expected, type v, \
                                                      int order, int) {                         \
        HF_BEFORE_MODIFYING                                                                     \
        return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST,             \
                                           __ATOMIC_SEQ_CST)                                    \
                   ? 1                                                                          \
                   : 0;                                                                         \
    }

HF_ATOMIC(8, unsigned char)
HF_ATOMIC(16, unsigned short)
HF_ATOMIC(32, unsigned int)
HF_ATOMIC(64, unsigned long)

void __tsan_atomic_thread_fence(int) {
    pass_barrier();
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int) { pass_barrier(); }

}  // extern "C"
// NOLINTEND
