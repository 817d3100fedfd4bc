// thread_slots.hpp: per-thread slots of an object.
//
// Purpose. An object used by many threads has state for each of them: a list, a log, a flag.
// thread_slots<T> gives each thread a T of its own at its first use. A slot outlives its thread:
// when the thread ends, the slot with its contents is passed on to the next new thread. So
// there are never more slots than threads at one time, and no contents are lost.
//
// Invariants.
//  T1  A slot belongs to one thread at a time, and the next owner sees all changes of the previous
//      one.
//  T2  A new thread takes the lowest free slot; all slots below used() exist, and are never freed.
//  T3  Neither a thread nor an object keeps references to the other after its end. A thread that
//      ends returns its slots only to objects that still exist (a registry knows them), and an
//      object's number is never reused, so a thread cannot mistake a new object for a destroyed
//      one.
//  T4  Slots below `first` belong to the object itself, and to no thread.
//  T5  A slot is given back when its thread ends, in whatever language the thread's program is
//      written: a destructor of a pthread key does it. Another key's destructor may run later and
//      ask for a slot again: that one is given back in the next of the rounds that
//      pthread_create(3) promises (PTHREAD_DESTRUCTOR_ITERATIONS, 4 in glibc). A C++ thread_local
//      would be destroyed by then. The main thread keeps its slots until the process ends.
//  T6  In a child of fork() no thread has a slot of an object that the parent made: asking for one
//      ends the child with one line (fork.hpp).
//
// Concurrency. mine() is one comparison for the object that the thread used last, a search of a
// short list for others. If all slots are taken, a new thread waits for one that ends. used() is
// stored before the new slot's owner uses it, sequentially consistent; a reader that
// must not miss a slot in use needs a fence before its load (quiescence.hpp). Lock order: the
// registry's lock, then an object's.
#pragma once

#include "base/bits.hpp"
#include "base/check.hpp"
#include "sync/fork.hpp"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace hf {

namespace detail {

/// The slot that the thread used last. In the static TLS block (initial-exec): otherwise each
/// access would be a call, and its callers would have to save registers.
struct slot_cache {
    u64 owner = 0;
    void* slot = nullptr;
};
[[gnu::tls_model("initial-exec")]] inline thread_local constinit slot_cache my_slot_cache{};

/// The part of thread_slots<T> that does not depend on T.
class slot_table {
   public:
    virtual ~slot_table();
    slot_table(const slot_table&) = delete;
    slot_table& operator=(const slot_table&) = delete;

    /// Number of slots ever taken, including the object's own.
    [[nodiscard]] u32 used() const noexcept { return used_.load(std::memory_order_acquire); }

   protected:
    slot_table(u32 first, u32 end);
    [[nodiscard]] u64 id() const noexcept { return id_; }
    /// The calling thread's slot, taken if it has none.
    [[nodiscard]] void* bind();
    /// Runs `work` if the slot belongs to no thread; no thread can take it meanwhile.
    bool with_idle(u32 index, const std::function<void()>& work);
    /// Returns slot `index`, creating it if necessary. Not called concurrently.
    virtual void* make(u32 index) = 0;

   private:
    friend struct slots_of_thread;
    void release(u32 index);

    const u32 first_;
    process_mark made_in_;
    u64 id_ = 0;
    std::atomic<u32> used_;
    std::mutex mutex_;  // guards owned_, and the creation of slots
    std::condition_variable freed_;
    std::vector<bool> owned_;
};

}  // namespace detail

template <class T>
class thread_slots final : public detail::slot_table {
   public:
    using maker = std::function<std::unique_ptr<T>(u32 index)>;

    /// Slots [0, first) belong to the object and are created at once, [first, end) to threads.
    thread_slots(u32 first, u32 end, maker make_one)
        : slot_table(first, end), make_one_(std::move(make_one)), slots_(end) {
        for (u32 i = 0; i < first; ++i) slots_[i] = make_one_(i);
    }

    [[nodiscard]] T& mine() {
        if (detail::my_slot_cache.owner == id()) [[likely]] {
            return *static_cast<T*>(detail::my_slot_cache.slot);
        }
        return *static_cast<T*>(bind());
    }
    /// index < used().
    [[nodiscard]] T& at(u32 index) const noexcept {
        HF_ASSERT(index < used() && slots_[index] != nullptr, "T2: a slot that was never taken");
        return *slots_[index];
    }
    using slot_table::with_idle;

   private:
    void* make(u32 index) override {
        if (slots_[index] == nullptr) slots_[index] = make_one_(index);
        return slots_[index].get();
    }

    maker make_one_;
    std::vector<std::unique_ptr<T>> slots_;
};

}  // namespace hf
