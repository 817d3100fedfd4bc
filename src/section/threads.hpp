// section/threads.hpp: what the runtime keeps for each thread that has been inside a section.
//
// Purpose. A record holds the thread's flag at the gate, how deeply it is inside, the locks that it
// holds, and the lines that it touched first since the last cut. Records lie in a table of fixed
// length in memory of its own: the program's malloc is never called, for it may take a lock that is
// a section (rule C11 of section.hpp).
//
// Life. The first section of a thread claims a free record by its number (a CAS); the last round of
// the thread's destructors gives it back. A thread that ends inside a section keeps its record:
// the flag stays up and no cut succeeds until a robust mutex has been taken over.
//
// Concurrency. depth, held and lines belong to the owner; the leader of a cut reads lines while the
// gate is closed and all flags are down. Flag, site and thread number may be read by any thread.
//
// Bad use. A thread that finds the table full ends the process with a message.
#pragma once

#include "base/bits.hpp"
#include "base/check.hpp"
#include "section/block_list.hpp"
#include "sync/quiescence.hpp"

#include <sys/types.h>

#include <array>
#include <atomic>

namespace hf::section {

inline constexpr u32 max_threads = 1000;

struct thread_record;

/// A lock that a thread holds.
struct held_lock {
    const void* lock;
    bool is_shared;          ///< held for reading, beside others
    thread_record* adopted;  ///< of a thread that ended with this robust mutex; nullptr: none
};

struct alignas(64) thread_record {
    /// Up while the thread is inside a section, or tries to be (gate.hpp).
    presence_flag presence;

    // --- the owner's ---
    alignas(64) u32 depth = 0;  ///< locks held and explicit sections begun
    u32 begun = 0;              ///< of these, explicit sections
    u32 index = 0;
    u32 rounds_left = 0;  ///< of the thread's destructors, before the record is given back
    /// Outermost sections. Stored by this thread alone; the clock reads it, and it may lag there.
    std::atomic<u64> entered{0};
    block_list<held_lock> held;
    block_list<u64> lines;  ///< numbers of lines in the window, touched first since the last cut

    // --- for any thread ---
    std::atomic<const void*> site{nullptr};  ///< where the outermost section began
    std::atomic<pid_t> owner{0};             ///< thread's number; 0: the record is free
    std::atomic<bool> abandoned{false};      ///< its thread has ended inside a section
};

class thread_table {
   public:
    thread_table();
    thread_table(const thread_table&) = delete;
    thread_table& operator=(const thread_table&) = delete;
    /// No thread has a record any more. The runtime's table lives as long as the process.
    ~thread_table();

    /// A record for the calling thread.
    [[nodiscard]] thread_record& claim();
    /// The owner is outside.
    static void release(thread_record& r) noexcept;
    /// Records that have ever been claimed. All records below stay readable.
    [[nodiscard]] u32 used() const noexcept { return used_.load(std::memory_order_acquire); }
    /// Empties the lists of touched lines. No group is open.
    void forget_lines() noexcept;
    [[nodiscard]] thread_record& at(u32 i) const noexcept { return records_[i]; }

   private:
    thread_record* records_;
    std::atomic<u32> used_{0};
};

}  // namespace hf::section
