// disk/disk_story.hpp: the calls of model disks, and the effects of a power cut on them; drawn by
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
    begin,  ///< the disk restarts with the contents that a power cut or a dead process left
    point,  ///< a persist point
    refused,
};

struct disk_call {
    std::string disk;  ///< for a point: its name
    disk_act act = disk_act::write;
    u64 offset = 0;  ///< in bytes; for extend: the new length
    u64 size = 0;
    /// Sectors of a write that changed something. Those neither synced nor kept were lost.
    u32 sectors = 0;
    u32 synced = 0;
    u32 kept = 0;
    bool is_unsure = false;  ///< at the power cut; for extend: the length is

    [[nodiscard]] u32 lost() const noexcept { return sectors - synced - kept; }
};

struct disk_story {
    std::string title;
    std::string what;  ///< the error; "": none
    std::vector<disk_call> calls;
};

}  // namespace hf::lab
