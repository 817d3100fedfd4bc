// bench/scratch_space.hpp: memory for the measured regions, with huge pages where they can be had.
//
// Region files lie in tmpfs. A region asks for huge pages (region/huge_pages.hpp); other files have
// those that the mount gives by itself (its option huge=), and /dev/shm usually gives none. So we
// make a tmpfs of our own that is mounted nowhere: only a descriptor refers to it (fsmount(2)), its
// files are reached through /proc/self/fd, and it is gone with the process, however that ends. It
// takes CAP_SYS_ADMIN.
#pragma once

#include <holdfast/result.hpp>

#include "base/bits.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace hf::bench {

enum class huge_pages : u8 { automatic, on, off };

class scratch_space {
   public:
    /// `directory`: a tmpfs (or DAX mount) to use as it is; otherwise a tmpfs of our own with huge
    /// pages if they are wanted and may be had, and /dev/shm if not.
    [[nodiscard]] static result<scratch_space> make(const std::optional<std::string>& directory,
                                                    huge_pages wish);
    scratch_space(const scratch_space&) = delete;
    scratch_space& operator=(const scratch_space&) = delete;
    scratch_space(scratch_space&& other) noexcept;
    scratch_space& operator=(scratch_space&&) = delete;
    /// Removes the files.
    ~scratch_space();

    /// A path that no file has yet.
    [[nodiscard]] std::filesystem::path file(const std::string& name) const;
    void remove(const std::filesystem::path& file) const noexcept;
    [[nodiscard]] u64 free_bytes() const noexcept;
    /// What it is and how it was got, in words.
    [[nodiscard]] const std::string& story() const noexcept { return story_; }

   private:
    scratch_space() = default;
    int mount_ = -1;
    std::filesystem::path directory_;
    std::string story_;
};

/// What the kernel maps a range of addresses with.
struct page_report {
    u64 resident = 0;  ///< bytes
    u64 huge = 0;      ///< bytes mapped by huge pages
    [[nodiscard]] double huge_share() const noexcept {
        return resident == 0 ? 0 : static_cast<double>(huge) / static_cast<double>(resident);
    }
};
[[nodiscard]] page_report pages_of(const void* base, u64 bytes);

/// MemAvailable; 0 if unknown.
[[nodiscard]] u64 available_memory();

}  // namespace hf::bench
