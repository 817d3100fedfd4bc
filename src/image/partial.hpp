// image/partial.hpp: a region under construction, which gets its name when it is complete.
//
// Purpose. Loading and copying take time, and may fail, be refused, or be killed. Meanwhile
//  the region is stored beside its destination, as NAME.partial (with NAME.partial.journal on a
//  disk), so NAME is complete whenever it exists. A killed process leaves these files unlocked: the
//  next process that makes the same region removes them, but no file of another kind. Between its
//  close and finish() the new region is not locked either; finish() fails if another process has
//  created NAME by then.
#pragma once

#include <holdfast/result.hpp>

#include "region/file.hpp"

#include <filesystem>

namespace hf::detail {

class partial_region {
   public:
    /// `replace`: finish() replaces a region of this NAME; never another file, which the user may
    /// have named by mistake. errc::usage: there is a file that must not be replaced, or a
    /// journal without its region; busy: the region, or NAME.partial, is in use.
    [[nodiscard]] static result<partial_region> prepare(const std::filesystem::path& name,
                                                        bool replace);
    partial_region(partial_region&& other) noexcept;
    partial_region& operator=(partial_region&&) = delete;
    partial_region(const partial_region&) = delete;
    partial_region& operator=(const partial_region&) = delete;
    /// Removes the partial files, unless finish() has succeeded.
    ~partial_region();

    /// Path of the partial region. It must be closed in order before finish().
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return partial_; }
    /// Renames it to NAME, durably.
    [[nodiscard]] result<void> finish();

   private:
    partial_region(std::filesystem::path name, bool replace);

    std::filesystem::path name_;
    std::filesystem::path partial_;
    file_handle old_;  ///< the region to be replaced; our lock prevents others from opening it
    bool replace_;
    bool pending_ = true;
};

}  // namespace hf::detail
