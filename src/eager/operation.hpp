// eager/operation.hpp: one operation of an eager index, from its first load to its last fence.
//
// Purpose. The complete interface between an index and the discipline, in an object that lives as
// long as the operation. To convert a concurrent index whose readers never wait (Lee et al.,
// RECIPE), add these calls:
//
//   a writer                                       a reader
//     operation<..> op(space);                       operation<..> op(space);
//     op.note_dependency(lock, link)  for            op.note_dependency(lock, link)  likewise
//                     each link followed             ... loads of the node ...
//     n.lock.lock(op.generation())                   op.note_dependency(n.lock, node)
//        returned true (stale lock)? repair(n)       op.persist_dependencies()
//     new = op.allocate(bytes)    may fail:          return what was read
//     ... fill it ...             nothing has changed
//     op.written(new, bytes)
//     op.persist_unpublished()          P1: unreachable data is durable, one fence
//     op.publish(word, new)             one 8-byte store: others find it
//     op.persist_publication()          P2: the store is durable, one fence
//     n.lock.unlock()
//     op.retire(*this, old, kind)       freed after its last reader has left
//
// Flush-on-read. A node is complete and durable before it is published, so a link may
// be volatile while the contents it points to are durable. Readers and writers call
// note_dependency() for each link they follow. If the link's lock is held, the link's line is
// recorded; it becomes durable with a writer's P1, or in a reader's persist_dependencies() (one
// fence for any number of links). With the lock free, the cost is one load. A killed holder leaves
// its lock held: a thread that reclaims it first makes everything under the lock durable.
//
// Invariants.
//  I1  No store is published before persist_unpublished(); no operation returns or unlocks before
//      persist_publication().
//  I2  Everything that an operation returns or acts on is durable when it returns, whether the key
//      was found or not.
//  I3  A block is retired after the store that unlinked it is durable.
//  I4  Out of space is an error of allocate(), before the first visible store.
//
// Persist order.
//  P1  content < publication;  P2  publication < return, unlock, retirement.
//
// Concurrency. An operation belongs to one thread; operations do not nest. A thread must not block
// for long (on input, say) inside of an operation: retired memory cannot be freed meanwhile.
//
// On the medium `file` an operation runs within an epoch, which makes it durable (space.hpp). P1
// and P2 then only order what other threads see.
//
// `Lines` is persist_batch, or no_lines where nothing has to survive: the same code is the volatile
// baseline.
#pragma once

#include "base/damage.hpp"
#include "eager/node_lock.hpp"
#include "eager/persist_batch.hpp"
#include "eager/published.hpp"
#include "eager/space.hpp"
#include "persist/persist_point.hpp"

#include <utility>

namespace hf {

template <class Lines>
class eager_operation {
   public:
    // Constructor and destructor are inlined: a call would be a large part of a short read.
    [[gnu::always_inline]] explicit eager_operation(eager_space& s)
        : space_(s), lane_(s.my_lane()), base_(s.file().base()), lines_(s.file().med()) {
        if (s.epochs() != nullptr) [[unlikely]] {
            in_epoch_ = &s.enter_epoch();
            lines_.note_in(*in_epoch_);
        }
        lane_.enter();
    }
    [[gnu::always_inline]] ~eager_operation() {
        lane_.leave();
        if (must_reclaim_) [[unlikely]] {
            // still within the epoch, which records the heap's stores
            space_.grace().reclaim(lane_);
        }
        if (in_epoch_ != nullptr) [[unlikely]] {
            eager_space::leave_epoch(*in_epoch_);
        }
    }
    eager_operation(const eager_operation&) = delete;
    eager_operation& operator=(const eager_operation&) = delete;

    [[nodiscard]] u32 generation() const noexcept { return space_.generation(); }
    [[nodiscard]] eager_space& space() const noexcept { return space_; }
    template <class T>
    [[nodiscard]] T* at(u64 offset) const noexcept {
        return object_at<T>(base_, offset);
    }
    [[nodiscard]] u64 offset_of(const void* p) const noexcept { return offset_from(base_, p); }

    // --- for writers ---
    /// Allocates memory with arbitrary contents (alignment: alloc/swept_heap.hpp).
    [[nodiscard]] result<u64> allocate(u64 bytes) {
        return space_.heap().allocate(lane_.blocks(), bytes);
    }
    /// As allocate(), for a node of the index (swept_heap::allocate_node()).
    [[nodiscard]] result<u64> allocate_node(u64 bytes) {
        return space_.heap().allocate_node(lane_.blocks(), bytes);
    }
    /// Frees a block that was allocated and never published.
    void cancel(u64 offset) { space_.heap().free(lane_.blocks(), offset); }
    /// Records a range that was stored to: unreachable, or under a lock that the caller holds.
    void written(const void* p, std::size_t n) noexcept { lines_.add(p, n); }
    void written_line(const void* p) noexcept { lines_.add(p); }
    /// Copies whole lines into unreachable memory with non-temporal stores, which avoid reading the
    /// target; with plain stores where nothing has to be flushed.
    void copy_fresh(void* to, const void* from, std::size_t n) noexcept {
        lines_.copy_fresh(to, from, n);
    }
    /// Call before storing transient state, which recovery rebuilds and this session relies on, to
    /// the line at p. On the medium `file` its page may be evicted and read back in this session
    /// (paging/private_pages.hpp, M2), so the epoch must record the line.
    void will_rely_on_line(const void* p) noexcept {
        if (in_epoch_ != nullptr) [[unlikely]] {
            in_epoch_->note_once(p, 1);
        }
    }
    /// Zeroes [p, p + n): aligned words of unreachable memory.
    void write_zeros(void* p, std::size_t n) noexcept { lines_.write_zeros(p, n); }
    /// P1: makes the recorded lines durable before a publication. No fence if none were recorded.
    void persist_unpublished() noexcept(!crashes_throw) {
        if (!lines_.has_pending()) return;
        lines_.order();
        HF_PERSIST_POINT("eager P1: all that is unreachable is durable before its publication");
    }
    void publish(published& word, u64 value) noexcept {
        word.store(value);
        lines_.add(&word);
    }
    /// P2: makes the publication durable. No fence if no lines were recorded.
    void persist_publication() noexcept(!crashes_throw) {
        if (!lines_.has_pending()) return;
        lines_.fence();
        HF_PERSIST_POINT("eager P2: a publication is durable before its operation returns");
    }
    /// The block's unlinking must be durable. `kind` tells `of` how to trace it.
    void retire(const traced& of, u64 offset, u32 kind) {
        space_.heap().shade(of, offset, kind);
        if (lane_.retire(offset, space_.heap().bytes_at(offset))) must_reclaim_ = true;
    }
    /// Call before a reference is copied and its older place overwritten: the running sweep then
    /// traces it.
    void shade(const traced& of, u64 offset, u32 kind) { space_.heap().shade(of, offset, kind); }

    // --- for readers and writers ---
    /// For an index with volatile locks: true if data that it reads may be volatile, so it must be
    /// recorded although no lock says so (space.hpp).
    [[nodiscard]] bool is_after_a_kill() const noexcept { return space_.is_after_a_kill(); }
    /// Call after loading from [p, p + n), which `lock` guards: records the range if the lock is
    /// held.
    void note_dependency(const node_lock& lock, const void* p, std::size_t n) noexcept {
        if (node_lock::may_be_volatile(lock.load())) [[unlikely]] {
            lines_.add(p, n);
        }
    }
    /// note_dependency() with a lock word that was loaded after the other loads.
    void note_dependency(u64 lock_word, const void* p, std::size_t n) noexcept {
        if (node_lock::may_be_volatile(lock_word)) [[unlikely]] {
            lines_.add(p, n);
        }
    }
    /// Call before a reader returns: makes everything it depends on durable.
    void persist_dependencies() noexcept(!crashes_throw) {
        if (!lines_.has_pending()) [[likely]] {
            return;
        }
        lines_.fence();
        HF_PERSIST_POINT("eager P3: what a reader has seen is durable before it returns");
    }

    /// Takes the lock that guards [p, p + n). Returns true if it was reclaimed from a killed
    /// process. Its last stores, which may be in the caches only, are durable then: otherwise an
    /// operation that finds the lock free before the sweep has run would rely on them. Throws
    /// damage.
    bool take(node_lock& lock, const void* p, std::size_t n) {
        if (!lock.lock(generation())) [[likely]] {
            return false;
        }
        make_durable(p, n);
        return true;
    }
    /// Makes [p, p + n), left by a killed process, and all recorded lines durable.
    [[gnu::cold, gnu::noinline]] void make_durable(const void* p,
                                                   std::size_t n) noexcept(!crashes_throw) {
        lines_.add(p, n);
        persist_dependencies();
    }

    // --- for code that may follow damaged links ---
    /// Counts a step of a traversal. Throws damage after more steps than any path has: the links
    /// form a cycle.
    void took_step() {
        if (++steps_ > most_steps) [[unlikely]] {
            lost();
        }
    }
    /// Resets the step count: a new traversal begins, or a restart after a concurrent change.
    void arrived() noexcept { steps_ = 0; }
    [[noreturn, gnu::cold, gnu::noinline]] void fail(const void* at, const char* why) const {
        throw damage(offset_of(at), why);
    }

   private:
    [[noreturn, gnu::cold, gnu::noinline]] static void lost() {
        throw damage(0, "nodes lead round in a circle");
    }
    static constexpr u32 most_steps = 1U << 16;

    eager_space& space_;
    eager_lane& lane_;
    std::byte* base_;
    Lines lines_;
    u32 steps_ = 0;
    bool must_reclaim_ = false;  ///< the lane's batch of retired blocks is full
    lane* in_epoch_ = nullptr;   ///< nullptr except on the medium `file`
};

}  // namespace hf
