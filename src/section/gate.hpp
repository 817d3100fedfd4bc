// section/gate.hpp: the gate that outermost sections pass, one for the whole process.
//
// Purpose. A cut needs a moment at which no thread is inside a section. The leader closes the gate,
// waits for the threads inside until a time-out, and opens it again, whether they came out or not.
// A thread waits at this gate only while it holds no lock, so it never keeps one inside from
// ending.
//
//             try_close(): all out            open()
//     open ---------------------> closed ---------------> open
//       |                            ^  '--> time-out: open again, and the record in the
//       |  hold(): the log fills     |       way is remembered
//       '--> held -------------------'       held: new sections wait for a cut, 100 ms at most
//
// Beside epoch/gate.hpp, whose try_close() works likewise: that gate belongs to one region and its
// lanes, of which there are 255. This one belongs to the process. It is there before the group is
// opened and after it is closed, and its threads are found without a call and listed without malloc
// (threads.hpp). Both stand on sync/quiescence.hpp.
//
// Invariants.
//  S1  From a successful try_close() until open() no thread is inside, and each side sees the
//      other's stores (Q1 and Q2 of quiescence.hpp).
//  S2  One thread leads at a time: the clock's, or hf_section_cut()'s caller, under one mutex.
//  S3  A thread that found the gate closed during an attempt that failed is inside before the next
//      attempt begins: the leader waits, with the gate open, until none of them is left. While the
//      gate is held it does not, and the thread passes after max_hold_ns.
//
// No deadlock. A closed gate is opened after `patience` at most, whatever the threads inside do. A
// thread inside that waits for one at the gate (by a flag, a condition, a barrier, a join) makes
// the attempt fail, and by S3 the other one passes before the next attempt.
// Progress. Let the sections in flight end within P once no other thread enters. An attempt with
// time-out P or more succeeds: no thread enters while it lasts, so all flags are down within P.
// The time-out doubles with each failure (cutter.hpp), so P is reached, unless P is beyond its
// limit; then a message names the section that is in the way.
//
// Cost. Entering is a store, a compiler barrier and a load, and so is leaving without the load.
#pragma once

#include "section/threads.hpp"

#include <atomic>

namespace hf::section {

class gate {
   public:
    explicit gate(thread_table& threads) noexcept : threads_(threads) {}
    gate(const gate&) = delete;
    gate& operator=(const gate&) = delete;

    /// False: it is closed, and the thread is outside.
    [[nodiscard]] bool try_enter(thread_record& r, const void* site) noexcept {
        r.site.store(site, std::memory_order_relaxed);
        r.presence.enter();
        if (state_.load(std::memory_order_acquire) == open_state) [[likely]] {
            return true;
        }
        r.presence.leave();
        return false;
    }
    void enter(thread_record& r, const void* site) noexcept {
        if (!try_enter(r, site)) [[unlikely]] {
            wait_and_enter(r, site);
        }
    }
    static void leave(thread_record& r) noexcept { r.presence.leave(); }

    /// Waits while the gate is closed. The caller is outside; it should hold no lock.
    void wait_open() noexcept;

    /// By the leader. True: no thread is inside, until open(). False: the gate is open again, and
    /// in_the_way() says which thread was still inside.
    [[nodiscard]] bool try_close(u64 patience_ns) noexcept;
    void open() noexcept;
    /// When the gate was closed and opened in the leader's last attempt, as a thread outside sees
    /// it: without the wait of S3 before, and without the waking of threads after.
    struct attempt {
        u64 closed_ns = 0;
        u64 opened_ns = 0;
    };
    [[nodiscard]] attempt last_attempt() const noexcept { return last_; }
    /// By a thread that is inside: until the gate has been closed and opened, new sections wait,
    /// for max_hold_ns at most. For back-pressure (rule C9).
    void hold() noexcept;
    static constexpr u64 max_hold_ns = 100'000'000;

    /// A record that was inside when the last attempt failed. nullptr: none has failed.
    [[nodiscard]] const thread_record* in_the_way() const noexcept {
        return in_the_way_.load(std::memory_order_acquire);
    }
    /// Threads that wait, or have waited and are not inside yet (S3).
    [[nodiscard]] u32 waiting() const noexcept { return waiting_.load(std::memory_order_acquire); }

   private:
    [[gnu::noinline]] void wait_and_enter(thread_record& r, const void* site) noexcept;

    static constexpr u32 open_state = 0;
    static constexpr u32 closed_state = 1;
    static constexpr u32 held_state = 2;

    thread_table& threads_;
    alignas(64) std::atomic<u32> state_{open_state};
    alignas(64) std::atomic<u32> waiting_{0};
    std::atomic<const thread_record*> in_the_way_{nullptr};
    attempt last_;  ///< the leader's
};

}  // namespace hf::section
