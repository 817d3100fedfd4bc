#include "persist/detect.hpp"

#include "base/os_error.hpp"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace hf {
namespace {

struct named_type {
    unsigned long magic;
    const char* name;
};

// linux/magic.h lacks some of the names.
constexpr std::array<named_type, 15> known_types{{{TMPFS_MAGIC, "tmpfs"},
                                                  {EXT4_SUPER_MAGIC, "ext4"},
                                                  {XFS_SUPER_MAGIC, "xfs"},
                                                  {BTRFS_SUPER_MAGIC, "btrfs"},
                                                  {OVERLAYFS_SUPER_MAGIC, "overlayfs"},
                                                  {NFS_SUPER_MAGIC, "nfs"},
                                                  {F2FS_SUPER_MAGIC, "f2fs"},
                                                  {RAMFS_MAGIC, "ramfs"},
                                                  {HUGETLBFS_MAGIC, "hugetlbfs"},
                                                  {FUSE_SUPER_MAGIC, "fuse"},
                                                  {MSDOS_SUPER_MAGIC, "fat"},
                                                  {0x2011BAB0UL, "exfat"},
                                                  {0x2FC12FC1UL, "zfs"},
                                                  {0x01021997UL, "9p"},
                                                  {0xFF534D42UL, "cifs"}}};

// File systems that can allocate ahead, and whose sync reaches the device; overlayfs passes both on
// to one of them.
constexpr std::array<unsigned long, 5> on_disks{
    EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC};

bool maps_synchronously(int fd) noexcept {
    constexpr std::size_t one_page = 4096;
    void* p = ::mmap(nullptr, one_page, PROT_READ, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
    if (p == MAP_FAILED) return false;
    ::munmap(p, one_page);
    return true;
}

}  // namespace

std::string file_system_name(int fd) {
    struct statfs fs{};
    if (::fstatfs(fd, &fs) != 0) return "of an unknown type";
    const auto magic = static_cast<unsigned long>(fs.f_type) & 0xFFFFFFFFUL;
    for (const named_type& t : known_types) {
        if (t.magic == magic) return t.name;
    }
    char text[32];
    std::snprintf(text, sizeof text, "of type 0x%lx", magic);
    return text;
}

result<medium_kind> detect_medium(int fd, const std::string& path) {
    if (maps_synchronously(fd)) return medium_kind::dax;
    struct statfs fs{};
    if (::fstatfs(fd, &fs) != 0) {
        return failure(os_error(errc::io, "find the medium of the region", path,
                                "check that the file system is mounted and healthy"));
    }
    const auto type = static_cast<unsigned long>(fs.f_type) & 0xFFFFFFFFUL;
    if (type == TMPFS_MAGIC) return medium_kind::shm;
    if (std::find(on_disks.begin(), on_disks.end(), type) != on_disks.end()) {
        return medium_kind::file;
    }
    return failure(
        {errc::medium, "use this file system for a region", path,
         "what a sync means on the file system (" + file_system_name(fd) + ") is not known",
         "use ext4, xfs, btrfs, f2fs, tmpfs (/dev/shm), or a mount with -o dax"});
}

}  // namespace hf
