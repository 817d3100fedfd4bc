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

/// Counts for pages of 64 lines; pages that were never written take a pointer each.
class wear {
   public:
    void write(u64 line) {
        const u64 page = line / lines_a_page;
        if (page >= pages_.size()) pages_.resize(std::max(page + 1, pages_.size() * 2));
        if (!pages_[page]) pages_[page] = std::make_unique<counts>();
        ++(*pages_[page])[line % lines_a_page];
    }
    void clear() { pages_.clear(); }
    [[nodiscard]] wear_summary summary() const {
        std::vector<u32> all;
        wear_summary s;
        for (const auto& page : pages_) {
            if (!page) continue;
            for (const u32 n : *page) {
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
    static constexpr u64 lines_a_page = 64;
    using counts = std::array<u32, lines_a_page>;
    std::vector<std::unique_ptr<counts>> pages_;
};

}  // namespace hf::sim
