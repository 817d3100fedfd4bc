// section/graph/lock_table.hpp: who released which lock last.
//
// Purpose. An acquire makes the acquiring section depend on the sections whose releases happen
// before it. This table keeps, for each synchronisation object (by its address), the sections that
// released it last, and the greatest Lamport clock of their releases.
//
//   exclusive release   replaces everything: its section depends on the earlier ones already
//   shared release      is added: other readers may have released in any order
//   exclusive acquire   depends on the last exclusive release and on all shared ones after it
//   shared acquire      depends on the last exclusive release
//
// Semaphores, barriers, thread creation and join use the same two calls: a post, an arrival or a
// creation is a shared release, a wait that returns is an exclusive acquire that leaves the entry.
//
// Clocks. acquire() returns a clock that is greater than those of all releases that happen before
// it. Log entries carry their lane's clock, so that recovery can undo later stores first.
//
// Concurrency. Thread safe; one short spin lock a shard. All of it is volatile.
// Memory. One entry an object that was ever released; forget() and drop_stable() remove entries.
#pragma once

#include "section/graph/consistent_cut.hpp"
#include "sync/spin_lock.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <vector>

namespace hf::graph {

enum class access : u8 { exclusive, shared };

class lock_table {
   public:
    /// To be called after the object was acquired. Appends the sections that the acquiring one
    /// depends on to `into`; returns the greatest clock of their releases, 0 if there are none.
    u64 acquire(const void* object, access how, std::vector<section_id>& into);
    /// To be called before the object is released, by section `by` (number 0: no section ran yet).
    void release(const void* object, access how, section_id by, u64 clock);
    /// The object was destroyed; another one may be created at its address.
    void forget(const void* object);
    /// Removes entries all of whose sections satisfy `is_stable`. A dependence on them adds
    /// nothing.
    void drop_stable(const std::function<bool(const section_id&)>& is_stable);

    [[nodiscard]] std::size_t size();

   private:
    struct entry {
        const void* object = nullptr;  ///< nullptr: the slot is free
        u64 clock = 0;
        section_id exclusive;
        std::vector<section_id> shared;
    };
    /// Open addressing, at most half full: each lock and unlock of the program comes here.
    struct alignas(64) shard {
        spin_lock mutex;
        std::size_t used = 0;
        std::vector<entry> slots;  ///< a power of two, or none yet
        [[nodiscard]] entry& slot_of(const void* object) noexcept;
        void rebuild(std::size_t count, const std::function<bool(const entry&)>& stays);
    };
    static constexpr std::size_t shard_count = 64;

    [[nodiscard]] shard& shard_of(const void* object) noexcept;  ///< of 64

    std::array<shard, shard_count> shards_;
};

}  // namespace hf::graph
