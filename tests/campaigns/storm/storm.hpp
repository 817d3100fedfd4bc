// storm/storm.hpp: threads of all kinds on one map at full speed, frequent epoch boundaries, and
// power failures.
//
// Purpose. States that the crash lab cannot reach: millions of boundaries with operations that run
//  really in parallel, on real caches and store buffers. A storm is a sequence of sessions on one
//  region. In each, from open() on (while leaves are still being recovered), run
//
//    writers      each on its own keys, which are mixed with the others' in every leaf
//    short lives  threads that write a little and end; the next one takes over keys and lanes
//    readers      that judge each value: it was written, and is not older than the reader knows
//    scanners     forward and backward: in order, each value judged, none left out
//    boundaries   one after the other
//    evictions    lines reach the medium without a flush
//
//  until the power fails. The recovered state must be the end of the last completed epoch, with
//  each write of it and none of a later one; the next session continues from there.
//
// At each boundary a part of the memory is also compared with the medium's copy: while operations
// are stopped, every word of the heap must have reached it, except for nodes' version words, whose
// meaning is volatile, and values that are just being filled in.
#pragma once

#include "base/random.hpp"
#include "storm/machine.hpp"
#include "storm/population.hpp"
#include "storm/shadow_memory.hpp"
#include "support/scratch.hpp"

#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

namespace hf::test {

struct storm_options {
    machine_options machine;
    u32 keys = 2400;
    unsigned writers = 2;
    unsigned short_lives = 2;  ///< at a time
    unsigned readers = 1;
    unsigned scanners = 1;
    bool evictions = true;
    u64 boundaries = 1000;  ///< of a session, before the power failure
    u64 seed = 1;
};

class storm {
   public:
    storm(const std::filesystem::path& directory, const storm_options& options);

    /// One session, from open() to a power failure, and the check of the recovered state. False: it
    /// was wrong, and a test failure describes it.
    bool run_session();

    [[nodiscard]] u64 boundaries() const noexcept { return boundaries_; }
    [[nodiscard]] u64 writes() const noexcept { return writes_; }

   private:
    struct write {
        u32 key;
        u32 version;
        u64 epoch;
    };
    using log = std::vector<write>;
    class session;

    void judge(const std::vector<std::byte>& image, const std::vector<log>& logs);
    void judge_whole(const std::filesystem::path& copy, bool backward);

    storm_options options_;
    std::filesystem::path file_;
    std::filesystem::path copy_;
    population people_;
    std::vector<u32> kept_;  ///< the version of each key after the last crash
    u64 sessions_ = 0;
    u64 boundaries_ = 0;
    u64 writes_ = 0;
};

}  // namespace hf::test
