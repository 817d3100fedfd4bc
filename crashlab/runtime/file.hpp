// runtime/file.hpp: the file under the explored region, made of memory.
//
// Purpose. The region's own code (region/file.cpp, region.cpp) runs unchanged: the system calls
// that it makes on the lab's path are answered here. What they do to the file is an event of the
// trace; what a crash leaves of it, the image decides.
//
//   name, length    as last synced, or as last set
//   content         pwrite: any subset of its 8-byte pieces until fsync
//
// A target may have several files, each mapped at the start of a window of its own; they must be
// opened in their order (file_paths). The directory is one.
//
// It presents itself as a file on persistent memory (mappable with MAP_SYNC).
#pragma once

#include <holdfast/crashlab/target.hpp>

#include "base/bits.hpp"

#include <cstddef>

namespace hf::lab {

class image;
class recorder;

struct file_state {
    std::byte* memory = nullptr;  ///< where the first is mapped; nullptr: no such file system
    struct {
        u64 length = 0;
        bool linked = false;
    } files[most_files];
    unsigned asked_for = 0;           ///< the file whose name was looked up last: to be created
    unsigned mappings_to_refuse = 0;  ///< of growths, as when the kernel is out of mappings
    recorder* recording = nullptr;    ///< of the workload
    image* exploring = nullptr;       ///< while a run goes on
};

extern constinit file_state the_file;

}  // namespace hf::lab
