// journal/block_file.hpp: the file interface of the journal: read, write, sync, extend.
//
// Purpose. All disk accesses of the medium `file` go through this layer, so that the crash lab can
// replace it by a model of a disk that keeps, drops, tears and reorders unsynced writes
// (docs/journal.md).
// Guarantees of a disk. After sync() has returned, everything written before is durable. Before
// that, each 512-byte sector has its old content or any that was written since the last sync,
// independently of the other sectors.
// Errors. errc::no_space if the file system is full, io otherwise. A failed sync is never retried:
// the state of the data that it covered is unknown.
#pragma once

#include <holdfast/result.hpp>

#include "base/bits.hpp"

#include <mutex>
#include <span>
#include <string>
#include <utility>

namespace hf::journal {

inline constexpr u64 sector_size = 512;

class block_file {
   public:
    block_file() = default;
    block_file(const block_file&) = delete;
    block_file& operator=(const block_file&) = delete;
    virtual ~block_file() = default;

    /// Writes the pieces consecutively, from `offset` on.
    [[nodiscard]] virtual result<void> write(
        u64 offset, std::span<const std::span<const std::byte>> pieces) = 0;
    /// errc::corrupt if the file is too short.
    [[nodiscard]] virtual result<void> read(u64 offset, std::span<std::byte> into) = 0;
    /// Makes everything written durable, including the file's length.
    [[nodiscard]] virtual result<void> sync() = 0;
    /// Extends the file to `bytes`, with its blocks allocated.
    [[nodiscard]] virtual result<void> extend(u64 bytes) = 0;
    [[nodiscard]] virtual result<u64> size() = 0;
    [[nodiscard]] virtual std::string name() const = 0;
    /// Hint: this range will be read soon.
    virtual void begin_read(u64 /*offset*/, u64 /*bytes*/) noexcept {}
    /// Hint: the disk may begin to write this range, which shortens the next sync. Errors are
    /// reported by sync().
    virtual void begin_write_back(u64 /*offset*/, u64 /*bytes*/) noexcept {}

    [[nodiscard]] result<void> write(u64 offset, std::span<const std::byte> bytes) {
        return write(offset, std::span(&bytes, 1));
    }
};

/// A file on a descriptor that the caller keeps open.
class posix_file final : public block_file {
   public:
    posix_file(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}

    using block_file::write;
    [[nodiscard]] result<void> write(u64 offset,
                                     std::span<const std::span<const std::byte>> pieces) override;
    [[nodiscard]] result<void> read(u64 offset, std::span<std::byte> into) override;
    [[nodiscard]] result<void> sync() override;
    [[nodiscard]] result<void> extend(u64 bytes) override;
    [[nodiscard]] result<u64> size() override;
    [[nodiscard]] std::string name() const override { return name_; }
    void begin_read(u64 offset, u64 bytes) noexcept override;
    void begin_write_back(u64 offset, u64 bytes) noexcept override;

   private:
    int fd_;
    std::string name_;
    std::mutex sync_mutex_;
    /// the kernel reports an error once, possibly to another thread's sync
    bool has_failed_ = false;
};

}  // namespace hf::journal
