// tests/kill/heap_session.hpp: a process that runs transactions on a heap until it is killed.
#pragma once

#include "heap_world.hpp"
#include "journal.hpp"

#include <filesystem>
#include <vector>

namespace hf::kill_test {

/// In memory that no kill takes away.
struct heap_journal {
    session_state session;
    complaints wrongs;
    std::atomic<bool> judged{false};  ///< in this session, and `settled` says what was there
    std::atomic<u64> objects{0};      ///< that the judge met
    std::atomic<u64> returned[most_writers]{};  ///< strokes: atomic() has said so
    std::atomic<u64> settled[most_writers]{};
};

struct heap_plan {
    std::filesystem::path file;
    u64 number = 0;  ///< of the session, in the life of the heap
    u64 seed = 0;    ///< of strokes
    u32 writers = 0;
    nv::heap_options options;
    bool judges = false;  ///< first it compares all that is there with the models
    bool stops_at_points = false;
    u32 die_at_point = 0;
};

/// `models` are those of the strokes that were settled before. Exit status.
[[nodiscard]] int work_on_heap(const heap_plan& plan, heap_journal& record,
                               std::vector<desk_model> models);

}  // namespace hf::kill_test
