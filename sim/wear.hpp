// sim/wear.hpp: how often each line of the medium was written.
#pragma once

#include "base/bits.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace hf::sim {

struct wear_summary {
    u64 lines = 0;  ///< that were written
    u64 writes = 0;
    u64 worst = 0;   ///< of one line
    u64 median = 0;  ///< of the written ones
    u64 p99 = 0;
};

/// Counts writes of each line. The counts of adjacent lines form a group, allocated at the first
/// write; groups are so large that their pointers fit into a cache. Writes are buffered and counted
/// some hundreds at a time, so that the processor loads many counts at once.
class wear {
   public:
    void write(u64 line) {
        newest_[used_++] = line;
        if (used_ == newest_.size()) count_newest();
    }
    void clear() {
        used_ = 0;
        for (const auto& group : groups_) {
            if (group) group->fill(0);
        }
    }
    [[nodiscard]] wear_summary summary() {
        count_newest();
        std::vector<u32> all;
        wear_summary s;
        for (const auto& group : groups_) {
            if (!group) continue;
            for (const u32 n : *group) {
                if (n != 0) all.push_back(n);
            }
        }
        if (all.empty()) return s;
        std::sort(all.begin(), all.end());
        s.lines = all.size();
        for (const u32 n : all) s.writes += n;
        s.worst = all.back();
        s.median = all[all.size() / 2];
        s.p99 = all[all.size() * 99 / 100];
        return s;
    }

   private:
    static constexpr u64 lines_a_group = 4096;
    using counts = std::array<u32, lines_a_group>;
    static constexpr u64 ahead = 16;  ///< counts that are fetched at the same time

    u32& count_of(u64 line) {
        const u64 group = line / lines_a_group;
        if (group >= groups_.size()) groups_.resize(std::max(group + 1, groups_.size() * 2));
        if (!groups_[group]) groups_[group] = std::make_unique<counts>();
        return (*groups_[group])[line % lines_a_group];
    }
    void count_newest() {
        for (u64 i = 0; i < used_; ++i) {
            if (i + ahead < used_) __builtin_prefetch(&count_of(newest_[i + ahead]), 1);
            ++count_of(newest_[i]);
        }
        used_ = 0;
    }
    std::vector<std::unique_ptr<counts>> groups_;
    std::array<u64, 512> newest_{};  ///< written, and not counted yet
    u64 used_ = 0;
};

}  // namespace hf::sim
