// free_runs.hpp: the volatile index of free page runs, by offset and by size.
//
// Adjacent runs are joined here and nowhere else; the policy maintains their descriptors.
// Nothing here is durable. Concurrency: none; a heap's page mutex guards it.
#pragma once

#include "alloc/size_class.hpp"

#include <map>
#include <set>
#include <utility>

namespace hf {

class free_runs {
   public:
    struct run {
        u64 offset = 0;
        u64 pages = 0;
    };

    /// Adds a free run that is not in the index yet.
    void insert(u64 offset, u64 pages);

    /// Takes the smallest run of at least `pages` pages for which `may_take(offset)` is true; the
    /// remainder stays in the index. Returns the whole run; pages = 0 if there is none.
    template <class MayTake>
    [[nodiscard]] run take(u64 pages, MayTake&& may_take) {
        for (auto it = by_size_.lower_bound({pages, 0}); it != by_size_.end(); ++it) {
            const run found{it->second, it->first};
            if (!may_take(found.offset)) continue;
            cut(found, pages);
            return found;
        }
        return {};
    }

    /// Number of free pages.
    [[nodiscard]] u64 pages() const noexcept {
        u64 n = 0;
        for (const auto& [offset, pages] : by_offset_) n += pages;
        return n;
    }

   private:
    void cut(const run& whole, u64 pages);

    std::map<u64, u64> by_offset_;           ///< offset -> pages
    std::set<std::pair<u64, u64>> by_size_;  ///< pages, offset
};

}  // namespace hf
