// holdfast/transaction.hpp: the loads and stores of a running transaction.
//
// Purpose. The transactions of NV-heaps (Coburn et al., ASPLOS 2011, section 3.5). After a crash
// either all stores of a transaction are there or none; other threads see all of them or none; all
// values that a transaction reads belong to one committed state, even if it aborts later (opacity).
// Programs get this class as the argument of heap::atomic (heap.hpp), and the persistent types call
// its load() and store().
//
// The unit of ownership, of copies and of flushes is the cache line. A table of ownership records,
// indexed by a hash of the line's address, holds for each line its owner, or the version of the
// commit that changed it last. A store takes ownership at once (encounter-time locking: eager
// conflict detection) and writes to a private copy of the line (lazy versioning, write-back). A
// commit makes the copies durable first, and installs them in their home locations after that
// (src/transaction/). So memory reachable by other threads never contains uncommitted data.
//
//    ownership record   | 0 | version of the last commit, 63 bits |
//                       | 1 | number of the owner                 |
//
// Reads with validation (T1). load() reads the line's record before and after the word. The record
// must be unchanged, not owned, and not newer than the snapshot. So all words read belong to one
// moment, the snapshot's. If the record is newer, the snapshot is extended, provided that
// everything read so far is unchanged; otherwise the attempt aborts by an exception that atomic()
// catches, and the transaction restarts.
//
// Value-free reads by the clock (T2). The first attempt of a read-only transaction can do with
// less. When it begins, no commit is in progress, so the memory is the snapshot. A commit advances
// the clock before it installs its first word. So as long as the clock, read after each word, still
// equals the snapshot, the word belongs to the snapshot. After the clock has advanced, loads use
// T1. Since the words read before were not recorded, the snapshot cannot be extended; if it would
// have to be, the attempt aborts, and the next one uses T1 from its start.
//
//   commit: in_progress := 1; clock += 1 ... install words, release lines ... in_progress := 0
//   reader: snapshot := clock; is any commit in progress? ... word; clock == snapshot?
//
// All stores are releases, the reader's loads acquire. A commit that the snapshot includes had set
// its in_progress flag before; a reader that finds the flag clear sees all of the commit's words.
// A reader that sees a word of a later commit also sees the clock that this commit advanced.
//
// Literature. Coburn et al.; Dice, Shalev, Shavit, "Transactional Locking II" (DISC 2006): versions
// and the clock; Felber, Fetzer, Riegel, "Dynamic Performance Tuning of Word-Based Software
// Transactional Memory" (PPoPP 2008): snapshot extension; Guerraoui, Kapalka, "On the Correctness
// of Transactional Memory" (PPoPP 2008): opacity; Dalessandro, Spear, Scott, "NOrec: Streamlining
// STM by Abolishing Ownership Records" (PPoPP 2010): reading by a global clock alone.
#pragma once

#include <holdfast/pointer.hpp>
#include <holdfast/result.hpp>
#include <holdfast/ticket.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace hf {

namespace nv::detail {
class words_at_once;
}

namespace detail {

/// Thrown to abort an attempt from within the user's function; atomic() catches it and retries. Not
/// derived from std::exception, so that a handler for these does not catch it.
struct transaction_conflict {};
/// Thrown by abort(), and by retry() with again = true.
struct transaction_abort {
    bool again = false;
};
/// Thrown when a resource is missing: the transaction ends, and atomic() returns the error.
struct transaction_failure {
    error why;
};

/// The isolation of an open heap's transactions (nv/layers.hpp). Not a property of its file.
enum class isolation : std::uint8_t {
    threads,   ///< full isolation between threads
    alone,     ///< one thread: no ownership, no validation; still atomic and durable
    in_place,  ///< one thread: stores go to the home location at once, and are durable with the
               ///< epoch; an abort does not undo them
};

inline constexpr unsigned ownership_bits = 17;
inline constexpr std::uint64_t owned_flag = std::uint64_t{1} << 63;
/// A clock that differs from every snapshot: for transactions that do not read by the clock.
inline constinit std::atomic<std::uint64_t> no_clock_to_read_by{~std::uint64_t{0}};

template <std::size_t Bytes>
using bits_of = std::conditional_t<
    Bytes == 8, std::uint64_t,
    std::conditional_t<Bytes == 4, std::uint32_t,
                       std::conditional_t<Bytes == 2, std::uint16_t, std::uint8_t>>>;

}  // namespace detail

/// The types that one access may load or store: 1, 2, 4 or 8 bytes, naturally aligned.
template <class W>
concept transactional_word = std::is_trivially_copyable_v<W> &&
                             (sizeof(W) == 1 || sizeof(W) == 2 || sizeof(W) == 4 || sizeof(W) == 8);

/// One attempt of a transaction, made by the heap. Only the thread that runs it may use it. Stores,
/// allocate() and release() by another thread are refused: they end that thread's own transaction
/// with errc::usage, or the process if it has none. Not checked, for speed: loads, and stores to
/// memory that the transaction has allocated last.
class transaction {
   public:
    transaction(const transaction&) = delete;
    transaction& operator=(const transaction&) = delete;

    /// The calling thread's transaction; nullptr: none is running.
    [[nodiscard]] static transaction* running() noexcept { return of_thread; }

    /// Loads a word of the heap: this transaction's own store to it, or else the snapshot's value.
    template <transactional_word W>
    [[nodiscard, gnu::always_inline]] inline W load(const W* at) {
        using bits = detail::bits_of<sizeof(W)>;
        const bits first = __atomic_load_n(as<bits>(at), __ATOMIC_ACQUIRE);
        if (quiet_clock_->load(std::memory_order_relaxed) == snapshot_) [[likely]] {
            return std::bit_cast<W>(first);
        }
        const std::uint64_t line = reinterpret_cast<std::uint64_t>(at) >> 6;
        const std::uint64_t index = line & index_mask;
        std::atomic<std::uint64_t>& record = ownership_[index];
        const std::uint64_t before = record.load(std::memory_order_acquire);
        const bits found = __atomic_load_n(as<bits>(at), __ATOMIC_ACQUIRE);
        // Do not call a function while `found` is live, or the compiler spills it on every path.
        if (record.load(std::memory_order_relaxed) == before && before <= snapshot_ &&
            (index == last_read_ || reads_ != reads_end_)) [[likely]] {
            if (index != last_read_) note_read(index);
            return std::bit_cast<W>(found);
        }
        return std::bit_cast<W>(static_cast<bits>(load_slowly(at, sizeof(W))));
    }

    /// As load(), but always checks the line's ownership record, and aborts if another transaction
    /// owns the line. For reads that must not miss an uncommitted owner.
    template <transactional_word W>
    [[nodiscard]] W load_and_meet_owner(const W* at) {
        using bits = detail::bits_of<sizeof(W)>;
        return std::bit_cast<W>(static_cast<bits>(load_slowly(at, sizeof(W))));
    }

    /// As load(), for isolation `alone`: only this transaction's own copies can be newer than the
    /// word at its home location.
    template <transactional_word W>
    [[nodiscard]] W load_alone(const W* at) {
        using bits = detail::bits_of<sizeof(W)>;
        if (!has_copies_) [[likely]]
            return std::bit_cast<W>(*as<bits>(at));
        return std::bit_cast<W>(static_cast<bits>(load_slowly(at, sizeof(W))));
    }

    /// Stores a word of the heap. Visible to other threads, and durable, with the commit.
    template <transactional_word W>
    void store(W* at, std::type_identity_t<W> value) {
        using bits = detail::bits_of<sizeof(W)>;
        if (reinterpret_cast<std::uint64_t>(at) - fresh_ < fresh_bytes_) {
            __atomic_store_n(as<bits>(at), std::bit_cast<bits>(value), __ATOMIC_RELEASE);
            return;
        }
        store_slowly(at, sizeof(W), std::bit_cast<bits>(value));
    }

    /// Loads or stores `bytes` bytes, split into words of up to 8 bytes. All words loaded belong to
    /// one snapshot.
    void load_bytes(const void* at, void* to, std::size_t bytes);
    void store_bytes(void* at, const void* from, std::size_t bytes);
    /// As memmove, within the heap.
    void move_bytes(void* to, const void* from, std::size_t bytes);

    /// Prefetches the line at `at` (any address) and its ownership record, which misses the cache
    /// as often. For transactions that know their accesses ahead. (Inlined, or g++ takes a call for
    /// one that does nothing.)
    [[gnu::always_inline]] static inline void prefetch(const void* at) noexcept {
        __builtin_prefetch(at, 1);
        if (const transaction* const t = of_thread; t != nullptr) {
            __builtin_prefetch(t->ownership_ + index_of(at), 1);
        }
    }

    /// Allocates memory of the heap. No other thread can reach it until a pointer to it commits; it
    /// is freed if this transaction does not commit. Aligned to 16 bytes, to 64 if `bytes` is a
    /// multiple of 64; the contents are undefined. Ends the transaction with errc::no_space if the
    /// heap is full.
    [[nodiscard]] std::byte* allocate(std::uint64_t bytes);
    /// Frees memory at the commit; `bytes` as given to allocate(). It is reused only when every
    /// transaction that may still read it has ended. The commit fails with errc::corrupt if p is
    /// not an allocated block of this size.
    void release(void* p, std::uint64_t bytes);

    // Transactions are ended by an exception. If a handler of the program (`catch (...)`) swallows
    // it, the transaction is aborted all the same: it never commits the part done so far.

    /// Aborts the transaction: it has no effect, and atomic() returns errc::aborted.
    [[noreturn]] static void abort();
    /// Aborts this attempt and runs the transaction again after a delay that grows.
    [[noreturn]] static void retry();
    /// Aborts the transaction: it has no effect, and atomic() returns `why`; errc::aborted if the
    /// program swallowed the exception.
    [[noreturn]] static void fail(error why);
    /// Aborts this attempt and retries, because of a conflict or because an epoch has to end first.
    [[noreturn]] static void meet_conflict();

    /// True if the transaction was started as read-only.
    [[nodiscard]] bool is_read_only() const noexcept { return read_only_; }
    /// True if p is in the transaction's heap. One comparison.
    [[nodiscard]] bool covers(const void* p) const noexcept {
        return (reinterpret_cast<std::uint64_t>(p) ^ base_) >> window_bits == 0;
    }
    /// The address of the object at `offset`, a word of the heap that may be damaged; `bytes` are
    /// the least that the object has. Ends the transaction (errc::corrupt) unless all of them lie
    /// in the region and offset is a multiple of 16. One comparison where the object does not lie
    /// at the region's end: rotated, an offset that is no multiple of 16 is larger than any region.
    [[nodiscard, gnu::always_inline]] inline std::byte* at_offset(std::uint64_t offset,
                                                                  std::uint64_t bytes) {
        if (std::rotr(offset, 4) > safe_units_ || bytes > end_bytes) [[unlikely]] {
            check_offset(offset, bytes);
        }
        return base() + offset;
    }
    /// How many elements of `each` bytes the region has room for from `first` on.
    template <std::uint64_t each>
    [[nodiscard]] std::uint64_t room_for(const void* first) {
        const std::uint64_t at = reinterpret_cast<std::uint64_t>(first) - base_;
        const std::uint64_t all = safe_units_ * 16 + end_bytes;
        return at < all ? (all - at) / each : 0;
    }
    /// Reads the region's size again: it may have grown since the attempt began.
    void measure() noexcept;
    /// The first byte of the heap's region.
    [[nodiscard]] std::byte* base() const noexcept { return reinterpret_cast<std::byte*>(base_); }
    /// The number of this attempt; no other attempt of any transaction in the process has it. A
    /// cursor stores it, so that one made by an attempt that was rolled back is refused later.
    [[nodiscard]] std::uint64_t serial() const noexcept { return serial_; }
    /// Number of the calling thread's lane in the heap: below 256, used by no other thread.
    [[nodiscard]] unsigned thread_number() const noexcept { return lane_; }

   private:
    friend class transactional;
    friend class context;  // the complete state: src/transaction/context.hpp
    friend class nv::detail::words_at_once;
    static constexpr std::uint64_t index_mask = (std::uint64_t{1} << detail::ownership_bits) - 1;
    static constexpr std::uint64_t none = ~std::uint64_t{0};
    static constexpr std::uint64_t end_bytes = 4096;

    transaction() = default;
    ~transaction() = default;

    static std::uint64_t index_of(const void* at) noexcept {
        return reinterpret_cast<std::uint64_t>(at) >> 6 & index_mask;
    }
    template <class B, class W>
    static auto as(W* at) noexcept {
        using lax [[gnu::may_alias]] = std::conditional_t<std::is_const_v<W>, const B, B>;
        return reinterpret_cast<lax*>(at);
    }
    /// Records a read. The read set must have room.
    void note_read(std::uint64_t index) {
        last_read_ = index;
        quiet_clock_ = &detail::no_clock_to_read_by;  // the clock has advanced: T1 from here on
        *reads_++ = static_cast<std::uint32_t>(index);
    }
    [[nodiscard]] static std::uint64_t units_before_end(std::uint64_t size) noexcept {
        return size < end_bytes ? 0 : (size - end_bytes) / 16;
    }
    [[gnu::cold, gnu::noinline]] void check_offset(std::uint64_t offset, std::uint64_t bytes);
    /// Ensures that the thread's transaction does not commit, even if its exception is swallowed.
    static void doom_running(bool begins_anew) noexcept;
    [[nodiscard, gnu::cold]] std::uint64_t load_slowly(const void* at, unsigned bytes);
    void store_slowly(void* at, unsigned bytes, std::uint64_t value);

    static inline thread_local constinit transaction* of_thread = nullptr;

    std::atomic<std::uint64_t>* ownership_ = nullptr;
    std::uint64_t base_ = 0;
    std::uint64_t safe_units_ = 0;  ///< 16 bytes each: end_bytes before the region's end
    /// The clock for T2; otherwise one that never equals the snapshot.
    const std::atomic<std::uint64_t>* quiet_clock_ = &detail::no_clock_to_read_by;
    std::uint64_t snapshot_ = 0;  ///< version; all words read are as of this commit
    std::uint64_t last_read_ = none;
    std::uint32_t* reads_ = nullptr;  ///< end of the read set: indices of ownership records
    std::uint32_t* reads_end_ = nullptr;
    std::uint64_t fresh_ = 0;  ///< the newest block of this transaction
    std::uint64_t fresh_bytes_ = 0;
    std::uint64_t serial_ = 0;
    unsigned lane_ = 0;
    bool read_only_ = false;
    bool doomed_ = false;       ///< must not commit: an exception was thrown, or left a nested call
    bool begins_anew_ = false;  ///< if doomed: retry, do not return an error
    bool has_copies_ = false;   ///< with isolation `alone`: has private copies of lines
};

/// The base of a heap that runs transactions.
class transactional {
   public:
    transactional(const transactional&) = delete;
    transactional& operator=(const transactional&) = delete;

    /// Runs `f(transaction&)` until it commits. Returns the result of f when the commit is durable.
    /// If f throws, the transaction has no effect and the exception is passed on. Within a
    /// transaction of the same heap, f becomes part of it; if f throws there, the whole transaction
    /// cannot commit any more. Errors: errc::aborted: f called abort(); no_space: the heap, the log
    /// or memory is full; usage: a transaction of another heap is running. f may run several times,
    /// so its effects on ordinary memory must allow repetition.
    template <class F>
    auto atomic(F&& f) {
        return run(f, false, nullptr);
    }
    /// As atomic(), but does not wait for durability: durable(when) tells when the commit is
    /// durable. On persistent memory it is at once.
    template <class F>
    auto later(F&& f, ticket& when) {
        return run(f, false, &when);
    }
    /// As atomic(), for a function that stores nothing: no flush, no fence, no wait.
    template <class F>
    auto read(F&& f) {
        return run(f, true, nullptr);
    }
    /// Waits until the commit of a later() call is durable. Must not run within a transaction.
    [[nodiscard]] virtual result<void> wait_durable(ticket when) = 0;
    [[nodiscard]] virtual bool durable(ticket when) const noexcept = 0;

   protected:
    transactional() = default;
    ~transactional() = default;

    // The thread is in a transaction from begin() until commit() or roll_back() returns.
    [[nodiscard]] virtual transaction& begin(bool read_only, unsigned attempt) = 0;
    /// False: the transaction must restart. May throw the same exceptions as the user's function.
    /// (An optional would be stored to the stack in two parts and loaded as one, and that load
    /// stalls until the preceding fence completes.)
    [[nodiscard]] virtual bool commit(transaction& t, ticket& done) = 0;
    /// `anew` is true if another attempt follows at once.
    virtual void roll_back(transaction& t, bool anew) noexcept = 0;
    /// Delays the next attempt; called outside of a transaction, after attempt number `attempt`.
    virtual void back_off(unsigned attempt, bool asked_for) noexcept = 0;
    /// Called after each commit, outside of the transaction.
    virtual void committed(ticket when) = 0;
    [[nodiscard]] virtual bool waits() const noexcept = 0;
    [[nodiscard]] virtual std::uint64_t base() const noexcept = 0;
    static void doom(transaction& t) noexcept { t.doomed_ = true; }
    [[nodiscard]] static error other_heap();
    [[nodiscard]] static error aborted();

   private:
    template <class F>
    auto run(F&& f, bool read_only, ticket* when) -> result<std::invoke_result_t<F&, transaction&>>;
    template <class F>
    auto join(F&& f, transaction& outer) -> result<std::invoke_result_t<F&, transaction&>>;
    template <class F>
    static auto call(F&& f, transaction& t) {
        using type = std::invoke_result_t<F&, transaction&>;
        if constexpr (std::is_void_v<type>) {
            f(t);
            return result<void>{};
        } else {
            return result<type>(f(t));
        }
    }
};

template <class F>
auto transactional::join(F&& f, transaction& outer)
    -> result<std::invoke_result_t<F&, transaction&>> {
    if (!outer.covers(reinterpret_cast<const void*>(base()))) {
        return tl::unexpected(other_heap());
    }
    try {
        return call(f, outer);
    } catch (...) {
        doom(outer);
        throw;
    }
}

template <class F>
auto transactional::run(F&& f, bool read_only, ticket* when)
    -> result<std::invoke_result_t<F&, transaction&>> {
    if (transaction* outer = transaction::running(); outer != nullptr) return join(f, *outer);
    for (unsigned attempt = 0;; ++attempt) {
        transaction* t = nullptr;
        bool asked_for = false;
        try {
            t = &begin(read_only, attempt);
            auto value = call(f, *t);
            if (ticket done = 0; commit(*t, done)) {
                committed(done);
                if (when != nullptr) {
                    *when = done;
                } else if (!read_only && waits()) {
                    if (auto ok = wait_durable(done); !ok) return tl::unexpected(ok.error());
                }
                return value;
            }
        } catch (const detail::transaction_conflict&) {
            if (t != nullptr) roll_back(*t, true);
        } catch (const detail::transaction_abort& a) {
            if (t != nullptr) roll_back(*t, false);
            if (!a.again) return tl::unexpected(aborted());
            asked_for = true;
        } catch (detail::transaction_failure& e) {
            if (t != nullptr) roll_back(*t, false);
            return tl::unexpected(std::move(e.why));
        } catch (...) {
            if (t != nullptr) roll_back(*t, false);
            throw;
        }
        back_off(attempt, asked_for);
    }
}

}  // namespace hf
