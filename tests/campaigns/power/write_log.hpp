// tests/campaigns/power/write_log.hpp: the log of QEMU's block filter blklogwrites: every write and
// every flush of a disk, in order.
//
// The format is that of Linux's dm-log-writes, little-endian, in sectors of the size that the
// superblock specifies (512 here):
//
//   superblock   u64 magic, u64 version = 1, u64 entries, u32 sector size; padded to a sector
//   entry        u64 sector, u64 sectors, u64 flags, u64 text = 0; padded to a sector; then, unless
//                it is a flush or a discard, the data of these sectors
//
// The number of entries is updated only occasionally. So the log is read to its end; an incomplete
// entry ends it, an invalid one is refused.
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
    u64 data = 0;          ///< offset of its bytes in the log
    u64 end = 0;           ///< of the entry in the log
    bool through = false;  ///< a write that is durable by itself (FUA)
};

struct write_log {
    std::vector<log_entry> entries;
    u64 announced = 0;  ///< by the superblock; not more than there are
};

/// `disk_bytes`: writes beyond it are refused.
[[nodiscard]] result<write_log> read_write_log(const std::filesystem::path& file, u64 disk_bytes);

/// Applies sectors [first, last) of a write, of 512 bytes each, to an image of the disk; a discard
/// writes zeros.
[[nodiscard]] result<void> apply(const std::filesystem::path& log, const log_entry& entry,
                                 const std::filesystem::path& image, u64 first, u64 last);
[[nodiscard]] result<void> apply(const std::filesystem::path& log, const log_entry& entry,
                                 const std::filesystem::path& image);

}  // namespace hf::power_test
