#include "section/locks/locked.hpp"

#include "section/symbol.hpp"

#include <cstdio>
#include <string>

namespace hf::section {
namespace {

std::ptrdiff_t position_of(const thread_record& r, const void* lock) noexcept {
    for (std::size_t i = r.held.size(); i-- != 0;) {
        if (r.held[i].lock == lock) return static_cast<std::ptrdiff_t>(i);
    }
    return -1;
}

[[noreturn]] void refuse(const char* function, const void* lock, const void* site,
                         const char* why) noexcept {
    const inside_runtime in;
    char address[32];
    std::snprintf(address, sizeof address, "%p", lock);
    const std::string text =
        std::string(function) + "(" + address + ") at " + source_of(site) + ": " + why;
    fatal(text.c_str());
}

/// The record of a thread that ended while it held this robust mutex.
thread_record* abandoned_holder(const void* lock, std::ptrdiff_t& position) noexcept {
    const thread_table& all = runtime::get().threads();
    for (u32 i = 0; i < all.used(); ++i) {
        thread_record& r = all.at(i);
        if (!r.abandoned.load(std::memory_order_acquire)) continue;
        position = position_of(r, lock);
        if (position >= 0) return &r;
    }
    return nullptr;
}

/// One lock less of a thread that has ended. With the last its section is over.
void release_adopted(thread_record& dead) noexcept {
    runtime::leave(dead);
    if (dead.depth == 0) thread_table::release(dead);
}

}  // namespace

void note_held(thread_record& r, const void* lock, access how, int result) noexcept {
    thread_record* adopted = nullptr;
    if (result == EOWNERDEAD) [[unlikely]] {
        // Only the new owner of the mutex comes here, and the dead thread's list stands still.
        std::ptrdiff_t position = -1;
        adopted = abandoned_holder(lock, position);
        if (adopted != nullptr) {
            adopted->held.remove(static_cast<std::size_t>(position));
            // The dead thread's section goes on, and what follows depends on it.
            runtime::releasing(*adopted, lock, access::exclusive);
        }
    }
    runtime::acquired(r, lock, how);
    r.held.push({lock, how == access::shared, adopted});
}

/// In graph mode, for a lock that passes through because it is exempt, and not because the runtime
/// is at work.
void note_exempt_held(const void* lock, access how, int result) noexcept {
    if (!has_lock(result) || !runtime::is_open() || is_inside_runtime()) return;
    runtime::acquired(runtime::get().me(), lock, how);
}

/// Whether it was held for reading is not known: as if it had not been, which orders more.
void note_exempt_given(const void* lock) noexcept {
    if (!runtime::is_open() || is_inside_runtime()) return;
    runtime::releasing(runtime::get().me(), lock, access::shared);
}

std::ptrdiff_t find_held(const thread_record& r, const void* lock, const char* function,
                         const void* site) noexcept {
    const std::ptrdiff_t mine = position_of(r, lock);
    if (mine >= 0) [[likely]]
        return mine;
    // Others' lists change meanwhile; their owner's entry of a lock that it holds does not.
    const thread_table& all = runtime::get().threads();
    for (u32 i = 0; i < all.used(); ++i) {
        if (&all.at(i) != &r && position_of(all.at(i), lock) >= 0) {
            refuse(function, lock, site,
                   "another thread holds the lock, and only it may give it back");
        }
    }
    return -1;
}

void note_giving(const thread_record& r, std::ptrdiff_t position) noexcept {
    const held_lock& h = r.held[static_cast<std::size_t>(position)];
    runtime::releasing(r, h.lock, h.is_shared ? access::shared : access::exclusive);
}

void note_given(thread_record& r, std::ptrdiff_t position) noexcept {
    thread_record* const adopted = r.held[static_cast<std::size_t>(position)].adopted;
    r.held.remove(static_cast<std::size_t>(position));
    runtime::leave(r);
    if (adopted != nullptr) [[unlikely]]
        release_adopted(*adopted);
}

void refuse_cancellation(const void* lock, const void* site) noexcept {
    refuse("a lock is taken", lock, site,
           "the thread has asynchronous cancellation, so it could end at any instruction inside "
           "the section: use deferred cancellation");
}

void check_destroyed(const void* lock, const char* function, const void* site) noexcept {
    if (passes_through(lock)) return;
    if (position_of(runtime::get().me(), lock) >= 0) {
        refuse(function, lock, site, "the calling thread holds the lock");
    }
    runtime::destroyed(lock);
}

}  // namespace hf::section
