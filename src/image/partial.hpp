// image/partial.hpp: a region in the making, which gets its name when it is complete.
//
// Purpose. Loading and copying take a while, and may fail, be refused, or be killed. Until they are
//  done the region lies beside its place, as NAME.partial (with NAME.partial.journal on a disk), so
//  that NAME is whole whenever it is there. What a killed process leaves is locked by nobody: the
//  next one that makes the same region removes it, and no file of another kind. Nor is what was
//  made locked between its closing and finish(), which fails if somebody else makes one there by
//  then.
#pragma once

#include <holdfast/result.hpp>

#include "region/file.hpp"

#include <filesystem>

namespace hf::detail {

class partial_region {
   public:
    /// `replace`: a region of this NAME will be replaced by finish(); no other file ever is, for it
    /// is somebody's, and named by mistake. errc::usage when there is a file that must not be
    /// replaced, or a journal without its region; busy when it, or NAME.partial, is in use.
    [[nodiscard]] static result<partial_region> prepare(const std::filesystem::path& name,
                                                        bool replace);
    partial_region(partial_region&& other) noexcept;
    partial_region& operator=(partial_region&&) = delete;
    partial_region(const partial_region&) = delete;
    partial_region& operator=(const partial_region&) = delete;
    /// Removes what is there, unless finish() has succeeded.
    ~partial_region();

    /// Where to make it. It must be closed in order before finish().
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return partial_; }
    /// Gives it its name, durably so.
    [[nodiscard]] result<void> finish();

   private:
    partial_region(std::filesystem::path name, bool replace);

    std::filesystem::path name_;
    std::filesystem::path partial_;
    file_handle old_;  ///< of what will be replaced: while we have it locked, nobody opens that
    bool replace_;
    bool pending_ = true;
};

}  // namespace hf::detail
