// eager/operation.hpp: an operation of an eager index, from its first load to its last fence.
//
// Purpose. All that an index needs of its discipline, in one object that lives as long as the
// operation. A conversion (Lee et al., RECIPE) is to put these calls into a concurrent index whose
// readers never wait:
//
//   a writer                                          a reader
//     operation<..> op(space);                          operation<..> op(space);
//     op.saw(lock, link)  for each link followed        op.saw(lock, link)  likewise
//     n.lock.lock(op.generation())                      ... loads of the node ...
//        taken over? repair(n)                          op.saw(n.lock, node)
//     new = op.allocate(bytes)    may fail: nothing     op.observed()
//     ... fill it ...             has changed           return what was read
//     op.written(new, bytes)
//     op.settle()                       P1: all that is unreachable is durable, one fence
//     op.publish(word, new)             one 8-byte store: others find it
//     op.commit()                       P2: the store is durable, one fence
//     n.lock.unlock()
//     op.retire(*this, old, kind)       freed when its last reader has left
//
// Path guard. New nodes come filled: so a link can be unsure above contents that are sure. Readers
// and writers say saw() of every link on their way. If its lock is not free the line is noted; a
// writer's P1 makes it durable along with the writer's own, a reader's observed() does (one fence,
// whatever number of links). What nobody holds costs a load. A holder that was killed leaves a lock
// that is not free: who takes it over makes all durable that lies under it, before anything else.
//
// Invariants.
//  O1  Nothing is published before settle(), nothing returned or unlocked before commit().
//  O2  What an operation returns, or acts upon, is durable when it returns: found or not found.
//  O3  Retired is what was unlinked by a store that is durable.
//  O4  Out of space is an error of allocate(), before the first visible store.
//
// Persist order.
//  P1  content < publication;  P2  publication < return, unlock, retirement.
//
// Concurrency. An operation belongs to one thread; they don't nest. Whoever waits for long (for
// input, say) must not do so inside of one: retired memory waits for it.
//
// On the medium `file` an operation lies within an epoch, which makes it durable (space.hpp): there
// P1 and P2 order nothing but what other threads see.
//
// `Lines` is persist_batch, or no_lines where nothing is to survive: so the same code is the
// yardstick.
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
    // Inlined: to a short read, a call of either is a good part of what it does.
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
        if (lane_.is_full()) [[unlikely]] {
            space_.grace().reclaim(lane_);  // within the epoch: what is freed is noted in it
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

    // --- writers ---
    /// Memory with any contents (alloc/swept_heap.hpp says where it begins).
    [[nodiscard]] result<u64> allocate(u64 bytes) {
        return space_.heap().allocate(lane_.blocks, bytes);
    }
    /// Allocated, and never published.
    void cancel(u64 offset) { space_.heap().free(lane_.blocks, offset); }
    /// Has been stored to; not reachable yet, or behind a lock that the caller holds.
    void written(const void* p, std::size_t n) noexcept { lines_.add(p, n); }
    void written_line(const void* p) noexcept { lines_.add(p); }
    /// Copies whole lines into memory that nobody reaches yet, past the caches where there is
    /// something to flush: they are written without having been read.
    void copy_fresh(void* to, const void* from, std::size_t n) noexcept {
        lines_.copy_fresh(to, from, n);
    }
    /// The line at p is about to get what no crash need spare, for it is made anew in the next
    /// generation, and what this one relies on. On the medium `file` its page may be given back and
    /// read again, in this generation (paging/private_pages.hpp, M2).
    void will_rely_on_line(const void* p) noexcept {
        if (in_epoch_ != nullptr) [[unlikely]] {
            in_epoch_->note_once(p, 1);
        }
    }
    /// Makes [p, p + n) zero: aligned words of memory that nobody reaches yet.
    void write_zeros(void* p, std::size_t n) noexcept { lines_.write_zeros(p, n); }
    /// P1. Nothing where nothing was noted.
    void settle() noexcept(!crashes_throw) {
        if (!lines_.is_unsure()) return;
        lines_.order();
        HF_PERSIST_POINT("eager P1: all that is unreachable is durable before its publication");
    }
    void publish(published& word, u64 value) noexcept {
        word.store(value);
        lines_.add(&word);
    }
    /// P2. Nothing where nothing was noted.
    void commit() noexcept(!crashes_throw) {
        if (!lines_.is_unsure()) return;
        lines_.fence();
        HF_PERSIST_POINT("eager P2: a publication is durable before its operation returns");
    }
    /// Unlinked durably. `kind` is how `of` traces it.
    void retire(const traced& of, u64 offset, u32 kind) {
        space_.heap().shade(of, offset, kind);
        lane_.retire(offset);
    }
    /// A reference is about to lie in two places, of which the older will be overwritten.
    void shade(const traced& of, u64 offset, u32 kind) { space_.heap().shade(of, offset, kind); }

    // --- whoever reads ---
    /// Of an index whose locks don't outlive the process: what it reads may lie in the caches
    /// alone, and is to be noted, whoever has the lock (space.hpp).
    [[nodiscard]] bool is_after_a_kill() const noexcept { return space_.is_after_a_kill(); }
    /// Has loaded something of [p, p + n), behind which it looks at the lock that guards it.
    void saw(const node_lock& lock, const void* p, std::size_t n) noexcept {
        if (node_lock::is_unsure(lock.load())) [[unlikely]] {
            lines_.add(p, n);
        }
    }
    /// The same, when the lock's word has been loaded behind the other loads already.
    void saw_word(u64 lock_word, const void* p, std::size_t n) noexcept {
        if (node_lock::is_unsure(lock_word)) [[unlikely]] {
            lines_.add(p, n);
        }
    }
    /// A reader returns: what it has seen will not be undone.
    void observed() noexcept(!crashes_throw) {
        if (!lines_.is_unsure()) [[likely]] {
            return;
        }
        lines_.fence();
        HF_PERSIST_POINT("eager P3: what a reader has seen is durable before it returns");
    }

    /// Takes the lock that guards [p, p + n). True: from a holder that was killed, whose last
    /// stores may lie in the caches alone: now they are durable, or whoever meets the lock free,
    /// before the sweep has come by, would rely on them. Throws damage.
    bool take(node_lock& lock, const void* p, std::size_t n) {
        if (!lock.lock(generation())) [[likely]] {
            return false;
        }
        make_sure(p, n);
        return true;
    }
    /// What a dead holder has left in [p, p + n), and what else was noted.
    [[gnu::cold, gnu::noinline]] void make_sure(const void* p,
                                                std::size_t n) noexcept(!crashes_throw) {
        lines_.add(p, n);
        observed();
    }

    // --- whoever may be on damaged bytes ---
    /// Another step of a way. Throws damage where no way is so long: it leads round in a circle.
    void took_step() {
        if (++steps_ > most_steps) [[unlikely]] {
            lost();
        }
    }
    /// What comes now is another way, or the same one begun anew because of others' changes.
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
    lane* in_epoch_ = nullptr;  ///< nullptr but on the medium `file`
};

}  // namespace hf
