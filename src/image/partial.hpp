// image/partial.hpp: a region under construction, which is renamed when it is complete.
//
// Purpose. Loading and copying take a while, and may fail, be refused, or be killed. Until they are
// done the region is NAME.partial (with NAME.partial.journal on a disk), so that NAME is always
// complete if it exists. The files of a killed process are unlocked: the next process that makes
// the same region removes them, but no file of another kind. A process that catches the signal that
// ends it removes them itself (unfinished.hpp). Between its closing and finish() the
// new region is unlocked, too; finish() fails if another process has opened it.
//
// Persist order of a region that takes the place of the one that it is made from (prepare_over).
//  N1  All bytes of the new region are durable before the rename. So a crash leaves the old region
//      or the new one under the name, each whole. The old one has no journal by then, which would
//      be found beside the new one.
//  N2  The rename is durable, by the directory's sync, before finish() returns.
#pragma once

#include <holdfast/result.hpp>

#include "image/unfinished.hpp"
#include "region/file.hpp"

#include <filesystem>
#include <optional>

namespace hf::detail {

class partial_region {
   public:
    /// `replace`: finish() replaces an existing region NAME. A file that is not a region is never
    /// replaced, because it may have been named by mistake. errc::usage: there is a file that must
    /// not be replaced, or a journal without its region; busy: it, or NAME.partial, is in use.
    [[nodiscard]] static result<partial_region> prepare(const std::filesystem::path& name,
                                                        bool replace);
    /// As prepare(), for a region that takes the place of the one that it is made from. The caller
    /// reads NAME meanwhile, and has closed it before finish(). Others may read it, but not open it
    /// for writing; finish() fails (errc::busy) while they read. errc::busy also if NAME has a
    /// journal: after a crash it would be found beside the new region.
    [[nodiscard]] static result<partial_region> prepare_over(const std::filesystem::path& name);
    partial_region(partial_region&& other) noexcept;
    partial_region& operator=(partial_region&&) = delete;
    partial_region(const partial_region&) = delete;
    partial_region& operator=(const partial_region&) = delete;
    /// Removes the partial files, unless finish() has succeeded.
    ~partial_region();

    /// Where to make the region. It must be closed cleanly before finish().
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return partial_; }
    /// Renames it to its name, durably.
    [[nodiscard]] result<void> finish();

   private:
    partial_region(std::filesystem::path name, bool replace);
    /// Removes what a killed process has left. `old`: locked, or not open.
    [[nodiscard]] static result<partial_region> begin(const std::filesystem::path& name,
                                                      file_handle old, bool replaces);

    std::filesystem::path name_;
    std::filesystem::path partial_;
    /// registered while pending_ is true
    std::optional<unfinished_name> unfinished_;
    std::optional<unfinished_name> unfinished_journal_;
    file_handle old_;           ///< the file to be replaced; our lock keeps others from opening it
    bool has_readers_ = false;  ///< others may read old_
    bool replace_;
    bool pending_ = true;
};

}  // namespace hf::detail
