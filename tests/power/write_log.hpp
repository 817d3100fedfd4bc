// tests/power/write_log.hpp: the log that QEMU's block filter blklogwrites keeps: every write and
// every flush of a disk, in order.
//
// The format is that of Linux' dm-log-writes, little-endian, in sectors of the size that the
// superblock names (512 here):
//
//   superblock   u64 magic, u64 version = 1, u64 entries, u32 sector size; padded to a sector entry
//                u64 sector, u64 sectors, u64 flags, u64 text = 0; padded to a sector; then, unless
//                it is a flush or a discard, the data, so many sectors
//
// The number of entries is brought up to date now and then only. So the log is read to its end; an
// entry that is not all there ends it, one that makes no sense is refused.
#pragma once

#include <holdfast/result.hpp>

#include "base/bits.hpp"

#include <filesystem>
#include <vector>

namespace hf::power_test {

struct log_entry {
    enum class kind : std::uint8_t { write, flush, discard };
    kind is = kind::write;
    u64 offset = 0;        ///< on the disk, in bytes
    u64 length = 0;        ///< in bytes; 0 for a flush
    u64 data = 0;          ///< where its bytes lie in the log
    u64 end = 0;           ///< of the entry in the log
    bool through = false;  ///< a write that is durable by itself (FUA)
};

struct write_log {
    std::vector<log_entry> entries;
    u64 announced = 0;  ///< by the superblock; no more than there are
};

/// `disk_bytes`: writes beyond are refused.
[[nodiscard]] result<write_log> read_write_log(const std::filesystem::path& file, u64 disk_bytes);

/// Carries out [first, last) of a write's sectors of 512 bytes on an image of the disk; a discard
/// as zeros.
[[nodiscard]] result<void> apply(const std::filesystem::path& log, const log_entry& entry,
                                 const std::filesystem::path& image, u64 first, u64 last);
[[nodiscard]] result<void> apply(const std::filesystem::path& log, const log_entry& entry,
                                 const std::filesystem::path& image);

}  // namespace hf::power_test
