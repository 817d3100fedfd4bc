// tests/support/scratch.hpp: directories, files and child processes for the tests of regions.
#pragma once

#include "region/region.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hf::test {

/// A new directory on tmpfs ($HF_TEST_DIR, or /dev/shm); the destructor removes it with its
/// contents.
class scratch_directory {
   public:
    scratch_directory();
    scratch_directory(const scratch_directory&) = delete;
    scratch_directory& operator=(const scratch_directory&) = delete;
    ~scratch_directory();

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
        return path_ / name;
    }
    /// Names of its files, including hidden ones.
    [[nodiscard]] std::vector<std::string> names() const;

   private:
    std::filesystem::path path_;
};

/// The destructor expects the same number of open files as at the start, and all windows free.
class nothing_lost {
   public:
    nothing_lost();
    nothing_lost(const nothing_lost&) = delete;
    nothing_lost& operator=(const nothing_lost&) = delete;
    ~nothing_lost();

   private:
    std::size_t files_;
};

class on_tmpfs : public ::testing::Test {
   protected:
    scratch_directory dir;
    std::filesystem::path file = dir / "store.hf";
};

/// Properties of a file that open() must not change: content, length, mode, owner.
struct fingerprint {
    u64 hash = 0;
    u64 bytes = 0;
    unsigned mode = 0;
    unsigned owner = 0;
    friend bool operator==(const fingerprint&, const fingerprint&) = default;
};
fingerprint fingerprint_of(const std::filesystem::path& path);

std::vector<std::byte> read_file(const std::filesystem::path& path);
/// The first offset of these bytes in the file.
u64 offset_in(const std::filesystem::path& path, std::string_view text);
void write_file(const std::filesystem::path& path, const std::vector<std::byte>& bytes);
/// Overwrites bytes in place.
void patch(const std::filesystem::path& path, u64 offset, const void* bytes, std::size_t size);
void flip_bit(const std::filesystem::path& path, u64 bit);
/// Changes both superblocks and corrects their checksums.
void change_superblocks(const std::filesystem::path& path,
                        const std::function<void(layout::superblock&)>& change);

/// 1 MiB: header and one segment of 15 pages.
region_options small_options();
/// Creates a region of this many pages with some bytes in its segment, and closes it.
void make_region(const std::filesystem::path& path, u64 pages = 16);
/// Opens a region and expects success.
std::unique_ptr<region> must_open(const std::filesystem::path& path,
                                  const region_options& options = small_options());
/// Expects that open() fails, and returns the error. Checks its format: one line, which names the
/// file and the remedy.
error must_fail(const std::filesystem::path& path, const region_options& options = small_options());

/// Runs `body` in a forked child. Returns its exit code: the result of `body`, or 99 if an
/// expectation failed in it, or 1000 + signal.
int in_child(const std::function<int()>& body);

/// Runs `body` in a child that sees a tmpfs of `bytes` mounted at `where`. False (and `body` is not
/// run) if this process may not mount.
bool with_small_tmpfs(const std::filesystem::path& where, u64 bytes,
                      const std::function<void()>& body);

}  // namespace hf::test
