// thread_slots.hpp: which thread owns which slot of which object.
//
// Purpose. An object that many threads use keeps something for each of them: a list, a log, a flag.
// thread_slots<T> gives each thread that comes a T of its own. A slot outlives its thread: when the
// thread ends the slot is handed on, with all that is in it, to the next one that comes. So there
// are never more slots than there were threads at a time, and nothing in them is lost.
//
// Invariants.
//  T1  A slot belongs to one thread at a time, and what its owner did to it is seen by the next.
//  T2  The lowest free slot is taken: all slots below used() have been made, and stay.
//  T3  Neither a thread nor an object outlives the other's knowledge of it. A thread that ends
//      gives its slots back to objects that still live only (a registry knows them), and an
//      object's number is never used again, so that no thread takes a new object for one that is
//      gone.
//  T4  Slots below `first` belong to no thread, but to the object itself.
//  T5  A slot is given back when its thread ends, in whatever language the thread's program is
//      written: a destructor of a pthread key does it. Another key's destructor may run later and
//      ask for a slot again: that one is given back in the next of the rounds that
//      pthread_create(3) promises (PTHREAD_DESTRUCTOR_ITERATIONS, 4 in glibc). A C++ thread_local
//      would be gone by then. The main thread keeps its slots until the process ends.
//
// Concurrency. mine() is one comparison for the object that the thread used last, a look into a
// short list for others. With all slots taken a new thread waits for one that ends. used() is
// stored before the new slot's owner does anything with it, sequentially consistent; a reader that
// must not miss a slot in use puts a fence before its load (quiescence.hpp). Locks: the registry's
// before an object's.
#pragma once

#include "base/bits.hpp"
#include "base/check.hpp"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace hf {

namespace detail {

/// The slot that the thread asked for last. In the memory that a thread begins with: elsewhere it
/// is found by a call, for which all who ask would have to save their registers.
struct slot_cache {
    u64 owner = 0;
    void* slot = nullptr;
};
[[gnu::tls_model("initial-exec")]] inline thread_local constinit slot_cache my_slot_cache{};

/// What thread_slots<T> does without knowing T.
class slot_table {
   public:
    virtual ~slot_table();
    slot_table(const slot_table&) = delete;
    slot_table& operator=(const slot_table&) = delete;

    /// How many slots have ever been taken, those of the object included.
    [[nodiscard]] u32 used() const noexcept { return used_.load(std::memory_order_acquire); }

   protected:
    slot_table(u32 first, u32 end);
    [[nodiscard]] u64 id() const noexcept { return id_; }
    /// The calling thread's slot, taken if it has none.
    [[nodiscard]] void* bind();
    /// Runs `work` if the slot belongs to no thread; nobody can take it meanwhile.
    bool with_idle(u32 index, const std::function<void()>& work);
    /// The slot of that number, made if it isn't there. One caller at a time.
    virtual void* make(u32 index) = 0;

   private:
    friend struct slots_of_thread;
    void release(u32 index);

    const u32 first_;
    u64 id_ = 0;
    std::atomic<u32> used_;
    std::mutex mutex_;  // owned_, and the making of slots
    std::condition_variable freed_;
    std::vector<bool> owned_;
};

}  // namespace detail

template <class T>
class thread_slots final : public detail::slot_table {
   public:
    using maker = std::function<std::unique_ptr<T>(u32 index)>;

    /// Slots [0, first) for the object, made at once, and [first, end) for threads.
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
        HF_ASSERT(index < used() && slots_[index] != nullptr, "T2: a slot that nobody has taken");
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
