// bench/scratch_space.hpp: space for the measured regions, with huge pages if available.
//
// Region files are in tmpfs. A region requests huge pages itself (region/huge_pages.hpp); other
// files get those of the mount option huge=, and /dev/shm usually has none. So we create a tmpfs
// that is mounted nowhere: only a descriptor refers to it (fsmount(2)), its files are opened by
// /proc/self/fd, and the kernel frees it when the process ends. This needs CAP_SYS_ADMIN.
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
    /// `directory`: an existing tmpfs (or DAX mount); otherwise a new tmpfs with huge pages if
    /// requested and possible, else /dev/shm.
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
    /// A description for the report.
    [[nodiscard]] const std::string& story() const noexcept { return story_; }

   private:
    scratch_space() = default;
    int mount_ = -1;
    std::filesystem::path directory_;
    std::string story_;
};

/// The page sizes that the kernel uses for a range of addresses.
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
