// report/disk_timeline.hpp: a finding on disks, drawn: what was written where, which sync covered
// it, and what of the rest the power cut kept.
//
// Purpose. The token of a finding on disks is a number of calls and a draw; this shows what they
// mean, as timeline.hpp does for lines. A write's sectors are independent of each other, so of one
// write some may be kept and others lost; the pieces are counted.
#pragma once

#include "crashlab/disk/disk_story.hpp"

#include <string>

namespace hf::lab {

/// For a terminal, at most 120 columns wide. Of long stretches that were sure only the ends.
[[nodiscard]] std::string to_text(const disk_story& s);
/// A file of its own: a lane for each disk, calls from left to right.
[[nodiscard]] std::string to_svg(const disk_story& s);

}  // namespace hf::lab
