// journal/mapped_file.hpp: a file on tmpfs or persistent memory, written by stores.
//
// Purpose. The files of a journal beside a region that does not lie on a disk
//  (region_options::image). There write(2) and fdatasync(2) would cost more than what they do.
// Persist order. Each write is streamed and fenced by the thread that makes it, so it is durable
//  when it returns, whichever thread calls sync() (medium.hpp I2). sync() covers what stores do
//  not: the file's length and blocks, if the length changed. On tmpfs nothing is flushed; the order
//  of stores is what survives the process.
//  So a crash leaves of a write any subset of its 8-byte words, not only of its sectors; a write
//  that returned is complete. journal/ and layout.hpp need no more: a chunk counts by its
//  checksum, a header has two slots, and of a superblock that is being overwritten recovery reads
//  single words (redo.cpp).
// Concurrency. As block_file. Mappings are made on demand, in pieces that stay until the end.
// Full disk. Only extend() allocates; no store goes to a page that has no block.
#pragma once

#include "journal/block_file.hpp"
#include "persist/medium.hpp"

#include <mutex>
#include <vector>

namespace hf::journal {

class mapped_file final : public block_file {
   public:
    static constexpr u64 default_piece = u64{256} << 20;

    /// A file on a descriptor that the caller keeps open for writing. `med`: a shared mapping's.
    /// `piece`: bytes of a mapping, a multiple of 4,096.
    mapped_file(int fd, std::string name, const medium& med, u64 piece = default_piece);
    ~mapped_file() override;

    using block_file::write;
    /// errc::corrupt if the file ends before the end of the range.
    [[nodiscard]] result<void> write(u64 offset,
                                     std::span<const std::span<const std::byte>> pieces) override;
    [[nodiscard]] result<void> read(u64 offset, std::span<std::byte> into) override;
    [[nodiscard]] result<void> sync() override;
    [[nodiscard]] result<void> extend(u64 bytes) override { return file_.extend(bytes); }
    [[nodiscard]] result<u64> size() override { return file_.size(); }
    [[nodiscard]] std::string name() const override { return file_.name(); }

   private:
    /// Where the file's byte at `offset` is mapped.
    [[nodiscard]] result<std::byte*> at(u64 offset);
    [[nodiscard]] result<std::byte*> map(u64 offset) const;
    [[nodiscard]] result<void> check_end(u64 end);
    [[nodiscard]] result<void> store(u64 offset, std::span<const std::byte> bytes);

    posix_file file_;
    int fd_;
    medium medium_;
    u64 piece_;
    std::mutex mutex_;                ///< guards the fields below
    std::vector<std::byte*> mapped_;  ///< by number of the piece; nullptr: not yet
    u64 known_bytes_ = 0;             ///< the file is at least that long
    static constexpr u64 unknown = ~u64{0};
    u64 synced_bytes_ = 0;  ///< its length at the last sync that none overtook
    u64 syncs_ = 0;         ///< begun
};

}  // namespace hf::journal
