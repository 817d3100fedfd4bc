// holdfast/plain.hpp: transactions on plain memory, with plain loads and stores and no annotations.
//
// Purpose. A plain_memory is a file mapped into memory. One thread changes ordinary structs in it
// by ordinary stores. commit() makes everything stored since the last commit durable, as a whole;
// after a crash the memory is as the last commit left it. abort() takes everything since the last
// commit back. The changed lines are found automatically, by write protection of pages and a
// comparison (docs/plain_memory.md).
//
//     auto m = hf::plain_memory::open("bank.hf", {.bytes = 64 << 20}).value();
//     auto* bank = m.root<accounts>();             // zeros at first
//     auto ok = m.atomic([&] {                     // or stores, then m.commit() or m.abort()
//         bank->balance[3] -= 10;                  // plain stores, anywhere in m.memory()
//         bank->balance[4] += 10;
//     });
//
// A transaction begins with the first store after the previous one ended. The file holds two
// versions of each changed line: a commit writes each line once, to the place of its older version,
// and a record of some words a page (Ni et al., "Reducing NVM Writes with Optimized Shadow Paging",
// HotStorage 2018; src/plain/machine.hpp). It costs time for each page stored to since the last
// commit: a fault of the processor at the first store, and a comparison of 4 KiB. heap.hpp has
// transactions without that cost, for objects with accessors; snapshot.hpp has checkpoints, which
// are cheaper on a disk and cannot be aborted.
//
// Keep offsets, not addresses: the next session may map the memory elsewhere.
//
// Concurrency. One thread, the one that called open(). Others may read the memory with the
// program's own synchronisation; their stores belong to whatever transaction runs. In a child of
// fork() every function but memory() and stats() is an error (errc::usage).
//
// Errors. Functions return result<T>.
#pragma once

#include <holdfast/options.hpp>
#include <holdfast/result.hpp>
#include <holdfast/ticket.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

namespace hf {

struct plain_options {
    /// Minimum size of the memory in bytes, rounded up to 64 KiB. A smaller one is grown by zeros.
    std::uint64_t bytes = std::uint64_t{64} << 20;
    /// Only mode, max_size, memory, medium, flush, fence_latency_ns and first_epoch are used. The
    /// file takes up to twice the memory's size, and logs.
    region_options region;
};

struct plain_statistics {
    std::uint64_t bytes = 0;            ///< size of memory()
    bool created = false;               ///< open() created the file
    bool recovered = false;             ///< the file had not been closed when it was opened
    std::string tracking;               ///< how pages with stores are found: written, or all
    std::uint64_t commits = 0;          ///< in this session, that changed something
    std::uint64_t aborts = 0;           ///< in this session
    std::uint64_t pages_compared = 0;   ///< pages of 4 KiB, by commits and aborts
    std::uint64_t lines_committed = 0;  ///< lines of 64 bytes
    std::uint64_t slots = 0;       ///< pages of 4 KiB for second versions; 0 on the medium `file`
    std::uint64_t free_slots = 0;  ///< of these
};

class plain_memory {
   public:
    /// Opens the memory in the file `path`, or creates it if options.region.mode allows that.
    /// errc::incompatible: the file has another discipline; no_space: no room for that many bytes.
    static result<plain_memory> open(const std::filesystem::path& path,
                                     const plain_options& options = {});

    plain_memory(plain_memory&&) noexcept;
    plain_memory& operator=(plain_memory&&) noexcept;
    plain_memory(const plain_memory&) = delete;
    plain_memory& operator=(const plain_memory&) = delete;
    /// Closes the file if close() was not called; an error is then lost.
    ~plain_memory();

    /// Closes the file and unmaps the memory. Stores that are not committed are lost.
    result<void> close();

    /// The memory: 64 KiB aligned, zeros at first. It does not move until close().
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

    /// Commits everything stored since the last commit or abort; returns when it is durable. On
    /// persistent memory that takes one or two fences. After an error nothing is committed and the
    /// memory is as it was: abort(), or store and try again. errc::no_space: the transaction
    /// changes more pages than the file has room for, or the disk is full; denied: the file is open
    /// for inspection; usage: another thread opened it.
    result<void> commit();
    /// As commit(), but does not wait: on the medium `file` the transaction is atomic at once, and
    /// durable when wait_durable() of the ticket returns. On other media it is durable at once.
    result<ticket> commit_later();
    /// Waits until the commit of this ticket, and all before it, are durable. errc::no_space: the
    /// disk is full; it may become durable later.
    result<void> wait_durable(ticket t);
    /// Makes the memory what the last commit left. errc::denied, usage: as commit().
    result<void> abort();

    /// Runs f(), then commits. If f throws, or the commit fails, everything since the last commit
    /// is taken back, and the exception or the error is passed on.
    template <class F>
    result<void> atomic(F&& f) {
        try {
            f();
        } catch (...) {
            (void)abort();
            throw;
        }
        auto done = commit();
        if (!done) (void)abort();
        return done;
    }

    [[nodiscard]] plain_statistics stats() const;

    struct impl;

   private:
    explicit plain_memory(std::unique_ptr<impl> p) noexcept;
    std::unique_ptr<impl> impl_;
};

}  // namespace hf
