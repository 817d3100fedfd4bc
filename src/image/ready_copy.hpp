// image/ready_copy.hpp: a copy of a region that is ready for use, of any discipline.
//
// Purpose. Takes the image of image/copy.hpp under a temporary name (image/partial.hpp), lets the
// discipline recover, close and check it, makes holes of the pages that its heap does not use
// (image/holes.hpp), gives it an identity of its own, and renames it. A region that was closed in
// order needs no recovery, and its copy takes no more space at any time than it has data. The copy
// is a different region: both may be written from then on, and the journal of one does not fit the
// other. If a step fails, nothing is left at `to`, and what was there before is unchanged.
#pragma once

#include "image/copy.hpp"
#include "image/holes.hpp"

#include <vector>

namespace hf::detail {

/// The steps that a discipline adds.
struct copy_steps {
    /// Opens the image, which recovers it, and closes it cleanly. Not called if it was closed so.
    std::function<result<void>(const std::filesystem::path& image, discipline kind)> settle;
    /// Checks the copy, which is not kept if it is damaged. `from`: the original, for the error.
    /// Returns the free pages of its heap, as far as they are known.
    std::function<result<std::vector<spare_range>>(
        const std::filesystem::path& image, const std::filesystem::path& from, discipline kind)>
        verify;
};

/// `replace`: replaces an existing region at `to`, which must not be open. Errors: errc::usage if
/// the copy would take the place of the original, else those of partial_region and copy_image().
[[nodiscard]] result<image_facts> make_ready_copy(const std::filesystem::path& from,
                                                  const std::filesystem::path& to, bool replace,
                                                  const copy_progress& progress,
                                                  const copy_steps& steps);

}  // namespace hf::detail
