// tests/campaigns/kill/heap_session.hpp: a process that runs transactions on a heap until it is
// killed.
#pragma once

#include "heap_world.hpp"
#include "journal.hpp"

#include <filesystem>
#include <vector>

namespace hf::kill_test {

/// In shared memory, which survives a kill.
struct heap_journal {
    session_state session;
    complaints wrongs;
    std::atomic<bool> judged{false};            ///< in this session; `settled` is valid
    std::atomic<u64> objects{0};                ///< found by the judge
    std::atomic<u64> returned[most_writers]{};  ///< strokes for which atomic() has returned
    std::atomic<u64> settled[most_writers]{};
};

struct heap_plan {
    std::filesystem::path file;
    u64 number = 0;  ///< session number, counted for each heap
    u64 seed = 0;    ///< of strokes
    u32 writers = 0;
    nv::heap_options options;
    bool judges = false;  ///< first compares the heap with the models
    bool stops_at_points = false;
    u32 die_at_point = 0;
};

/// `models`: the strokes settled before. Returns the exit status.
[[nodiscard]] int work_on_heap(const heap_plan& plan, heap_journal& record,
                               std::vector<desk_model> models);

}  // namespace hf::kill_test
