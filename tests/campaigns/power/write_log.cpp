#include "write_log.hpp"

#include "base/os_error.hpp"
#include "tools/machine/channel.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <system_error>

namespace hf::power_test {

namespace {

namespace fs = std::filesystem;
using machine::descriptor;

constexpr u64 magic = 0x6a736677736872;
constexpr u64 sector = 512;
constexpr u64 flag_flush = 1;
constexpr u64 flag_through = 2;
constexpr u64 flag_discard = 4;
constexpr u64 known_flags = 0x17;  // also metadata (0x10); QEMU writes no marks (8)

struct log_superblock {
    u64 magic;
    u64 version;
    u64 entries;
    std::uint32_t sector_size;
    std::uint32_t padding;
};

struct log_header {
    u64 sector;
    u64 sectors;
    u64 flags;
    u64 length;  ///< of a mark's text
};

result<void> read_at(const descriptor& file, const fs::path& name, u64 offset, void* into,
                     std::size_t bytes) {
    const ssize_t n = ::pread(file.get(), into, bytes, static_cast<off_t>(offset));
    if (n == static_cast<ssize_t>(bytes)) return {};
    return failure({errc::corrupt, "read a write log", at_offset(name.string(), offset),
                    "the file ends there", "record it again"});
}

tl::unexpected<error> refused(const fs::path& name, u64 offset, const std::string& why) {
    return failure({errc::corrupt, "read a write log", at_offset(name.string(), offset), why,
                    "record it again"});
}

result<log_entry> entry_of(const log_header& h, u64 at, const fs::path& name, u64 disk_bytes) {
    if ((h.flags & ~known_flags) != 0) return refused(name, at, "it has flags that nobody knows");
    if (h.length != 0) return refused(name, at, "it has text, as only marks have");
    const u64 disk_sectors = disk_bytes / sector;
    if (h.sectors > disk_sectors || h.sector > disk_sectors - h.sectors) {
        return refused(name, at, "it lies beyond the end of the disk");
    }
    log_entry e;
    e.offset = h.sector * sector;
    e.length = h.sectors * sector;
    e.data = at + sector;
    e.end = e.data;
    e.through = (h.flags & flag_through) != 0;
    if ((h.flags & flag_discard) != 0) {
        e.is = log_entry::kind::discard;
    } else if (h.sectors == 0) {
        if ((h.flags & flag_flush) == 0) return refused(name, at, "it is empty, and no flush");
        e.is = log_entry::kind::flush;
    } else {
        e.end += e.length;
    }
    return e;
}

}  // namespace

result<write_log> read_write_log(const fs::path& file, u64 disk_bytes) {
    const descriptor log(open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (log.get() < 0) return failure(os_error("read a write log", file.string(), "record it"));
    log_superblock super{};
    if (auto ok = read_at(log, file, 0, &super, sizeof(super)); !ok) {
        return tl::unexpected(ok.error());
    }
    if (super.magic != magic) return refused(file, 0, "it does not begin as one");
    if (super.version != 1) return refused(file, 0, "its version is not 1");
    if (super.sector_size != sector) return refused(file, 0, "its sectors have not 512 bytes");
    std::error_code wrong;
    const u64 size = fs::file_size(file, wrong);
    write_log all;
    all.announced = super.entries;
    for (u64 at = sector; at + sector <= size;) {
        log_header header{};
        if (auto ok = read_at(log, file, at, &header, sizeof(header)); !ok) {
            return tl::unexpected(ok.error());
        }
        const auto entry = entry_of(header, at, file, disk_bytes);
        if (!entry) return tl::unexpected(entry.error());
        if (entry->end > size) break;
        all.entries.push_back(*entry);
        at = entry->end;
    }
    if (all.entries.size() < super.entries) {
        return refused(file, size,
                       "it announces " + std::to_string(super.entries) + " entries and has " +
                           std::to_string(all.entries.size()));
    }
    return all;
}

result<void> apply(const fs::path& log, const log_entry& entry, const fs::path& image, u64 first,
                   u64 last) {
    if (entry.is == log_entry::kind::flush) return {};
    const descriptor from(open(log.c_str(), O_RDONLY | O_CLOEXEC));
    const descriptor to(open(image.c_str(), O_WRONLY | O_CLOEXEC));
    if (from.get() < 0 || to.get() < 0) {
        return failure(os_error("rebuild a disk", image.string(), "see that both files are there"));
    }
    std::vector<std::byte> bytes((last - first) * sector);
    if (entry.is == log_entry::kind::write) {
        if (auto ok = read_at(from, log, entry.data + first * sector, bytes.data(), bytes.size());
            !ok) {
            return ok;
        }
    }
    const auto offset = static_cast<off_t>(entry.offset + first * sector);
    if (::pwrite(to.get(), bytes.data(), bytes.size(), offset) ==
        static_cast<ssize_t>(bytes.size())) {
        return {};
    }
    return failure(os_error("rebuild a disk", image.string(), "make room there"));
}

result<void> apply(const fs::path& log, const log_entry& entry, const fs::path& image) {
    return apply(log, entry, image, 0, entry.length / sector);
}

}  // namespace hf::power_test
