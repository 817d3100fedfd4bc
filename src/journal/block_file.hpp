// journal/block_file.hpp: a file as the journal sees it: read, write, sync, and nothing else.
//
// Purpose. Everything that the medium `file` asks of a disk goes through this layer, so that the
//  crash lab can put a model of a disk under the journal: one that keeps, drops, tears and reorders
//  what was not synced (docs/journal.md).
// What a disk promises. After sync() returned, all that was written before is durable. Before that,
//  each 512-byte sector holds its old content or any that was written since the last sync, whatever
//  the others hold.
// Errors. errc::no_space when the file system is full, io otherwise. A sync that failed is never
//  tried again: what it covered is unknown from then on.
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

    /// Several pieces, one behind the other, from `offset` on.
    [[nodiscard]] virtual result<void> write(
        u64 offset, std::span<const std::span<const std::byte>> pieces) = 0;
    /// errc::corrupt when the file ends before.
    [[nodiscard]] virtual result<void> read(u64 offset, std::span<std::byte> into) = 0;
    /// All that was written is durable, the file's length too.
    [[nodiscard]] virtual result<void> sync() = 0;
    /// Makes the file `bytes` long, really allocated.
    [[nodiscard]] virtual result<void> extend(u64 bytes) = 0;
    [[nodiscard]] virtual result<u64> size() = 0;
    [[nodiscard]] virtual std::string name() const = 0;
    /// This will be read soon. Promises nothing.
    virtual void begin_read(u64 /*offset*/, u64 /*bytes*/) noexcept {}
    /// The disk may begin with what was written there, which shortens the next sync. Promises
    /// nothing; what fails, sync() says.
    virtual void begin_write_back(u64 /*offset*/, u64 /*bytes*/) noexcept {}

    [[nodiscard]] result<void> write(u64 offset, std::span<const std::byte> bytes) {
        return write(offset, std::span(&bytes, 1));
    }
};

/// On a descriptor that the caller keeps open.
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
    bool has_failed_ = false;  ///< the kernel says so once, and perhaps to another thread's sync
};

}  // namespace hf::journal
