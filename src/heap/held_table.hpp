// heap/held_table.hpp: which objects ordinary memory refers to. Volatile: a crash forgets it, and
// what only it kept alive stands in the durable slots of orphans (orphans.hpp).
//
// Concurrency. A mutex for each shard of offsets. Copies of a reference count without it; the first
// and the last one take it. Who makes the first reference to an object announces it here and then
// loads the object's header in its transaction; who lets an object die owns that header first and
// then looks here. So one of them sees the other: either the object becomes an orphan, or the
// reference's attempt ends.
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
    u64 slot = 0;  ///< offset of the orphan's durable slot; 0: it is none
    u32 weak = 0;  ///< weak references, and the queue's
    bool queued = false;
    std::shared_ptr<held_table> home;
};

class held_table : public std::enable_shared_from_this<held_table> {
   public:
    held_table() = default;
    held_table(const held_table&) = delete;
    held_table& operator=(const held_table&) = delete;

    /// One more reference; strong or weak.
    [[nodiscard]] held_object* hold(u64 offset, bool strongly);
    /// One less, perhaps the last.
    void drop(held_object* h);
    void retain_weakly(held_object* h);
    void drop_weakly(held_object* h);

    /// Of an orphan whose slot is not known yet: set_slot() follows.
    static constexpr u64 slot_to_come = ~u64{0};

    /// Whether there is a strong reference: then it becomes an orphan (slot_to_come). Marks the
    /// object as one that is dying where there is none, and gives it if it must be told what came
    /// of it.
    struct finding {
        bool held = false;
        held_object* dying = nullptr;
        bool undecided = false;  ///< what was there before: who let it die is about to tell
    };
    [[nodiscard]] finding look_before_death(u64 offset);
    /// What came of it. `died`: nobody finds it any more.
    void settle_death(held_object* h, bool died);
    /// It is an orphan now: kept alive by references alone, in that slot; 0: not any more. Gives
    /// the slot before.
    u64 set_slot(u64 offset, u64 slot);
    [[nodiscard]] u64 slot_of(u64 offset);
    /// It is an orphan yet; if its last reference has gone meanwhile, that was not noticed.
    void restore_slot(u64 offset, u64 slot);
    /// What the attempt made will never have been.
    void forget(u64 offset);

    /// Orphans whose last reference has gone. Each is given back by give_up().
    [[nodiscard]] std::vector<held_object*> take_queue();
    void requeue(held_object* h);
    void give_up(held_object* h) { drop_weakly(h); }
    [[nodiscard]] bool has_queue() const noexcept {
        return queue_size_.load(std::memory_order_acquire) != 0;
    }
    /// All offsets that are held strongly.
    [[nodiscard]] std::vector<u64> all();
    /// The heap has been closed.
    void close();
    /// nullptr: it is closed.
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
    /// True: nobody refers to it any more; it is to be deleted outside of the lock.
    [[nodiscard]] bool is_unused(shard& s, held_object* h);

    std::array<shard, 64> shards_;
    std::atomic<u64> size_{0};
    std::mutex queue_mutex_;
    std::vector<held_object*> queue_;
    std::atomic<u64> queue_size_{0};
};

}  // namespace hf::nv
