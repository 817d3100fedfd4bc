#include "bench/compare/disk_watch.hpp"

#include "base/clock.hpp"
#include "bench/compare/import_table.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace hf::bench {

namespace {

/// Bytes that no store writes by itself.
constexpr u64 probe_mark = 0x9d3bf6a1c75ee8f5U;
constexpr std::size_t mark_size = 2 * sizeof(u64);

/// A number with its check: bytes after a mark at the end of a piece do not match.
constexpr u64 checked_word(u64 probe) noexcept {
    return probe << 32 | (probe * 0x9e3779b97f4a7c15U) >> 32;
}

using file_number = std::pair<dev_t, ino_t>;

/// Never destroyed: a call may still run through it after the watch has ended.
struct watching {
    std::atomic<bool> on{false};
    std::atomic<u64> begun{0};
    std::atomic<u64> acknowledged{0};
    std::mutex mutex;
    std::map<file_number, u64> written;  ///< the newest probe written to each file
    u64 landed = 0;
    std::vector<landing> landings;
    std::optional<import_table> calls;
};
watching& watched() {
    static auto& all = *new watching;
    return all;
}
thread_local bool puts_probes = false;

std::optional<file_number> file_of(int fd) noexcept {
    struct stat s{};
    if (::fstat(fd, &s) != 0) return std::nullopt;
    return file_number(s.st_dev, s.st_ino);
}

/// All probes up to `probe` are durable now. The caller holds the mutex.
void land(watching& w, u64 probe) {
    if (probe <= w.landed) return;
    w.landed = probe;
    w.landings.push_back({now_ns(), probe});
}

/// Records a write of which the kernel accepted `n` bytes.
void note_write(int fd, std::span<const iovec> pieces, ssize_t n) {
    watching& w = watched();
    if (n <= 0 || !w.on.load(std::memory_order_relaxed)) return;
    u64 newest = 0;
    auto left = static_cast<std::size_t>(n);
    for (const iovec& piece : pieces) {
        const std::size_t taken = std::min(left, piece.iov_len);
        newest =
            std::max(newest, newest_probe_in({static_cast<const char*>(piece.iov_base), taken}));
        left -= taken;
    }
    if (newest == 0) return;
    const int saved = errno;
    const auto file = file_of(fd);
    const bool synced = (::fcntl(fd, F_GETFL) & O_DSYNC) != 0;
    errno = saved;
    if (!file) return;
    const std::lock_guard lock(w.mutex);
    u64& here = w.written[*file];
    here = std::max(here, newest);
    if (synced) land(w, newest);
}

/// Wraps a sync: it covers the writes that returned before it began.
template <class Sync>
auto around_sync(u64 covered, Sync sync) {
    const auto outcome = sync();
    watching& w = watched();
    if (outcome == 0 && covered != 0) {
        const std::lock_guard lock(w.mutex);
        land(w, covered);
    }
    return outcome;
}

u64 covered_in(int fd) {
    watching& w = watched();
    if (!w.on.load(std::memory_order_relaxed)) return 0;
    const int saved = errno;
    const auto file = file_of(fd);
    errno = saved;
    if (!file) return 0;
    const std::lock_guard lock(w.mutex);
    const auto found = w.written.find(*file);
    return found == w.written.end() ? 0 : found->second;
}

// The replacements. They use system calls, since the C library's functions are redirected to them.
ssize_t watched_write(int fd, const void* from, std::size_t size) {
    const ssize_t n = ::syscall(SYS_write, fd, from, size);
    const iovec piece{const_cast<void*>(from), size};
    note_write(fd, {&piece, 1}, n);
    return n;
}
ssize_t watched_pwrite(int fd, const void* from, std::size_t size, off_t at) {
    const ssize_t n = ::syscall(SYS_pwrite64, fd, from, size, at);
    const iovec piece{const_cast<void*>(from), size};
    note_write(fd, {&piece, 1}, n);
    return n;
}
ssize_t watched_writev(int fd, const iovec* pieces, int count) {
    const ssize_t n = ::syscall(SYS_writev, fd, pieces, count);
    note_write(fd, {pieces, static_cast<std::size_t>(std::max(count, 0))}, n);
    return n;
}
ssize_t watched_pwritev(int fd, const iovec* pieces, int count, off_t at) {
    // The offset in two halves; x86-64 takes both from the first.
    const ssize_t n = ::syscall(SYS_pwritev, fd, pieces, count, at, 0);
    note_write(fd, {pieces, static_cast<std::size_t>(std::max(count, 0))}, n);
    return n;
}
int watched_fsync(int fd) {
    return around_sync(covered_in(fd), [&] { return static_cast<int>(::syscall(SYS_fsync, fd)); });
}
int watched_fdatasync(int fd) {
    return around_sync(covered_in(fd),
                       [&] { return static_cast<int>(::syscall(SYS_fdatasync, fd)); });
}
int watched_msync(void* at, std::size_t size, int flags) {
    watching& w = watched();
    u64 covered = 0;
    if (w.on.load() && (flags & MS_SYNC) != 0) {
        covered = puts_probes ? w.begun.load() : w.acknowledged.load();
    }
    return around_sync(covered,
                       [&] { return static_cast<int>(::syscall(SYS_msync, at, size, flags)); });
}

/// A function's address as import tables contain it.
template <class F>
void* entry(F* function) {
    return reinterpret_cast<void*>(function);
}

/// Writes and syncs a file in memory as a store would, to test the watch.
bool sees_this_program(disk_watch& watch) {
    const int fd = ::memfd_create("holdfast-bench-probe", MFD_CLOEXEC);
    if (fd < 0) return false;
    const std::string value = probe_value(watch.putting(), 64);
    const bool done =
        ::pwrite(fd, value.data(), value.size(), 0) == static_cast<ssize_t>(value.size()) &&
        ::fdatasync(fd) == 0;
    ::close(fd);
    return done && !watch.landings().empty();
}

}  // namespace

std::string probe_value(u64 probe, u32 size) {
    const u64 pair[2] = {probe_mark, checked_word(probe)};
    std::string value(size, '\0');
    for (std::size_t i = 0; i < size; i += mark_size) {
        std::memcpy(value.data() + i, pair, std::min<std::size_t>(mark_size, size - i));
    }
    return value;
}

u64 newest_probe_in(std::span<const char> bytes) noexcept {
    u64 newest = 0;
    const char* at = bytes.data();
    const char* const end = at + bytes.size();
    while (static_cast<std::size_t>(end - at) >= mark_size) {
        const void* found =
            ::memmem(at, static_cast<std::size_t>(end - at), &probe_mark, sizeof(probe_mark));
        if (found == nullptr) break;
        at = static_cast<const char*>(found) + sizeof(probe_mark);
        u64 word = 0;
        if (static_cast<std::size_t>(end - at) < sizeof(word)) break;
        std::memcpy(&word, at, sizeof(word));
        const u64 probe = word >> 32;
        if (word == checked_word(probe)) newest = std::max(newest, probe);
    }
    return newest;
}

result<std::unique_ptr<disk_watch>> disk_watch::begin() {
    static const replaced_function functions[] = {
        {"write", entry(watched_write)},     {"pwrite", entry(watched_pwrite)},
        {"pwrite64", entry(watched_pwrite)}, {"writev", entry(watched_writev)},
        {"pwritev", entry(watched_pwritev)}, {"pwritev64", entry(watched_pwritev)},
        {"fsync", entry(watched_fsync)},     {"fdatasync", entry(watched_fdatasync)},
        {"msync", entry(watched_msync)}};
    watching& w = watched();
    std::unique_ptr<disk_watch> watch(new disk_watch);
    w.calls.emplace(functions);
    w.on = true;
    if (!sees_this_program(*watch)) {
        return failure({errc::incompatible, "watch what reaches the disk", "this program",
                        "its calls of the C library cannot be led through a watch",
                        "use a build without sanitizers"});
    }
    const std::lock_guard lock(w.mutex);
    w.written.clear();
    w.landings.clear();
    w.landed = 0;
    return watch;
}

disk_watch::~disk_watch() {
    watching& w = watched();
    w.on = false;
    w.calls.reset();
    const std::lock_guard lock(w.mutex);
    w.written.clear();
    w.landings.clear();
    w.landed = 0;
    w.acknowledged = 0;
    puts_probes = false;
}

u64 disk_watch::putting() noexcept {
    puts_probes = true;
    return ++watched().begun;
}

void disk_watch::acknowledged(u64 probe) noexcept { watched().acknowledged = probe; }

std::vector<landing> disk_watch::landings() const {
    const std::lock_guard lock(watched().mutex);
    return watched().landings;
}

}  // namespace hf::bench
