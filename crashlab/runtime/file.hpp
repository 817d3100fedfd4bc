// runtime/file.hpp: a simulated file under the explored region, in memory.
//
// Purpose. The region's own code (region/file.cpp, region.cpp) runs unchanged: its system calls
// on the lab's path are simulated here. Their effects on the file are events of the
// trace; the image determines what a crash leaves of the file.
//
//   name, length    as last synced, or as last set
//   content         pwrite: any subset of its 8-byte pieces until fsync
//
// A target may have several files, each mapped at the start of its own window; they must be
// opened in their order (file_paths). They share one directory.
//
// They appear as files on persistent memory (mappable with MAP_SYNC), or on tmpfs. A shared mapping
// elsewhere than at a window is the file's memory, too; a private one is a copy.
#pragma once

#include <holdfast/crashlab/target.hpp>

#include "base/bits.hpp"

#include <cstddef>

namespace hf::lab {

class image;
class recorder;

struct file_state {
    std::byte* memory = nullptr;  ///< mapping of the first file; nullptr: no file system
    struct {
        u64 length = 0;
        bool linked = false;
    } files[most_files];
    bool is_tmpfs = false;            ///< not persistent memory
    bool has_journal = false;         ///< the second file is the journal of the first
    unsigned asked_for = 0;           ///< the file whose name was looked up last: to be created
    unsigned mappings_to_refuse = 0;  ///< growths that fail as if the kernel had no mappings left
    recorder* recording = nullptr;    ///< set while the workload runs
    image* exploring = nullptr;       ///< set during a run of the exploration
};

extern constinit file_state the_file;

}  // namespace hf::lab
