// holdfast/checkpoint.hpp: structures of your own that survive crashes, at the price of a log in
// the cache line that they change anyway.
//
// Purpose. The building blocks of fine-grained checkpointing (Cohen, Aksun, Avni, Larus, ASPLOS
// 2019; its section 8 leaves structures other than Masstree open). A `checkpointed` is a file
// mapped into memory. Time is cut into epochs; after a crash everything in it is as it was at the
// end of the last completed one. You write ordinary code, and keep four rules:
//
//     auto file = hf::checkpointed::open("counts.hf").value();
//     struct counts { hf::logged<std::uint64_t> runs; };
//     {
//         hf::checkpointed::operation op(file);           // rule 1
//         auto* c = file.root<counts>();
//         c->runs.set(op, c->runs.get(op) + 1);           // rule 2
//     }
//     file.sync().value();                                // from here on no crash undoes it
//
//  1  Memory of the file is read and written inside of an operation, and belongs to its epoch.
//     Operations are short: an epoch ends only when all are over.
//  2  What was there when the epoch began is changed through something that logs it: logged<T> and
//     logged_words<N> for words, operation::log() for whole objects.
//  3  What is fresh (allocate()) is written as you like, and then noted: operation::note().
//  4  Pointers are offset_pointer (pointer.hpp) in fresh memory, logged<T*> where they change.
//
// On the medium. Logged words keep their values at the start of the epoch of their last change, and
// that epoch, beside them, in the same cache line:
//
//     logged_words<3>   | now 0 1 2 | before 0 1 2 | epoch | 8 |       one line
//     logged_words<2>   | now 0 1 | before 0 1 | epoch | 24 |          one line
//     logged<T>         | now | before | epoch | 8 |                   two in a line
//
// Invariants.
//  W1 The first set() in an epoch writes before := now, then the epoch, then now, each by a release
//     store into one line; stores to one line reach the medium in their order. So the medium has
//     the old values, or what leads back to them.
//  W2 get() gives the value that counts: where the epoch has failed, that of its start. It writes
//     nothing, so it needs no more protection than any read.
//  W3 An object is in the external log, durably so, before log() returns; only then may it change.
//
// Concurrency. Any number of threads, each with one operation at a time; they don't nest. Epochs
// are no locks: who may change a word, or an object, is your business, as in any program; readers
// of words may run beside their writer. Locks belong into ordinary memory: in the file they would
// be found locked after a crash.
//
// Recovery. open() undoes what objects have in the external log, and the allocator; words are
// undone when they are met. mend() meets all of them, after which the crash is forgotten. Without
// it everything works as well; but some 200 crashes can be remembered and no more, and an opening
// after so many is refused. must_mend() says when it is time.
//
// Full region. allocate() and log() return errc::no_space and have changed nothing. What the
// operation changed before stays: undoing it is the caller's.
//
// Bad use ends the process with a message: an operation inside of another, memory outside of the
// file, a word that crosses a cache line.
#pragma once

#include <holdfast/options.hpp>
#include <holdfast/pointer.hpp>
#include <holdfast/result.hpp>
#include <holdfast/statistics.hpp>
#include <holdfast/ticket.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <type_traits>

namespace hf {

struct checkpointed_options {
    region_options region;
    /// 1 ms to 10 s; 0: epochs end when sync(), wait_durable() or end_epoch() ends them.
    std::chrono::microseconds epoch = std::chrono::milliseconds(64);
    /// That apply the external log after a crash; 0: one a processor.
    unsigned recovery_threads = 0;
};

class checkpointed {
   public:
    struct impl;

    /// Bytes that root() has.
    static constexpr std::size_t root_bytes = 960;

    /// Opens the file, creating it where options.region.mode allows that.
    [[nodiscard]] static result<checkpointed> open(const std::filesystem::path& path,
                                                   const checkpointed_options& options = {});
    checkpointed(checkpointed&&) noexcept;
    checkpointed& operator=(checkpointed&&) noexcept;
    checkpointed(const checkpointed&) = delete;
    checkpointed& operator=(const checkpointed&) = delete;
    /// Closes where close() was not called; errors are then lost.
    ~checkpointed();
    /// Ends the last epoch and leaves the file. No operation may be running. An operation or root()
    /// behind it ends the process with a message; other calls are errc::usage, 0 or false.
    result<void> close();

    /// What everything else is reached from. Zeros at first, aligned to a cache line. A type whose
    /// all zero bytes are a good value to start with: logged words, offset pointers, plain numbers.
    template <class T>
    [[nodiscard]] T* root() const noexcept {
        static_assert(sizeof(T) <= root_bytes, "allocate what is larger, and keep a pointer to it");
        static_assert(std::is_trivially_destructible_v<T>, "what survives is never destroyed");
        return static_cast<T*>(root_address());
    }

    /// One visit to the file's memory: inside of an epoch from construction to destruction.
    class operation {
       public:
        explicit operation(checkpointed& file);
        ~operation();
        operation(const operation&) = delete;
        operation& operator=(const operation&) = delete;

        /// The epoch that all changes of the operation are part of: a ticket for wait_durable().
        [[nodiscard]] ticket written_in() const noexcept { return epoch_; }

        /// Memory of `bytes` bytes, holding anything; a crash in this epoch takes it back. Aligned
        /// to 16 bytes, or to a line where more is asked for (alignof(T) of a T with logged words),
        /// which takes 48 bytes more. errc::no_space.
        [[nodiscard]] result<void*> allocate(std::size_t bytes, std::size_t alignment = 16);
        /// Takes memory back, of as many bytes and as aligned as it was asked for. It keeps its
        /// contents until the epoch has ended.
        void deallocate(void* memory, std::size_t bytes, std::size_t alignment = 16);
        /// [p, p + bytes) of memory that was allocated in this epoch was written just now: it is to
        /// be durable with the epoch. What is written again is noted again.
        void note(const void* p, std::size_t bytes);
        /// The object at p, of at most 4,096 bytes and 8-byte aligned, may be changed by plain
        /// stores until the epoch ends. `stamp` is a word of the object's own that nobody else
        /// writes: it tells that this was done already. One fence, at the first call in an epoch.
        /// errc::no_space.
        [[nodiscard]] result<void> log(std::atomic<std::uint64_t>& stamp, const void* p,
                                       std::size_t bytes);

       private:
        template <unsigned N>
        friend class logged_words;
        // The slow sides of logged words.
        void begin_words(std::atomic<std::uint64_t>* words, unsigned n);
        [[nodiscard]] std::uint64_t old_word(const std::atomic<std::uint64_t>* words, unsigned n,
                                             unsigned i) const;

        alignas(std::uint64_t) std::byte inside_[3 * sizeof(std::uint64_t)];
        impl* file_;
        ticket epoch_;
        std::uint64_t horizon_;  ///< epochs from here on have not failed
    };

    /// Ends the running epoch. Not from inside of an operation, as the two below.
    void end_epoch();
    /// Returns once epoch t is durable. errc::no_space: the medium has no room; it may become so
    /// later.
    result<void> wait_durable(ticket t);
    /// Makes durable what was written before the call.
    result<void> sync();
    [[nodiscard]] ticket current_epoch() const noexcept;
    [[nodiscard]] ticket durable_epoch() const noexcept;

    /// Whether this opening made the file.
    [[nodiscard]] bool created() const noexcept;
    /// Whether it was not closed in order before this opening.
    [[nodiscard]] bool recovered() const noexcept;
    /// Epochs whose traces may still be met.
    [[nodiscard]] std::size_t failed_epochs() const;
    /// Whether half of the crashes that can be remembered have been, or so many epochs have passed
    /// that the allocator's short stamps would become ambiguous (years of 1 ms). Not from inside of
    /// an operation, as the one above.
    [[nodiscard]] bool must_mend() const;
    /// Calls `visit` until it returns false; each call is one operation, which sets some words, or
    /// logs some objects, that may not have been set since the crash. When all have been, and that
    /// is durable, the failed epochs are forgotten. Others may work meanwhile.
    result<void> mend(const std::function<bool(operation&)>& visit);

   private:
    friend struct checkpointed_inspection;
    explicit checkpointed(std::unique_ptr<impl> p) noexcept;
    [[nodiscard]] void* root_address() const noexcept;
    std::unique_ptr<impl> impl_;
};

/// N words of 8 bytes and their log, in one cache line. All zeros are zeros.
template <unsigned N>
class alignas(N == 1 ? 32 : 64) logged_words {
    static_assert(N >= 1 && N <= 3, "seven words fit into a line: N, N before, and the epoch");

   public:
    [[nodiscard]] std::uint64_t get(const checkpointed::operation& op, unsigned i) const {
        const std::uint64_t epoch = words_[2 * N].load(std::memory_order_acquire);
        if (epoch < op.horizon_) [[unlikely]] {
            return op.old_word(words_.data(), N, i);
        }
        return words_[i].load(std::memory_order_acquire);
    }
    void set(checkpointed::operation& op, unsigned i, std::uint64_t value) {
        if (words_[2 * N].load(std::memory_order_relaxed) != op.epoch_) [[unlikely]] {
            op.begin_words(words_.data(), N);
        }
        words_[i].store(value, std::memory_order_release);
    }
    /// Nothing changes but that the words are undone, if they have to be: for mend().
    void mend(checkpointed::operation& op) { set(op, 0, get(op, 0)); }

   private:
    std::array<std::atomic<std::uint64_t>, 2 * N + 1> words_{};
};

/// A value of at most 8 bytes, or a pointer into the same file, and its log.
template <class T>
class logged {
    // Of a pointer the size of the pointer is meant.
    // NOLINTNEXTLINE(bugprone-sizeof-expression)
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t),
                  "a word of 8 bytes is logged; use several, or operation::log()");

   public:
    [[nodiscard]] T get(const checkpointed::operation& op) const {
        return from_word(word_.get(op, 0));
    }
    void set(checkpointed::operation& op, T value) { word_.set(op, 0, to_word(value)); }
    void mend(checkpointed::operation& op) { word_.mend(op); }

   private:
    [[nodiscard]] T from_word(std::uint64_t word) const {
        if constexpr (std::is_pointer_v<T>) {
            return word == 0 ? nullptr : reinterpret_cast<T>(window_base(this) + word);
        } else {
            std::array<std::byte, sizeof(T)> bytes;
            for (std::size_t i = 0; i < sizeof(T); ++i) {
                bytes[i] = static_cast<std::byte>(word >> 8 * i);
            }
            return std::bit_cast<T>(bytes);
        }
    }
    [[nodiscard]] std::uint64_t to_word(T value) const {
        if constexpr (std::is_pointer_v<T>) {
            return offset_for(this, value);
        } else {
            const auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
            std::uint64_t word = 0;
            for (std::size_t i = 0; i < sizeof(T); ++i) word |= std::uint64_t(bytes[i]) << 8 * i;
            return word;
        }
    }
    logged_words<1> word_;
};

}  // namespace hf
