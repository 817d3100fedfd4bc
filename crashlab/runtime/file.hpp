// runtime/file.hpp: the file under the explored region, simulated in memory.
//
// Purpose. The region's own code (region/file.cpp, region.cpp) runs unchanged: its system calls on
// the lab's path are handled here. Their effects on the file are events of the trace; the image
// decides what a crash leaves of them.
//
//   name, length    as last synced, or as last set
//   content         pwrite: any subset of its 8-byte pieces until fsync
//
// A target may have several files, each mapped at the start of its own window; they must be opened
// in order (file_paths). They share one directory.
//
// It behaves like a file on persistent memory (mappable with MAP_SYNC).
#pragma once

#include <holdfast/crashlab/target.hpp>

#include "base/bits.hpp"

#include <cstddef>

namespace hf::lab {

class image;
class recorder;

struct file_state {
    std::byte* memory = nullptr;  ///< where the first is mapped; nullptr: file system inactive
    struct {
        u64 length = 0;
        bool linked = false;
    } files[most_files];
    unsigned asked_for = 0;  ///< the file whose name was looked up last, to be created
    /// number of growths that fail, as when the kernel is out of mappings
    unsigned mappings_to_refuse = 0;
    recorder* recording = nullptr;  ///< of the workload
    image* exploring = nullptr;     ///< during a run
};

extern constinit file_state the_file;

}  // namespace hf::lab
