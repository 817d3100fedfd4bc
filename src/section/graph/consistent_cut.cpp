#include "section/graph/consistent_cut.hpp"

#include <algorithm>

namespace hf::graph {
namespace {

/// The completed sections that begin a history: an upper bound of its cut.
u64 completed_prefix(const lane_history& lane) {
    const auto open = std::find_if(lane.sections.begin(), lane.sections.end(),
                                   [](const section_facts& s) { return !s.completed; });
    return lane.kept + static_cast<u64>(open - lane.sections.begin());
}

bool is_satisfied(const section_facts& s, std::span<const u64> cut) {
    return std::all_of(s.depends_on.begin(), s.depends_on.end(), [&](const section_id& other) {
        return other.lane < cut.size() && other.number <= cut[other.lane];
    });
}

/// The sections of a lane before the first one that depends on a section outside of the cut.
u64 satisfied_prefix(const lane_history& lane, u64 limit, std::span<const u64> cut) {
    for (u64 i = 0; lane.kept + i < limit; ++i) {
        if (!is_satisfied(lane.sections[i], cut)) return lane.kept + i;
    }
    return limit;
}

}  // namespace

std::vector<u64> largest_consistent_cut(std::span<const lane_history> lanes) {
    std::vector<u64> cut;
    cut.reserve(lanes.size());
    for (const lane_history& lane : lanes) cut.push_back(completed_prefix(lane));
    for (bool lowered = true; lowered;) {
        lowered = false;
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            const u64 now = satisfied_prefix(lanes[i], cut[i], cut);
            lowered |= now < cut[i];
            cut[i] = now;
        }
    }
    return cut;
}

}  // namespace hf::graph
