// image/ready_copy.hpp: a copy of a region that is ready for use, of any discipline.
//
// Purpose. Takes the image of image/copy.hpp under a temporary name (image/partial.hpp), lets the
// discipline recover, close and check it, gives it an identity of its own, and renames it. The copy
// is a different region: both may be written from then on, and the journal of one does not fit the
// other. If a step fails, nothing is left at `to`, and what was there before is unchanged.
#pragma once

#include "image/copy.hpp"

namespace hf::detail {

/// The steps that a discipline adds.
struct copy_steps {
    /// Opens the image, which recovers it, and closes it cleanly.
    std::function<result<void>(const std::filesystem::path& image, discipline kind)> settle;
    /// Checks the copy, which is not kept if it is damaged. `from`: the original, for the error.
    std::function<result<void>(const std::filesystem::path& image,
                               const std::filesystem::path& from, discipline kind)>
        verify;
};

/// `replace`: replaces an existing region at `to`, which must not be open. Errors: errc::usage if
/// the copy would take the place of the original, else those of partial_region and copy_image().
[[nodiscard]] result<image_facts> make_ready_copy(const std::filesystem::path& from,
                                                  const std::filesystem::path& to, bool replace,
                                                  const copy_progress& progress,
                                                  const copy_steps& steps);

}  // namespace hf::detail
