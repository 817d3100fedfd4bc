// report/disk_timeline.hpp: draws a finding on disks: the writes, the sync that covers each,
// and the unsynced sectors that the power cut kept.
//
// Purpose. The token of a finding on disks is a number of calls and a draw; this shows their
// meaning, as timeline.hpp does for lines. A write's sectors are independent of each other, so some
// may be kept and others lost; the sectors are counted.
#pragma once

#include "crashlab/disk/disk_story.hpp"

#include <string>

namespace hf::lab {

/// For a terminal, at most 120 columns wide. Long stretches without losses are abbreviated.
[[nodiscard]] std::string to_text(const disk_story& s);
/// A complete SVG file: a lane for each disk, calls from left to right.
[[nodiscard]] std::string to_svg(const disk_story& s);

}  // namespace hf::lab
