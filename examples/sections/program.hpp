// examples/sections/program.hpp: what the examples share: a file, threads that work until the
// program is killed, and a check of what came back.
//
//     bank FILE run       works until it is killed
//     bank FILE run MS    works for MS milliseconds, then exits
//     bank FILE check     opens the file, says what it found; exit code 0: it is consistent,
//                         3: so it is, and nothing was done yet
//
// Stores are found by pages. An example whose stores all go through store() can announce them
// instead (run_announced()); then it runs in either mode (HOLDFAST_SECTION_MODE).
#pragma once

#include <holdfast/section.h>
#include <holdfast/section_hooks.h>

#include <pthread.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

namespace example {

/// Exit code of a check: consistent, and no section has survived yet.
inline constexpr int nothing_yet = 3;

/// A mutex that guards something until the end of a block.
class locked {
   public:
    explicit locked(pthread_mutex_t& m) : mutex_(m) { pthread_mutex_lock(&mutex_); }
    ~locked() { pthread_mutex_unlock(&mutex_); }
    locked(const locked&) = delete;
    locked& operator=(const locked&) = delete;

   private:
    pthread_mutex_t& mutex_;
};

/// A store as compiled code announces it (docs/compiler_plugin.md).
template <class T>
void store(T& field, std::type_identity_t<T> value) {
    const int alone = hf_is_persistent(&field) ? hf_section_store(&field, sizeof field) : 0;
    field = value;
    if (alone != 0) hf_section_stored();
}

[[noreturn]] inline void fail(const char* what) {
    std::fprintf(stderr, "%s: %s\n", what, hf_section_error());
    std::exit(1);
}

/// The root of this name, made zeroed at the first start.
template <class T>
T* root_of(hf_region* r, const char* name) {
    auto* found = static_cast<T*>(hf_root_get(r, name));
    if (found != nullptr) return found;
    hf_section_begin();
    found = static_cast<T*>(hf_zeroed(r, 1, sizeof(T)));
    if (found == nullptr || hf_root_set(r, name, found) != 0) fail("no root");
    hf_section_end();
    return found;
}

/// `work(thread number)` never returns; `check()` returns the exit code.
template <class Work, class Check>
int run(int argc, char** argv, unsigned threads, hf_region*& region, Work work, Check check,
        hf_stores stores = HF_STORES_TRACKED) {
    if (argc != 3 && argc != 4) {
        std::fprintf(stderr, "usage: %s FILE run|check [MILLISECONDS]\n", argv[0]);
        return 2;
    }
    hf_group_options o{};
    o.stores = stores;
    if (stores == HF_STORES_TRACKED) o.period_us = 5000;
    if (hf_group_open(argv[1], &o) != 0) fail("open");
    region = hf_region_open("example");
    if (region == nullptr) fail("region");
    if (std::strcmp(argv[2], "check") == 0) {
        const int code = check();
        return hf_group_close() == 0 ? code : 1;
    }
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; ++t) all.emplace_back(work, t);
    if (argc == 4) {
        std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(argv[3])));
        std::exit(0);  // the other threads work on meanwhile
    }
    for (std::thread& t : all) t.join();
    return 0;
}

template <class Work, class Check>
int run_announced(int argc, char** argv, unsigned threads, hf_region*& region, Work work,
                  Check check) {
    return run(argc, argv, threads, region, work, check, HF_STORES_ANNOUNCED);
}

}  // namespace example
