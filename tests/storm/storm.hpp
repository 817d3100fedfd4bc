// storm/storm.hpp: threads of all kinds on one map at full speed, boundaries without a pause, and
// the power that goes in between.
//
// Purpose. What the crash lab can't reach: millions of boundaries against operations that really
//  run at the same time, on caches and store buffers as they are. A storm is a chain of sessions on
//  one region. In each, from its very opening on (while leaves are still being recovered), run
//
//    writers      each on keys of its own, which lie mingled with the others' in every leaf
//    short lives  threads that write a little and end; the next one takes over keys and lanes
//    readers      that judge each value: it was written, it is not older than what they know
//    scanners     forward and backward: in order, each value judged, nothing left out
//    boundaries   one after the other
//    evictions    lines reach the medium though nobody has flushed them
//
//  until the power goes. What is left must be the state at the end of the last epoch that was
//  counted, each write of it and none of a later one; the next session starts from there.
//
// At each boundary, moreover, a part of the memory is compared with the medium's copy: with the
// world at rest every word of the heap must have reached it, but for nodes' version words, whose
// meaning is volatile, and for values that are just being filled in.
#pragma once

#include "base/random.hpp"
#include "scratch.hpp"
#include "storm/machine.hpp"
#include "storm/population.hpp"
#include "storm/shadow_memory.hpp"

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
    u64 boundaries = 1000;  ///< of a session, before the power goes
    u64 seed = 1;
};

class storm {
   public:
    storm(const std::filesystem::path& directory, const storm_options& options);

    /// One session, from an opening to a power cut, and the judgement of what is left. False: it
    /// was wrong, and a test failure says how.
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
    std::vector<u32> kept_;  ///< the version of each key that the last crash has left
    u64 sessions_ = 0;
    u64 boundaries_ = 0;
    u64 writes_ = 0;
};

}  // namespace hf::test
