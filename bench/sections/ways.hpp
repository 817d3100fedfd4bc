// bench/sections/ways.hpp: how a workload with locks stores, allocates and locks.
//
// Each workload is one template; its parameter says whether it is the original program, the
// original counting what it does, or a program with failure-atomic sections whose stores are
// announced, as the compiler plugin does, or found by pages. Locks are the runtime's own functions
// (section/locks) without interposition: no other measurement of this program passes them.
#pragma once

#include <holdfast/section.h>
#include <holdfast/section_hooks.h>

#include "base/bits.hpp"
#include "base/check.hpp"
#include "section/locks/waiting.hpp"

#include <pthread.h>

#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace hf::bench {

/// Stores and sections of a run of the original.
struct work_counts {
    u64 stores = 0;         ///< to what is durable elsewhere
    u64 stores_inside = 0;  ///< of these, inside sections
    u64 sections = 0;       ///< outermost
    u64 inner_sections = 0;
};

/// The original: ordinary memory and locks.
struct original_way {
    class mutex {
       public:
        mutex() { ::pthread_mutex_init(&mutex_, nullptr); }
        ~mutex() { ::pthread_mutex_destroy(&mutex_); }
        mutex(const mutex&) = delete;
        mutex& operator=(const mutex&) = delete;
        void lock() { ::pthread_mutex_lock(&mutex_); }
        void unlock() { ::pthread_mutex_unlock(&mutex_); }
        void wait(pthread_cond_t& c) { ::pthread_cond_wait(&c, &mutex_); }

       private:
        pthread_mutex_t mutex_;
    };
    template <class T>
    static void store(T& field, std::type_identity_t<T> value) {
        field = value;
    }
    static void* allocate(std::size_t bytes) { return std::calloc(1, bytes); }
    static void release(void* p) { std::free(p); }
};

/// The original, with counters.
struct counting_way {
    static inline thread_local work_counts counts;
    static inline thread_local unsigned depth = 0;

    class mutex {
       public:
        void lock() {
            counted_.lock();
            enter();
        }
        void unlock() {
            --depth;
            counted_.unlock();
        }
        void wait(pthread_cond_t& c) {
            --depth;
            counted_.wait(c);
            enter();
        }

       private:
        original_way::mutex counted_;
        static void enter() { ++(depth++ == 0 ? counts.sections : counts.inner_sections); }
    };
    template <class T>
    static void store(T& field, std::type_identity_t<T> value) {
        field = value;
        ++counts.stores;
        counts.stores_inside += depth != 0 ? 1 : 0;
    }
    static void* allocate(std::size_t bytes) { return original_way::allocate(bytes); }
    static void release(void* p) { original_way::release(p); }
};

namespace detail {

class section_mutex {
   public:
    section_mutex() { ::pthread_mutex_init(&mutex_, nullptr); }
    ~section_mutex() { ::pthread_mutex_destroy(&mutex_); }
    section_mutex(const section_mutex&) = delete;
    section_mutex& operator=(const section_mutex&) = delete;

    [[gnu::noinline]] void lock() {
        pthread_mutex_t* const m = &mutex_;
        section::take(
            m, section::access::exclusive, __builtin_return_address(0),
            [m] { return ::pthread_mutex_trylock(m); }, [m] { return ::pthread_mutex_lock(m); },
            [m] { return ::pthread_mutex_unlock(m); });
    }
    [[gnu::noinline]] void unlock() {
        pthread_mutex_t* const m = &mutex_;
        section::give(m, "unlock", __builtin_return_address(0),
                      [m] { return ::pthread_mutex_unlock(m); });
    }
    [[gnu::noinline]] void wait(pthread_cond_t& c) {
        section::wait_for(&mutex_, __builtin_return_address(0),
                          [&] { return ::pthread_cond_wait(&c, &mutex_); });
    }

   private:
    pthread_mutex_t mutex_;
};

/// The region of the open group.
inline hf_region* measured_region = nullptr;

inline void* allocate_durably(std::size_t bytes) {
    void* const p = hf_zeroed(measured_region, 1, bytes);
    HF_CHECK(p != nullptr, "the measured group is full");
    return p;
}

}  // namespace detail

/// Durable, each store announced (docs/compiler_plugin.md).
struct announced_way {
    using mutex = detail::section_mutex;
    template <class T>
    static void store(T& field, std::type_identity_t<T> value) {
        const auto* const p = static_cast<const void*>(&field);
        const int alone = hf_is_persistent(p) ? hf_section_store(p, sizeof(T)) : 0;
        field = value;
        if (alone != 0) hf_section_stored();
    }
    static void* allocate(std::size_t bytes) { return detail::allocate_durably(bytes); }
    static void release(void* p) { hf_free(p); }
};

/// Durable, stores found by pages.
struct paged_way {
    using mutex = detail::section_mutex;
    template <class T>
    static void store(T& field, std::type_identity_t<T> value) {
        field = value;
    }
    static void* allocate(std::size_t bytes) { return detail::allocate_durably(bytes); }
    static void release(void* p) { hf_free(p); }
};

/// A lock until the end of a block.
template <class Mutex>
class holding {
   public:
    explicit holding(Mutex& m) : mutex_(m) { mutex_.lock(); }
    ~holding() { mutex_.unlock(); }
    holding(const holding&) = delete;
    holding& operator=(const holding&) = delete;

   private:
    Mutex& mutex_;
};

}  // namespace hf::bench
