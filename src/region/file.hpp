// region/file.hpp: the file under a region: safe opening, locking, creation, allocation.
//
// Opening follows no symbolic link, blocks on no FIFO, and accepts only a regular file of the
// calling user that other users cannot write. The lock (OFD: it belongs to the open file, so it
// also excludes a second open in the same process, and the kernel drops it with the process) lasts
// as long as the descriptor.
//
// Creation. The file is built without a name (O_TMPFILE), allocated, filled and synced, and only
//  then linked to its name, which fails if the name exists. A crash before that leaves nothing,
//  not even a temporary file.
//  C1 the space is allocated before the header is written;
//  C2 header and size are synced before the file gets its name;
//  C3 the name exists, and the directory is synced before anything relies on it.
#pragma once

#include <holdfast/result.hpp>

#include "base/bits.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <utility>

namespace hf::detail {

/// A process that uses a file locks the bytes below this offset. Higher ones are for other locks.
inline constexpr u64 locked_bytes = u64{1} << 62;

class file_handle {
   public:
    file_handle() noexcept = default;
    explicit file_handle(int fd) noexcept : fd_(fd) {}
    file_handle(const file_handle&) = delete;
    file_handle& operator=(const file_handle&) = delete;
    file_handle(file_handle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    file_handle& operator=(file_handle&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~file_handle();

    [[nodiscard]] int get() const noexcept { return fd_; }
    [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }

   private:
    int fd_ = -1;
};

struct file_facts {
    u64 bytes = 0;
    u64 allocated_bytes = 0;
};

/// Opens and locks. errc::not_found, denied, unsafe_file, busy.
[[nodiscard]] result<file_handle> open_file(const std::filesystem::path& path, bool writable);

/// Opens a file for writing that others may read, but not open for writing, until lock_alone().
[[nodiscard]] result<file_handle> open_beside_readers(const std::filesystem::path& path);
/// Excludes readers, too. errc::busy: there are others.
[[nodiscard]] result<void> lock_alone(const file_handle& file, const std::filesystem::path& path);
/// Opens for reading a file that another process has locked.
[[nodiscard]] result<file_handle> open_unlocked(const std::filesystem::path& path);
/// False: its last name was removed, so nothing is left of it when it is closed.
[[nodiscard]] bool has_name(const file_handle& file) noexcept;
/// True if the path refers to this file.
[[nodiscard]] bool is_at(const file_handle& file, const std::filesystem::path& path) noexcept;

/// A file without a name in the directory of `path`, empty, locked.
[[nodiscard]] result<file_handle> create_unnamed(const std::filesystem::path& path);
/// Syncs the file, names it and syncs the directory. errc::usage if the name exists: see
/// is_taken.
[[nodiscard]] result<void> publish(const file_handle& file, const std::filesystem::path& path);
/// Removes the file, if it exists. The directory is not synced: a crash may restore it.
[[nodiscard]] result<void> remove_stale(const std::filesystem::path& path);
/// True if the path exists (also as a dangling link).
[[nodiscard]] bool is_taken(const std::filesystem::path& path) noexcept;

[[nodiscard]] result<file_facts> facts_of(const file_handle& file, const std::string& path);
/// Allocates blocks for [from, to) and makes the file at least `to` long. Does not change contents.
[[nodiscard]] result<void> allocate(const file_handle& file, const std::string& path, u64 from,
                                    u64 to);
[[nodiscard]] result<void> truncate(const file_handle& file, const std::string& path, u64 bytes);
[[nodiscard]] result<void> sync(const file_handle& file, const std::string& path);
/// Makes names in the file's directory durable.
[[nodiscard]] result<void> sync_directory_of(const std::filesystem::path& path);
[[nodiscard]] result<void> read_start(const file_handle& file, const std::string& path,
                                      std::span<std::byte> into);
[[nodiscard]] result<void> write_start(const file_handle& file, const std::string& path,
                                       std::span<const std::byte> bytes);

}  // namespace hf::detail
