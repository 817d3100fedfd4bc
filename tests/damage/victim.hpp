// damage/victim.hpp: regions that are made to be damaged, as bytes, and what an opening finds in
// them while they are not.
//
// They have seen keys of all kinds come, change and go: short ones, some of eight bytes, some that
// share slices and so make layers, long ones; values from nothing to an extent. One kind was
// closed, the other's process died in the middle of an epoch, or of an eager region's session.
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

/// An answer that is no answer: the test has failed.
struct wrong : std::runtime_error {
    using std::runtime_error::runtime_error;
};
inline void require(bool condition, const char* what) {
    if (!condition) throw wrong(what);
}

using model = std::map<std::string, std::string>;

struct victim {
    std::string image;
    u64 used = 0;                ///< what lies behind is zero
    std::vector<u64> pages;      ///< where those of 4 KiB begin that are not zero
    u64 names = 0;               ///< its keys are key_of() of less than this
    std::string index;           ///< "": epochs
    std::string keys;            ///< not empty: it is used without a map (eager_trial.hpp)
    std::vector<u64> locks;      ///< (keys) of its nodes
    model content;               ///< as an opening finds it, undamaged
    std::set<std::string> gone;  ///< keys that were there once
};

struct recipe {
    u64 seed;
    bool crashes;
    u64 names;               ///< keys that come and go
    unsigned steps;          ///< changes in each of three lives
    std::string index = {};  ///< of discipline eager; "": epochs
    bool inlined = false;    ///< (epochs) small values lie in the leaves
};

/// No region of a victim is larger.
inline constexpr u64 most_region_bytes = u64{16} << 20;

/// How they are opened: epochs end by sync() alone.
[[nodiscard]] map_options by_hand(const std::string& index = {}, bool inlined = false);

[[nodiscard]] std::string key_of(u64 n);
[[nodiscard]] std::string value_of(xoshiro256ss& r);

/// A file that becomes one region after the other. Most pages of a region are zero: they are not
/// written.
class image_file {
   public:
    explicit image_file(std::filesystem::path path);
    ~image_file();
    image_file(const image_file&) = delete;
    image_file& operator=(const image_file&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    void write(const victim& v, std::span<const edit> edits = {});
    /// It is not removed at the end.
    void keep() noexcept { keeps_ = true; }

   private:
    std::filesystem::path path_;
    int fd_ = -1;
    char* bytes_ = nullptr;
    bool keeps_ = false;
};

[[nodiscard]] std::string read_image(const std::filesystem::path& file);
/// Of an image that has been read: what of it is not zero.
void find_pages(victim& v);

/// Makes it in `file`, which holds it then, changed by an opening.
[[nodiscard]] victim make_victim(image_file& file, const recipe& how);

}  // namespace hf::damage_test
