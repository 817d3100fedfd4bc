// damage/victim.hpp: regions to be damaged, as bytes, with their undamaged contents.
//
// Keys of all kinds were inserted, changed and removed: short ones, some of eight bytes, some that
// share slices and so make layers, long ones; values from nothing to an extent. One kind of victim
// was closed; the process of the other died in the middle of an epoch, or of an eager region's
// session.
#pragma once

#include <holdfast/map.hpp>

#include "base/random.hpp"
#include "damage/edits.hpp"

#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace hf::damage_test {

/// A wrong answer: the test has failed.
struct wrong : std::runtime_error {
    using std::runtime_error::runtime_error;
};
inline void require(bool condition, const char* what) {
    if (!condition) throw wrong(what);
}

using model = std::map<std::string, std::string>;

struct victim {
    std::string image;
    u64 used = 0;                ///< all bytes after it are zero
    std::vector<u64> pages;      ///< offsets of the 4 KiB pages that are not zero
    u64 names = 0;               ///< its keys are key_of() of smaller numbers
    std::string index;           ///< "": checkpointed
    std::string keys;            ///< not empty: used without a map (eager_trial.hpp)
    std::vector<u64> locks;      ///< (keys) offsets of its nodes' locks
    model content;               ///< of the undamaged region
    std::set<std::string> gone;  ///< removed keys
};

struct recipe {
    u64 seed;
    bool crashes;
    u64 names;               ///< number of keys that are inserted and removed
    unsigned steps;          ///< changes in each of three sessions
    std::string index = {};  ///< of an eager region; "": checkpointed
    bool inlined = false;    ///< (checkpointed) inlined values
};

/// Maximum size of a victim's region.
inline constexpr u64 most_region_bytes = u64{16} << 20;

/// Options for opening them: only sync() ends epochs.
[[nodiscard]] map_options by_hand(const std::string& index = {}, bool inlined = false);

[[nodiscard]] std::string key_of(u64 n);
[[nodiscard]] std::string value_of(xoshiro256ss& r);

/// A file that is reused for all regions. Most pages of a region are zero: they are not written.
class image_file {
   public:
    explicit image_file(std::filesystem::path path);
    ~image_file();
    image_file(const image_file&) = delete;
    image_file& operator=(const image_file&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    void write(const victim& v, std::span<const edit> edits = {});
    /// The destructor does not remove the file.
    void keep() noexcept { keeps_ = true; }

   private:
    std::filesystem::path path_;
    int fd_ = -1;
    char* bytes_ = nullptr;
    bool keeps_ = false;
};

[[nodiscard]] std::string read_image(const std::filesystem::path& file);
/// Finds the pages of an image that are not zero.
void find_pages(victim& v);

/// Makes the victim in `file`, which then contains it, changed by an open().
[[nodiscard]] victim make_victim(image_file& file, const recipe& how);

}  // namespace hf::damage_test
