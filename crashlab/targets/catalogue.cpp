#include "crashlab/targets/alloc/swept_cases.hpp"
#include "crashlab/targets/heap/heap_cases.hpp"
#include "crashlab/targets/image/image_cases.hpp"
#include "crashlab/targets/image/in_place_case.hpp"
#include "crashlab/targets/index/art_cases.hpp"
#include "crashlab/targets/index/bwtree_cases.hpp"
#include "crashlab/targets/index/clht_cases.hpp"
#include "crashlab/targets/index/eager_masstree_cases.hpp"
#include "crashlab/targets/index/hot_cases.hpp"
#include "crashlab/targets/journal/journal_cases.hpp"
#include "crashlab/targets/map/tree.hpp"
#include "crashlab/targets/plain/plain_cases.hpp"
#include "crashlab/targets/region/region_case.hpp"
#include "crashlab/targets/region/upgrade_case.hpp"
#include "crashlab/targets/section/graph/section_graph_cases.hpp"
#include "crashlab/targets/section/section_cases.hpp"
#include "crashlab/targets/transaction/committed_cases.hpp"
#include "crashlab/targets/transaction/transaction_cases.hpp"
#include "examples/crash_lab/structure_targets.hpp"

namespace hf::lab {

const std::vector<target_description>& all_targets() {
    static const std::vector<target_description> all = [] {
        std::vector<target_description> found;
        for (const auto* cases : {&tree_cases(), &inlined_cases(), &rare_cases(), &stale_cases()}) {
            for (const tree_case& c : *cases) {
                target_description d{c.name, c.room, c.what,
                                     [&c](u64 seed) { return make_tree_target(c, seed); },
                                     c.points};
                d.has_threads = c.threads > 1;
                found.push_back(std::move(d));
            }
        }
        for (const auto* cases :
             {&committed_cases(), &transaction_cases(), &plain_cases(), &heap_cases(),
              &journal_cases(), &image_cases(), &clht_cases(), &art_cases(), &hot_cases(),
              &bwtree_cases(), &eager_masstree_cases(), &swept_cases(), &swept_thread_cases(),
              &section_cases(), &section_graph_cases()}) {
            found.insert(found.end(), cases->begin(), cases->end());
        }
        found.push_back(in_place_case());
        found.push_back(region_case());
        found.push_back(upgrade_case());
        const auto structures = example::structure_cases();
        found.insert(found.end(), structures.begin(), structures.end());
        return found;
    }();
    return all;
}

}  // namespace hf::lab
