// runtime/file.hpp: the file under the explored region, made of memory.
//
// Purpose. The region's own code (region/file.cpp, region.cpp) runs unchanged: the system calls
// that it makes on the lab's path are answered here. What they do to the file is an event of the
// trace; what a crash leaves of it, the image decides.
//
//   name, length    as last synced, or as last set
//   content         pwrite: any subset of its 8-byte pieces until fsync
//
// It presents itself as a file on persistent memory (mappable with MAP_SYNC).
#pragma once

#include "base/bits.hpp"

#include <cstddef>

namespace hf::lab {

class image;
class recorder;

/// The path of the one region that the lab knows.
inline constexpr const char* file_path = "/lab/region";

struct file_state {
    std::byte* memory = nullptr;  ///< where it is mapped; nullptr: there is no such file system
    u64 capacity = 0;
    u64 length = 0;
    bool linked = false;
    unsigned mappings_to_refuse = 0;  ///< of growths, as when the kernel is out of mappings
    recorder* recording = nullptr;    ///< of the workload
    image* exploring = nullptr;       ///< while a run goes on
};

extern constinit file_state the_file;

}  // namespace hf::lab
