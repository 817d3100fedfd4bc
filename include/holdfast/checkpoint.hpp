// holdfast/checkpoint.hpp: user-defined structures that survive crashes; the undo log of a word is
// in its own cache line.
//
// Purpose. The building blocks of fine-grained checkpointing (Cohen, Aksun, Avni, Larus, ASPLOS
// 2019; its section 8 leaves structures other than Masstree open). A `checkpointed` is a file
// mapped into memory. Time is divided into epochs. After a crash the file is restored to the end of
// the last completed epoch. The program is ordinary code that keeps four rules:
//
//     auto file = hf::checkpointed::open("counts.hf").value();
//     struct counts { hf::logged<std::uint64_t> runs; };
//     {
//         hf::checkpointed::operation op(file);           // rule 1
//         auto* c = file.root<counts>();
//         c->runs.set(op, c->runs.get(op) + 1);           // rule 2
//     }
//     file.sync().value();                                // durable from here on
//
//  1  Read and write the file's memory only while an operation object exists; all changes belong to
//     its epoch. Keep operations short: an epoch ends only when no operation is running.
//  2  Change memory that existed at the start of the epoch only through something that logs it:
//     logged<T> and logged_words<N> for words, operation::log() for whole objects.
//  3  Write memory from allocate() freely in the epoch of its allocation, then call
//     operation::note() for the bytes written.
//  4  Pointers are offset_pointer (pointer.hpp) in newly allocated memory, and logged<T*> where
//     they change later.
//
// On the medium. Logged words have, in the same cache line, their values at the start of the epoch
// of their last change, and the number of that epoch:
//
//
//     logged_words<3>   | now 0 1 2 | before 0 1 2 | epoch | 8 |       one line
//     logged_words<2>   | now 0 1 | before 0 1 | epoch | 24 |          one line
//     logged<T>         | now | before | epoch | 8 |                   two in a line
//
// Invariants.
//  W1 The first set() in an epoch writes before := now, then the epoch, then now, each by a release
//     store into one line. Stores to one line reach the medium in program order, so the medium
//     always has either the old values or the record from which they are restored.
//  W2 get() returns the current value, or the value at the epoch's start if that epoch failed. It
//     writes nothing, so it needs no more protection than any read.
//  W3 The object's old contents are durable in the external log before log() returns. Only after
//     that may the object change.
//
// Concurrency. Any number of threads, each with at most one operation at a time; operations do not
// nest. Epochs are not locks: the program synchronises access to its words and objects as usual.
// A word may be read while another thread writes it. Keep locks in ordinary memory; a lock in the
// file would still be held after a crash.
//
// Recovery. open() restores the objects in the external log and the allocator's state. A word of a
// failed epoch is restored at the next access. mend() restores all of them; afterwards the failed
// epochs are forgotten. mend() is optional, but a file can remember only about 200 failed epochs,
// and open() fails when there are more. must_mend() tells when it is time.
//
// Full region. allocate() and log() return errc::no_space and change nothing. Changes that the
// operation made earlier remain; the caller has to undo them.
//
// Misuse ends the process with a message: a nested operation, an address outside of the file, a
// logged word that crosses a cache line.
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
    /// Length of an epoch, 1 ms to 10 s. 0: only sync(), wait_durable() and end_epoch() end epochs.
    std::chrono::microseconds epoch = std::chrono::milliseconds(64);
    /// Threads that apply the external log after a crash; 0: one a processor.
    unsigned recovery_threads = 0;
};

class checkpointed {
   public:
    struct impl;

    /// Size of the root object, in bytes.
    static constexpr std::size_t root_bytes = 960;

    /// Opens the file, or creates it if options.region.mode allows that.
    [[nodiscard]] static result<checkpointed> open(const std::filesystem::path& path,
                                                   const checkpointed_options& options = {});
    checkpointed(checkpointed&&) noexcept;
    checkpointed& operator=(checkpointed&&) noexcept;
    checkpointed(const checkpointed&) = delete;
    checkpointed& operator=(const checkpointed&) = delete;
    /// Closes the file if close() was not called; an error is then lost.
    ~checkpointed();
    /// Ends the last epoch and closes the file. No operation may be running. Afterwards, creating
    /// an operation or calling root() ends the process with a message; other calls return
    /// errc::usage, 0 or false.
    result<void> close();

    /// The root object: zero-initialised, cache-line aligned. T must be valid when all its bytes
    /// are zero: logged words, offset pointers, plain numbers.
    template <class T>
    [[nodiscard]] T* root() const noexcept {
        static_assert(sizeof(T) <= root_bytes, "allocate what is larger, and keep a pointer to it");
        static_assert(std::is_trivially_destructible_v<T>, "what survives is never destroyed");
        return static_cast<T*>(root_address());
    }

    /// Access to the file's memory. The epoch cannot end between construction and destruction.
    class operation {
       public:
        explicit operation(checkpointed& file);
        ~operation();
        operation(const operation&) = delete;
        operation& operator=(const operation&) = delete;

        /// The epoch that all changes of the operation belong to: a ticket for wait_durable().
        [[nodiscard]] ticket written_in() const noexcept { return epoch_; }

        /// Allocates `bytes` bytes of undefined contents; a crash in this epoch frees them again.
        /// `alignment` is 16, or more for types with logged words (alignof(T)): then the block is
        /// aligned to a cache line and takes 48 bytes more. errc::no_space: the region is full.
        [[nodiscard]] result<void*> allocate(std::size_t bytes, std::size_t alignment = 16);
        /// Frees a block; `bytes` and `alignment` are those of its allocate(). The contents stay
        /// unchanged until the epoch has ended.
        void deallocate(void* memory, std::size_t bytes, std::size_t alignment = 16);
        /// Registers [p, p + bytes), of memory allocated in this epoch, to be made durable at the
        /// end of the epoch. Call it after the stores, and again after later stores.
        void note(const void* p, std::size_t bytes);
        /// Logs the object at p (at most 4,096 bytes, 8-byte aligned); from the return until the
        /// end of the epoch plain stores may change it. `stamp` is a word of the object that only
        /// log() writes; it records the epoch, so that further calls in the same epoch do nothing.
        /// The first call in an epoch costs one fence. errc::no_space: the log is full.
        [[nodiscard]] result<void> log(std::atomic<std::uint64_t>& stamp, const void* p,
                                       std::size_t bytes);

       private:
        template <unsigned N>
        friend class logged_words;
        // Out-of-line slow paths of logged words.
        void begin_words(std::atomic<std::uint64_t>* words, unsigned n);
        [[nodiscard]] std::uint64_t old_word(const std::atomic<std::uint64_t>* words, unsigned n,
                                             unsigned i) const;

        alignas(std::uint64_t) std::byte inside_[3 * sizeof(std::uint64_t)];
        impl* file_;
        ticket epoch_;
        std::uint64_t horizon_;  ///< no epoch from this number on has failed
    };

    /// Ends the running epoch. An operation of this thread must not exist; this also holds for
    /// wait_durable() and sync().
    void end_epoch();
    /// Returns when epoch t is durable. errc::no_space: the medium is full; the epoch may become
    /// durable later.
    result<void> wait_durable(ticket t);
    /// Makes everything durable that was written before the call.
    result<void> sync();
    [[nodiscard]] ticket current_epoch() const noexcept;
    [[nodiscard]] ticket durable_epoch() const noexcept;

    /// True if open() created the file.
    [[nodiscard]] bool created() const noexcept;
    /// True if the file had not been closed when it was opened: it was recovered.
    [[nodiscard]] bool recovered() const noexcept;
    /// Number of failed epochs that words in the file may still refer to.
    [[nodiscard]] std::size_t failed_epochs() const;
    /// True if half of the failed epochs that a file can remember are used up, or after so long a
    /// time that the allocator's short epoch stamps would become ambiguous (years, with
    /// epochs of 1 ms). Neither this nor failed_epochs() may be called within an operation.
    [[nodiscard]] bool must_mend() const;
    /// Restores all words and objects of failed epochs. Calls `visit` until it returns false, each
    /// time with a new operation; the visitor calls logged_words::mend() or operation::log() on
    /// words and objects that may not have been written since the crash. When it has visited all,
    /// and that is durable, the failed epochs are forgotten. Other threads may run operations
    /// meanwhile.
    result<void> mend(const std::function<bool(operation&)>& visit);

   private:
    friend struct checkpointed_inspection;
    explicit checkpointed(std::unique_ptr<impl> p) noexcept;
    [[nodiscard]] void* root_address() const noexcept;
    std::unique_ptr<impl> impl_;
};

/// N words of 8 bytes and their undo log, in one cache line. All bytes zero: all words are zero.
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
    /// Restores the words if their epoch failed; otherwise writes them unchanged. For mend().
    void mend(checkpointed::operation& op) { set(op, 0, get(op, 0)); }

   private:
    std::array<std::atomic<std::uint64_t>, 2 * N + 1> words_{};
};

/// A value of at most 8 bytes, or a pointer into the same file, with its undo log.
template <class T>
class logged {
    // For a pointer, sizeof() is meant to be the size of the pointer.
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
