// The largest consistent cut against an enumeration of all cuts.
#include "section/graph/consistent_cut.hpp"

#include "base/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace hf::graph {
namespace {

bool is_consistent(const std::vector<lane_history>& lanes, const std::vector<u64>& cut) {
    for (std::size_t l = 0; l < lanes.size(); ++l) {
        for (u64 n = lanes[l].kept + 1; n <= cut[l]; ++n) {
            const section_facts& s = lanes[l].sections[n - lanes[l].kept - 1];
            if (!s.completed) return false;
            for (const section_id& d : s.depends_on) {
                if (d.lane >= cut.size() || d.number > cut[d.lane]) return false;
            }
        }
    }
    return true;
}

/// By enumeration; the union of consistent cuts is consistent, so the sum decides.
std::vector<u64> largest_by_enumeration(const std::vector<lane_history>& lanes) {
    std::vector<u64> cut, best;
    for (const lane_history& l : lanes) cut.push_back(l.kept);
    best = cut;
    for (;;) {
        if (is_consistent(lanes, cut)) {
            for (std::size_t i = 0; i < cut.size(); ++i) best[i] = std::max(best[i], cut[i]);
        }
        std::size_t i = 0;
        for (; i < cut.size(); ++i) {
            if (cut[i] < lanes[i].kept + lanes[i].sections.size()) break;
            cut[i] = lanes[i].kept;
        }
        if (i == cut.size()) return best;
        ++cut[i];
    }
}

TEST(consistent_cut, of_independent_sections_is_the_completed_prefix) {
    const std::vector<lane_history> lanes{{3, {{true, {}}, {true, {}}, {false, {}}, {true, {}}}},
                                          {0, {}}};
    EXPECT_EQ(largest_consistent_cut(lanes), (std::vector<u64>{5, 0}));
}

TEST(consistent_cut, leaves_out_what_depends_on_a_running_section_over_two_lanes) {
    const std::vector<lane_history> lanes{
        {0, {{false, {}}}}, {0, {{true, {{0, 1}}}}}, {0, {{true, {}}, {true, {{1, 1}}}}}};
    EXPECT_EQ(largest_consistent_cut(lanes), (std::vector<u64>{0, 0, 1}));
}

TEST(consistent_cut, keeps_a_cycle_whole_and_undoes_it_whole) {
    std::vector<lane_history> lanes{{0, {{true, {{1, 1}}}}}, {0, {{true, {{0, 1}}}}}};
    EXPECT_EQ(largest_consistent_cut(lanes), (std::vector<u64>{1, 1}));
    lanes[1].sections[0].completed = false;
    EXPECT_EQ(largest_consistent_cut(lanes), (std::vector<u64>{0, 0}));
}

TEST(consistent_cut, takes_a_dependence_on_an_unknown_section_as_unsatisfied) {
    const std::vector<lane_history> lanes{
        {0, {{true, {{1, 4}}}}}, {3, {}}, {0, {{true, {{9, 1}}}}}};
    EXPECT_EQ(largest_consistent_cut(lanes), (std::vector<u64>{0, 3, 0}));
}

TEST(consistent_cut, of_random_histories_is_the_largest_by_enumeration) {
    for (u64 seed = 1; seed <= 3000; ++seed) {
        xoshiro256ss random(seed);
        std::vector<lane_history> lanes(2 + random.below(3));
        for (lane_history& l : lanes) {
            l.kept = random.below(3);
            l.sections.resize(random.below(5));
        }
        for (lane_history& l : lanes) {
            for (section_facts& s : l.sections) {
                s.completed = random.below(5) != 0;
                for (u64 n = random.below(3); n != 0; --n) {
                    s.depends_on.push_back(
                        {static_cast<u32>(random.below(lanes.size())), 1 + random.below(6)});
                }
            }
        }
        // A dependence on its own lane is its lane's order: leave those out.
        for (u32 i = 0; i < lanes.size(); ++i) {
            for (section_facts& s : lanes[i].sections) {
                std::erase_if(s.depends_on, [i](const section_id& d) { return d.lane == i; });
            }
        }
        ASSERT_EQ(largest_consistent_cut(lanes), largest_by_enumeration(lanes)) << "seed " << seed;
    }
}

}  // namespace
}  // namespace hf::graph
