// holdfast/transaction.hpp: what a running transaction does at each load and store.
//
// Purpose. The transactions of NV-heaps (Coburn et al., ASPLOS 2011, section 3.5): all of what a
// transaction stored is there after a crash, or nothing; others see all of it or nothing; and what
// a transaction reads is at each moment a state that committed (opacity). Programs meet this class
// as the argument of heap::atomic (heap.hpp), whose persistent types call load() and store().
//
// The unit is the cache line: it is what is owned, what is copied, and what is written back. A
// table of ownership records, one for each line by a hash of its address, says who owns a line, or
// which commit changed it last. A store takes ownership at once (eager conflict detection) and goes
// to a private copy of the line; a commit makes the copies durable and only then puts them in place
// (src/transaction/). So memory that others can reach never holds what has not committed.
//
//    ownership record   | 0 | version of the last commit, 63 bits |
//                       | 1 | number of the owner                 |
//
// Reads (T1). load() takes the word between two looks at the line's record: it is unchanged, not
// owned, and not newer than the snapshot. So all words read belong to one moment: the snapshot's. A
// newer record moves the snapshot, if everything read so far is still as it was; else the attempt
// ends by an exception that atomic() catches, and begins anew.
//
// Reads by the clock (T2). A transaction that only reads, at its first attempt, may do with less.
// At its begin no commit was under way: so what memory held then is the snapshot. A commit moves
// the clock before it puts its first word in place. So while the clock, looked at behind each word,
// is still the snapshot, the word is of then. Once it is not, loads go by T1. But nothing was kept
// of what had been read, so the snapshot can't move: where it would have to, the attempt ends, and
// the next one goes by T1 from its begin.
//
//   commit: under way := 1; clock += 1 ... words in place, lines given back ... under way := 0
//   reader: snapshot := clock; is any commit under way? ... word; clock == snapshot?
//
// All stores are releases, the reader's loads acquire. A commit that the snapshot includes had said
// that it was under way; who finds that it is not any more sees its words. And who sees the word of
// a later commit sees the clock that it moved.
//
// Literature. Coburn et al.; Dice, Shalev, Shavit, "Transactional Locking II" (DISC 2006) for the
// versions and the clock; Felber, Fetzer, Riegel, "Dynamic Performance Tuning of Word-Based
// Software Transactional Memory" (PPoPP 2008) for moving snapshots; Guerraoui, Kapalka, "On the
// Correctness of Transactional Memory" (PPoPP 2008) for opacity; Dalessandro, Spear, Scott, "NOrec:
// Streamlining STM by Abolishing Ownership Records" (PPoPP 2010) for reading by the clock alone.
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

/// Ends an attempt from within the user's function; atomic() catches it. No std::exception, so that
/// a handler for these does not take it.
struct transaction_conflict {};
/// Asked for by the program: abort() and retry().
struct transaction_abort {
    bool again = false;
};
/// What it needs can't be had: the transaction ends, and atomic() returns the error.
struct transaction_failure {
    error why;
};

/// How much of a transaction a heap's layer has (nv/layers.hpp). Of an open heap, not of its file.
enum class isolation : std::uint8_t {
    threads,   ///< all of it
    alone,     ///< one thread: nothing is owned, nothing validated; atomic and durable
    in_place,  ///< one thread: stores go in place at once, and are durable with the epoch; what was
               ///< stored before an error stays
};

inline constexpr unsigned ownership_bits = 17;
inline constexpr std::uint64_t owned_flag = std::uint64_t{1} << 63;
/// A clock that no snapshot is of: for who does not read by the clock.
inline constinit std::atomic<std::uint64_t> no_clock_to_read_by{~std::uint64_t{0}};

template <std::size_t Bytes>
using bits_of = std::conditional_t<
    Bytes == 8, std::uint64_t,
    std::conditional_t<Bytes == 4, std::uint32_t,
                       std::conditional_t<Bytes == 2, std::uint16_t, std::uint8_t>>>;

}  // namespace detail

/// What one access may touch: 1, 2, 4 or 8 bytes, at a multiple of their number.
template <class W>
concept transactional_word = std::is_trivially_copyable_v<W> &&
                             (sizeof(W) == 1 || sizeof(W) == 2 || sizeof(W) == 4 || sizeof(W) == 8);

/// One attempt of a transaction, of one thread. Made by the heap; not for other threads.
class transaction {
   public:
    transaction(const transaction&) = delete;
    transaction& operator=(const transaction&) = delete;

    /// The calling thread's; nullptr: none is running.
    [[nodiscard]] static transaction* running() noexcept { return of_thread; }

    /// The word as of the snapshot, or as this transaction has stored it. Memory of its heap.
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
        // No call while the word is at hand: it would be kept on the stack on each way to here.
        if (record.load(std::memory_order_relaxed) == before && before <= snapshot_ &&
            (index == last_read_ || reads_ != reads_end_)) [[likely]] {
            if (index != last_read_) note_read(index);
            return std::bit_cast<W>(found);
        }
        return std::bit_cast<W>(static_cast<bits>(load_slowly(at, sizeof(W))));
    }

    /// The same for who has to meet an owner that has not committed yet: looks at the line's record
    /// whatever this transaction reads by, so that it ends where somebody else owns the line.
    template <transactional_word W>
    [[nodiscard]] W load_and_meet_owner(const W* at) {
        using bits = detail::bits_of<sizeof(W)>;
        return std::bit_cast<W>(static_cast<bits>(load_slowly(at, sizeof(W))));
    }

    /// The same where the heap's isolation is `alone`: nothing but this transaction's own copies
    /// can stand before the word in place.
    template <transactional_word W>
    [[nodiscard]] W load_alone(const W* at) {
        using bits = detail::bits_of<sizeof(W)>;
        if (!has_copies_) [[likely]]
            return std::bit_cast<W>(*as<bits>(at));
        return std::bit_cast<W>(static_cast<bits>(load_slowly(at, sizeof(W))));
    }

    /// Visible to others, and durable, with the commit. Memory of its heap.
    template <transactional_word W>
    void store(W* at, std::type_identity_t<W> value) {
        using bits = detail::bits_of<sizeof(W)>;
        if (reinterpret_cast<std::uint64_t>(at) - fresh_ < fresh_bytes_) {
            __atomic_store_n(as<bits>(at), std::bit_cast<bits>(value), __ATOMIC_RELEASE);
            return;
        }
        store_slowly(at, sizeof(W), std::bit_cast<bits>(value));
    }

    /// As load() and store() of each of the bytes, in pieces of up to 8 bytes. Consistent: all
    /// pieces are of one snapshot.
    void load_bytes(const void* at, void* to, std::size_t bytes);
    void store_bytes(void* at, const void* from, std::size_t bytes);
    /// As memmove, within the heap.
    void move_bytes(void* to, const void* from, std::size_t bytes);

    /// Says that the place will be used soon: for transactions that know many places ahead. Any
    /// address will do. Its line's record is fetched, too: it is out of the cache as often.
    /// (Inlined, or g++ takes a call for one that does nothing.)
    [[gnu::always_inline]] static inline void prefetch(const void* at) noexcept {
        __builtin_prefetch(at, 1);
        if (const transaction* const t = of_thread; t != nullptr) {
            __builtin_prefetch(t->ownership_ + index_of(at), 1);
        }
    }

    /// Memory of the heap that nobody else knows of, until what leads to it commits; gone if this
    /// transaction does not. At a multiple of 16 bytes, of 64 where the size is one; its bytes mean
    /// nothing. Ends the transaction where there is none (errc::no_space).
    [[nodiscard]] std::byte* allocate(std::uint64_t bytes);
    /// `bytes` as at its allocate(). Nobody gets it before every transaction that might know it has
    /// ended. The commit fails with errc::corrupt where it is no such memory.
    void release(void* p, std::uint64_t bytes);

    // What ends a transaction is an exception. It ends even if a handler of the program's own
    // (`catch (...)`) takes that: it never commits what was done up to there.

    /// Ends the transaction: nothing of it happened, and atomic() returns errc::aborted.
    [[noreturn]] static void abort();
    /// Nothing of it happened, and it is begun anew, after a while that grows.
    [[noreturn]] static void retry();
    /// Ends the transaction: nothing of it happened, and atomic() returns this error; errc::aborted
    /// where the program took the exception.
    [[noreturn]] static void fail(error why);
    /// Nothing of it happened, and it is begun anew: it has met another, or needs the epoch's end.
    [[noreturn]] static void meet_conflict();

    /// Whether it was begun as one that writes nothing.
    [[nodiscard]] bool is_read_only() const noexcept { return read_only_; }
    /// Whether p lies in the transaction's heap. One comparison.
    [[nodiscard]] bool covers(const void* p) const noexcept {
        return (reinterpret_cast<std::uint64_t>(p) ^ base_) >> window_bits == 0;
    }
    /// The address of the object at `offset`, a word of the heap that may be damaged; `bytes` are
    /// the least that the object has. Ends the transaction (errc::corrupt) unless all of them lie in
    /// the region and offset is a multiple of 16. One comparison where the object does not lie at
    /// the region's end: rotated, an offset that is no multiple of 16 is larger than any region.
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
    /// Looks at the region's size again: it may have grown since the attempt began.
    void measure() noexcept;
    /// The first byte of the heap's region.
    [[nodiscard]] std::byte* base() const noexcept { return reinterpret_cast<std::byte*>(base_); }
    /// The number of this attempt; no other attempt of any transaction in the process has it. A
    /// cursor stores it, so that one made by an attempt that was rolled back is refused later.
    [[nodiscard]] std::uint64_t serial() const noexcept { return serial_; }
    /// Of the calling thread's place in the heap: below 256, no other running transaction's.
    [[nodiscard]] unsigned thread_number() const noexcept { return lane_; }

   private:
    friend class transactional;
    friend class context;  // all of it: src/transaction/context.hpp
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
    /// There is room.
    void note_read(std::uint64_t index) {
        last_read_ = index;
        quiet_clock_ = &detail::no_clock_to_read_by;  // it has moved: looked at no more
        *reads_++ = static_cast<std::uint32_t>(index);
    }
    [[nodiscard]] static std::uint64_t units_before_end(std::uint64_t size) noexcept {
        return size < end_bytes ? 0 : (size - end_bytes) / 16;
    }
    [[gnu::cold, gnu::noinline]] void check_offset(std::uint64_t offset, std::uint64_t bytes);
    /// What runs on this thread will not commit, whoever takes the exception that follows.
    static void doom_running(bool begins_anew) noexcept;
    [[nodiscard, gnu::cold]] std::uint64_t load_slowly(const void* at, unsigned bytes);
    void store_slowly(void* at, unsigned bytes, std::uint64_t value);

    static inline thread_local constinit transaction* of_thread = nullptr;

    std::atomic<std::uint64_t>* ownership_ = nullptr;
    std::uint64_t base_ = 0;
    std::uint64_t safe_units_ = 0;  ///< 16 bytes each: end_bytes before the region's end
    /// T2; what no snapshot is of, where it does not read by the clock.
    const std::atomic<std::uint64_t>* quiet_clock_ = &detail::no_clock_to_read_by;
    std::uint64_t snapshot_ = 0;  ///< version; all words read are as of then
    std::uint64_t last_read_ = none;
    std::uint32_t* reads_ = nullptr;  ///< where the next one goes: indices of ownership records
    std::uint32_t* reads_end_ = nullptr;
    std::uint64_t fresh_ = 0;  ///< the newest block of this transaction
    std::uint64_t fresh_bytes_ = 0;
    std::uint64_t serial_ = 0;
    unsigned lane_ = 0;
    bool read_only_ = false;
    bool doomed_ = false;       ///< an exception has ended it, or left a part of it
    bool begins_anew_ = false;  ///< that was asked for by what has ended it
    bool has_copies_ = false;   ///< of lines, where the isolation is `alone`
};

/// What transactions run in: a heap, to programs.
class transactional {
   public:
    transactional(const transactional&) = delete;
    transactional& operator=(const transactional&) = delete;

    /// Runs `f(transaction&)` until it commits, and returns what it returned, durably done. An
    /// exception of f's ends the transaction, of which nothing happened, and comes out of here.
    /// Within a transaction of the same heap f becomes a part of it; if an exception leaves f
    /// there, the whole transaction can only end. errc::aborted: f called abort(); no_space: heap,
    /// log or memory are full; usage: a transaction of another heap is running. f may run more
    /// than once: what it does to ordinary memory should bear that.
    template <class F>
    auto atomic(F&& f) {
        return run(f, false, nullptr);
    }
    /// The same, without waiting: it is durable when durable(when) says so. On persistent memory it
    /// is at once.
    template <class F>
    auto later(F&& f, ticket& when) {
        return run(f, false, &when);
    }
    /// The same for what writes nothing: no flush, no fence, and nothing to wait for.
    template <class F>
    auto read(F&& f) {
        return run(f, true, nullptr);
    }
    /// Waits for what later() has begun. Not within a transaction.
    [[nodiscard]] virtual result<void> wait_durable(ticket when) = 0;
    [[nodiscard]] virtual bool durable(ticket when) const noexcept = 0;

   protected:
    transactional() = default;
    ~transactional() = default;

    // Between begin() and the end of one of the others the thread is in a transaction.
    [[nodiscard]] virtual transaction& begin(bool read_only, unsigned attempt) = 0;
    /// False: it must begin anew. May throw like the user's function. (An optional would be written
    /// to the stack in two parts and read as one, and that read waits for the fence before it.)
    [[nodiscard]] virtual bool commit(transaction& t, ticket& done) = 0;
    /// `anew`: another attempt follows at once.
    virtual void roll_back(transaction& t, bool anew) noexcept = 0;
    /// Outside of a transaction, so many attempts behind it.
    virtual void back_off(unsigned attempt, bool asked_for) noexcept = 0;
    /// Behind a commit, outside of it.
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
