// holdfast/snapshot.hpp: memory of your own that survives, with plain stores and nothing to
// annotate.
//
// Purpose. A snapshot is a file mapped into memory: ordinary structs live in it, and are changed by
// ordinary stores. checkpoint() makes what memory holds at that moment the state that a crash goes
// back to, whole or not at all. Which lines changed is found out by itself (docs/snapshot.md).
//
//     auto s = hf::snapshot::open("game.hf", {.bytes = 64 << 20}).value();
//     auto* game = s.root<game_state>();      // zeros at first
//     game->score += 1;                       // plain stores, anywhere in s.memory()
//     s.checkpoint_durably().value();         // from here on no crash undoes them
//
// Keep offsets, not addresses: the memory may lie elsewhere at the next opening.
//
// Quiescence. No thread may store while a checkpoint is taken, or half of a change may be in it.
// With one thread, or where you stop the others yourself, that is all there is to it. Otherwise
// each thread stores while it holds a guard only: a checkpoint waits for the guards, and a new
// guard for the checkpoint. With options.epoch set checkpoints are taken by a clock as well, and
// then every store must be made under a guard.
//
// Concurrency. All member functions but close() may be called by up to 255 threads; none but
// memory(), root(), stats() and durable() by a thread that holds a guard.
//
// Errors. Functions return result<T>. The file must lie on a disk, or be treated so
// (options.region.medium): on persistent memory and tmpfs a plain store reaches the medium by
// itself, and what reached it cannot be undone.
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

/// How pages that were stored to are found. What the kernel lacks is replaced by the next one.
enum class page_tracking : std::uint8_t {
    written = 1,  ///< those stored to since the last checkpoint (Linux 6.7)
    copies = 2,   ///< those stored to since they were last read from the file
    all = 3,      ///< all of them
};

struct snapshot_options {
    /// Memory to be had, at least; rounded up to 64 KiB. A snapshot that has less is grown.
    std::uint64_t bytes = std::uint64_t{64} << 20;
    /// 1 ms to 10 s: a clock takes checkpoints, too. 0: only those who ask for one.
    std::chrono::microseconds epoch{0};
    page_tracking tracking = page_tracking::written;
    /// mode, max_size, memory, medium and first_epoch count.
    region_options region;
};

struct snapshot_statistics {
    ticket epoch = 0;         ///< running: what is stored now will be durable with it
    ticket durable = 0;       ///< newest durable one
    bool created = false;     ///< by this opening
    bool recovered = false;   ///< this opening found it not closed in order
    std::uint64_t bytes = 0;  ///< of memory()
    std::string tracking;     ///< the way that is in use: written, copies or all; empty: none
    std::uint64_t pages_looked_at = 0;  ///< of 4 KiB
    std::uint64_t lines_found = 0;      ///< of 64 bytes, on these pages, for checkpoints
    std::uint64_t last_look_ns = 0;     ///< of the last checkpoint's pause: finding these lines
    pause_statistics pause;             ///< for how long guards had to wait for checkpoints
    journal_statistics journal;
};

class snapshot {
   public:
    /// Opens the snapshot in the file `path`, creating it where options.region.mode allows that.
    /// errc::medium: not on a disk; incompatible: the file is of another discipline.
    static result<snapshot> open(const std::filesystem::path& path,
                                 const snapshot_options& options = {});

    snapshot(snapshot&&) noexcept;
    snapshot& operator=(snapshot&&) noexcept;
    snapshot(const snapshot&) = delete;
    snapshot& operator=(const snapshot&) = delete;
    /// Closes where close() was not called; errors are then lost.
    ~snapshot();

    /// Makes what memory holds durable and leaves one file. Nothing else may be running. The memory
    /// is gone with it, whatever it returns: errc::no_space says that the newest stores are, too.
    result<void> close();

    /// Yours, all of it; 64 KiB aligned, zeros at first. It stays where it is until close(); grow()
    /// makes it longer.
    [[nodiscard]] std::span<std::byte> memory() const noexcept;

    /// What lies at the start of memory(); nullptr: that is too small. A type whose all zero bytes
    /// are a good value to start with.
    template <class T>
    [[nodiscard]] T* root() const noexcept {
        static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
                      "what survives is bytes: no virtual functions, no containers");
        static_assert(alignof(T) <= 4096, "no better alignment can be had");
        return sizeof(T) <= memory().size() ? reinterpret_cast<T*>(memory().data()) : nullptr;
    }

    /// Appends that many bytes of zeros, rounded up to 64 KiB; part of the next checkpoint.
    /// errc::no_space: the disk or options.region.max_size is at its end; nothing changed then.
    result<void> grow(std::uint64_t bytes);

    /// What memory holds now is to survive. Returns when it is copied, before it is durable; waits
    /// for the disk when two checkpoints are on their way already. errc::no_space: there is no room
    /// on the disk, and none was taken; denied: it is open for inspection.
    result<ticket> checkpoint();
    /// Waits until that checkpoint is durable. errc::no_space: it is not, for want of room; it may
    /// become so later.
    result<void> wait_durable(ticket t);
    /// Both.
    result<void> checkpoint_durably();
    /// The newest durable checkpoint.
    [[nodiscard]] ticket durable() const noexcept;

    /// Whether this opening made the file. To tell whether there is something in it, look there: it
    /// is all zeros until the first checkpoint is durable, in this process or a later one.
    [[nodiscard]] bool created() const noexcept;
    /// Whether the file was not closed in order: memory is as at the last durable checkpoint.
    [[nodiscard]] bool recovered() const noexcept;
    [[nodiscard]] snapshot_statistics stats() const;

    /// While it lives, no checkpoint is taken. One at a time in each thread, in the thread that
    /// made it; keep it short, for others may wait. Making one waits where the disk cannot keep up.
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
