#include "bench/sections/synced_way.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <vector>

namespace hf::bench {
namespace {

constexpr u64 page = 4096;
constexpr long tmpfs_magic = 0x01021994;

std::span<std::byte> memory;
std::atomic<u64> used{0};
std::atomic<u64> sync_count{0};
thread_local std::vector<u64> stored_pages;

tl::unexpected<error> refused(errc code, const std::filesystem::path& where, std::string why) {
    return failure({code, "map a file on a disk", where.string(), std::move(why),
                    "choose a directory on a disk with --disk"});
}

}  // namespace

result<std::unique_ptr<synced_memory>> synced_memory::make(const std::filesystem::path& directory,
                                                           u64 bytes) {
    struct statfs fs{};
    if (::statfs(directory.c_str(), &fs) == 0 && fs.f_type == tmpfs_magic) {
        return refused(errc::medium, directory, "it is in memory");
    }
    const int fd = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd == -1) return refused(errc::io, directory, std::strerror(errno));
    const std::vector<std::byte> zeros(u64{1} << 20);
    for (u64 at = 0; at < bytes; at += zeros.size()) {
        if (::pwrite(fd, zeros.data(), zeros.size(), static_cast<off_t>(at)) < 0) break;
    }
    void* const p = ::fsync(fd) == 0
                        ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                        : MAP_FAILED;
    if (p == MAP_FAILED) {
        const std::string why = std::strerror(errno);
        ::close(fd);
        return refused(errc::io, directory, why);
    }
    memory = {static_cast<std::byte*>(p), bytes};
    used = 0;
    sync_count = 0;
    return std::unique_ptr<synced_memory>(new synced_memory(fd, memory));
}

synced_memory::~synced_memory() {
    memory = {};
    ::munmap(bytes_.data(), bytes_.size());
    ::close(fd_);
}

void* synced_memory::allocate(std::size_t bytes) {
    const u64 at = used.fetch_add((bytes + 15) / 16 * 16);
    HF_CHECK(at + bytes <= memory.size(), "the mapped file is full");
    return memory.data() + at;
}

u64 synced_memory::syncs() noexcept { return sync_count; }

void detail::note_stored_page(const void* p) {
    const u64 at = reinterpret_cast<u64>(p) / page * page;
    if (std::find(stored_pages.begin(), stored_pages.end(), at) == stored_pages.end()) {
        stored_pages.push_back(at);
    }
}

void detail::sync_stored_pages() {
    for (const u64 at : stored_pages) {
        void* const p = reinterpret_cast<void*>(at);  // NOLINT(performance-no-int-to-ptr)
        HF_CHECK(::msync(p, page, MS_SYNC) == 0, "msync() failed");
        sync_count.fetch_add(1, std::memory_order_relaxed);
    }
    stored_pages.clear();
}

}  // namespace hf::bench
