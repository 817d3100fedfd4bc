// heap/held_table.hpp: the objects that ordinary memory refers to. Volatile: after a crash, objects
// that only these references kept alive are found by the durable slots of orphans (orphans.hpp).
//
// Concurrency. A mutex for each shard of offsets. Copies of a reference are counted without it; the
// first and the last one take it. A thread that makes the first reference to an object enters it
// here and then loads the object's header in its transaction. A thread that destroys an object
// first acquires the ownership of that header and then checks this table. So one of them sees the
// other: either the object becomes an orphan, or the reference's attempt aborts.
#pragma once

#include "heap/layout.hpp"

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace hf::nv {

class held_table;

struct held_object : detail::held {
    u64 offset = 0;
    u64 slot = 0;  ///< offset of the orphan's durable slot; 0: not an orphan
    u32 weak = 0;  ///< number of weak references, including the queue's
    bool queued = false;
    std::shared_ptr<held_table> home;
};

class held_table : public std::enable_shared_from_this<held_table> {
   public:
    held_table() = default;
    held_table(const held_table&) = delete;
    held_table& operator=(const held_table&) = delete;

    /// Adds a reference, strong or weak.
    [[nodiscard]] held_object* hold(u64 offset, bool strongly);
    /// Drops a reference, perhaps the last one.
    void drop(held_object* h);
    void retain_weakly(held_object* h);
    void drop_weakly(held_object* h);

    /// An orphan whose slot is not known yet: set_slot() follows.
    static constexpr u64 slot_to_come = ~u64{0};

    /// Checks whether there is a strong reference: then the object becomes an orphan
    /// (slot_to_come). Otherwise marks the object as dying, and returns its entry if settle_death()
    /// must be called.
    struct finding {
        bool held = false;
        held_object* dying = nullptr;
        bool undecided = false;  ///< another thread is destroying it and has not settled yet
    };
    [[nodiscard]] finding look_before_death(u64 offset);
    /// Reports the outcome. `died`: the object cannot be found any more.
    void settle_death(held_object* h, bool died);
    /// Makes it an orphan, kept alive by references only, with that slot; 0: not any more. Returns
    /// the previous slot.
    u64 set_slot(u64 offset, u64 slot);
    [[nodiscard]] u64 slot_of(u64 offset);
    /// It is still an orphan; handles the case that its last reference was dropped meanwhile.
    void restore_slot(u64 offset, u64 slot);
    /// Removes an object made by an aborted attempt.
    void forget(u64 offset);

    /// Orphans whose last reference was dropped. The caller must call give_up() for each.
    [[nodiscard]] std::vector<held_object*> take_queue();
    void requeue(held_object* h);
    void give_up(held_object* h) { drop_weakly(h); }
    [[nodiscard]] bool has_queue() const noexcept {
        return queue_size_.load(std::memory_order_acquire) != 0;
    }
    /// All offsets that are held strongly.
    [[nodiscard]] std::vector<u64> all();
    /// Called when the heap is closed.
    void close();
    /// nullptr: the heap is closed.
    std::atomic<detail::core*> owner{nullptr};

   private:
    struct shard {
        std::mutex mutex;
        std::unordered_map<u64, held_object*> objects;
    };
    [[nodiscard]] shard& shard_of(u64 offset) noexcept {
        return shards_[offset / 16 % shards_.size()];
    }
    [[nodiscard]] held_object& entry_of(shard& s, u64 offset);
    void enqueue(held_object& h);
    void unlink(shard& s, held_object* h);
    /// True: it has no references any more; delete it outside of the lock.
    [[nodiscard]] bool is_unused(shard& s, held_object* h);

    std::array<shard, 64> shards_;
    std::atomic<u64> size_{0};
    std::mutex queue_mutex_;
    std::vector<held_object*> queue_;
    std::atomic<u64> queue_size_{0};
};

}  // namespace hf::nv
