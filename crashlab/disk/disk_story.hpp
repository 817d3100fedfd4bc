// disk/disk_story.hpp: what model disks were asked, and what a power cut left of it; drawn by
// report/disk_timeline.hpp.
#pragma once

#include "base/bits.hpp"

#include <string>
#include <vector>

namespace hf::lab {

enum class disk_act : u8 {
    write,
    sync,
    extend,
    begin,  ///< the disk begins anew with what a power cut or a dead process left
    point,  ///< a persist point
    refused,
};

struct disk_call {
    std::string disk;  ///< of a point: its name
    disk_act act = disk_act::write;
    u64 offset = 0;  ///< bytes; of extend: the new length
    u64 size = 0;
    /// Sectors of a write that changed something. What is neither synced nor kept was lost.
    u32 sectors = 0;
    u32 synced = 0;
    u32 kept = 0;
    bool is_unsure = false;  ///< at the cut; of extend: the length is

    [[nodiscard]] u32 lost() const noexcept { return sectors - synced - kept; }
};

struct disk_story {
    std::string title;
    std::string what;  ///< is wrong; "": nothing
    std::vector<disk_call> calls;
};

}  // namespace hf::lab
