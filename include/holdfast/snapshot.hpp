// holdfast/snapshot.hpp: persistent memory for ordinary structs, with plain stores and no
// annotations.
//
// Purpose. A snapshot is a file mapped into memory. Ordinary structs are stored in it and changed
// by ordinary stores. checkpoint() saves the current contents of the memory; after a crash the file
// is restored to the last durable checkpoint, as a whole. The changed lines are found automatically
// (docs/snapshot.md).
//
//     auto s = hf::snapshot::open("game.hf", {.bytes = 64 << 20}).value();
//     auto* game = s.root<game_state>();      // zeros at first
//     game->score += 1;                       // plain stores, anywhere in s.memory()
//     s.checkpoint_durably().value();         // durable from here on
//
// Keep offsets, not addresses: the next session may map the memory elsewhere.
//
// Quiescence. No thread may store while a checkpoint is taken; otherwise a checkpoint may contain
// half of a change. With one thread, or if the program stops its threads itself, nothing more is
// needed. Otherwise each thread stores only while it holds a guard: a checkpoint waits for the
// guards, and a new guard waits for the checkpoint. With options.epoch set, a clock takes
// checkpoints too, and then every store needs a guard.
//
// Concurrency. All member functions except close() may be called by up to 255 threads. A thread
// that holds a guard may call only memory(), root(), stats() and durable().
//
// Image. Memory is private to the process on every medium, with a journal beside the file: a store
// to memory shared with the file could not be undone.
//
// Errors. Functions return result<T>.
#pragma once

#include <holdfast/options.hpp>
#include <holdfast/result.hpp>
#include <holdfast/statistics.hpp>
#include <holdfast/ticket.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

namespace hf {

/// How pages with stores are found. If the kernel lacks a method, the next one is used.
enum class page_tracking : std::uint8_t {
    written = 1,  ///< pages stored to since the last checkpoint (Linux 6.7)
    copies = 2,   ///< pages stored to since they were last read from the file
    all = 3,      ///< all pages
};

struct snapshot_options {
    /// Minimum size of the memory in bytes, rounded up to 64 KiB. A smaller snapshot is grown.
    std::uint64_t bytes = std::uint64_t{64} << 20;
    /// Interval of a clock that takes checkpoints, 1 ms to 10 s. 0: no clock.
    std::chrono::microseconds epoch{0};
    page_tracking tracking = page_tracking::written;
    /// Only mode, max_size, memory, medium and first_epoch are used.
    region_options region;
};

struct snapshot_statistics {
    ticket epoch = 0;         ///< the running epoch: stores made now become durable with it
    ticket durable = 0;       ///< the newest durable epoch
    bool created = false;     ///< open() created the file
    bool recovered = false;   ///< the file had not been closed when it was opened
    std::uint64_t bytes = 0;  ///< size of memory()
    std::string tracking;     ///< the method in use: written, copies or all; empty: none
    std::uint64_t pages_looked_at = 0;  ///< pages of 4 KiB that checkpoints compared
    std::uint64_t lines_found = 0;      ///< changed lines of 64 bytes found on these pages
    std::uint64_t last_look_ns = 0;     ///< time of the last checkpoint to find these lines
    pause_statistics pause;             ///< how long guards waited for checkpoints
    journal_statistics journal;
};

class snapshot {
   public:
    /// Opens the snapshot in the file `path`, or creates it if options.region.mode allows that.
    /// errc::usage: a shared image; incompatible: the file has another discipline.
    static result<snapshot> open(const std::filesystem::path& path,
                                 const snapshot_options& options = {});

    snapshot(snapshot&&) noexcept;
    snapshot& operator=(snapshot&&) noexcept;
    snapshot(const snapshot&) = delete;
    snapshot& operator=(const snapshot&) = delete;
    /// Closes the file if close() was not called; an error is then lost.
    ~snapshot();

    /// Makes the current contents durable, removes the journal and closes the file. No other call
    /// may be running. The memory is unmapped whatever this returns; after errc::no_space the
    /// stores since the last durable checkpoint are lost.
    result<void> close();

    /// The persistent memory: 64 KiB aligned, zeros at first. It does not move until close();
    /// grow() extends it.
    [[nodiscard]] std::span<std::byte> memory() const noexcept;

    /// The object at the start of memory(); nullptr if memory() is too small. T must be valid when
    /// all its bytes are zero.
    template <class T>
    [[nodiscard]] T* root() const noexcept {
        static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
                      "what survives is bytes: no virtual functions, no containers");
        static_assert(alignof(T) <= 4096, "no better alignment can be had");
        return sizeof(T) <= memory().size() ? reinterpret_cast<T*>(memory().data()) : nullptr;
    }

    /// Appends `bytes` zero bytes, rounded up to 64 KiB; they are part of the next checkpoint.
    /// errc::no_space: the disk is full, or options.region.max_size is reached; nothing changes.
    result<void> grow(std::uint64_t bytes);

    /// Takes a checkpoint of the current contents. Returns when they are copied, before they are
    /// durable; waits for the disk if two checkpoints are in flight. errc::no_space: the disk is
    /// full, and no checkpoint was taken; denied: the file is open for inspection.
    result<ticket> checkpoint();
    /// Waits until checkpoint `t` is durable. errc::no_space: the disk is full; the checkpoint may
    /// become durable later.
    result<void> wait_durable(ticket t);
    /// checkpoint(), then wait_durable().
    result<void> checkpoint_durably();
    /// The newest durable checkpoint.
    [[nodiscard]] ticket durable() const noexcept;

    /// True if open() created the file. This does not tell whether there is data: the memory is all
    /// zeros until the first checkpoint is durable, in this process or a later one.
    [[nodiscard]] bool created() const noexcept;
    /// True if the file had not been closed: the memory is that of the last durable checkpoint.
    [[nodiscard]] bool recovered() const noexcept;
    [[nodiscard]] snapshot_statistics stats() const;

    /// Delays checkpoints while it exists. At most one a thread, destroyed by the thread that made
    /// it. Keep it short: a checkpoint and all new guards wait for it. The constructor waits if the
    /// disk cannot keep up.
    class guard {
       public:
        explicit guard(const snapshot& s);
        ~guard();
        guard(const guard&) = delete;
        guard& operator=(const guard&) = delete;
        /// The checkpoint that the stores under this guard will be part of.
        [[nodiscard]] ticket written_in() const noexcept { return epoch_; }

       private:
        alignas(std::uint64_t) std::byte inside_[sizeof(std::uint64_t)];
        ticket epoch_;
    };

    struct impl;

   private:
    explicit snapshot(std::unique_ptr<impl> p) noexcept;
    std::unique_ptr<impl> impl_;
};

}  // namespace hf
