// sim/page_space.hpp: the simulated pages: their bits and slots, spare physical pages, indexes of
// the state table, and the order in which pages were last committed.
//
// Physical pages: [0, n) hold the n virtual pages at first, further ones are spares; beyond them
// are journal, state table and page table (places()).
//
// An index of the state table that a removed entry had is not given out again before the journal
// is truncated: a record that names it must not be replayed into another page's entry.
#pragma once

#include "base/bits.hpp"
#include "shadow/rules.hpp"

#include <vector>

namespace hf::sim {

inline constexpr u32 nothing = ~u32{0};

struct page_state {
    shadow::page_bits bits;  ///< updated: by the transactions of all cores
    u32 slot[2] = {nothing, nothing};
    u32 index = nothing;  ///< in the state table; nothing: the page has one slot
    u32 newer = nothing;  ///< in the list of pages with two slots
    u32 older = nothing;
    bool is_listed = false;
    bool waits = false;  ///< left the last TLB with updated lines

    [[nodiscard]] bool has_entry() const noexcept { return index != nothing; }
    [[nodiscard]] bool is_split() const noexcept {
        return bits.committed != 0 && bits.committed != ~shadow::line_set{0};
    }
};

class page_space {
   public:
    explicit page_space(u64 pages) : pages_(pages), next_physical_(static_cast<u32>(pages)) {
        for (u64 v = 0; v < pages; ++v) pages_[v].slot[0] = static_cast<u32>(v);
    }
    [[nodiscard]] page_state& operator[](u64 v) { return pages_[v]; }
    [[nodiscard]] const page_state& operator[](u64 v) const { return pages_[v]; }
    [[nodiscard]] u64 size() const noexcept { return pages_.size(); }

    [[nodiscard]] u32 take_physical() { return take(free_physical_, next_physical_); }
    void give_physical(u32 p) { free_physical_.push_back(p); }
    [[nodiscard]] u32 take_index() { return take(free_indexes_, next_index_); }
    void retire_index(u32 i) { retired_.push_back(i); }
    /// The journal names no old index any more.
    void truncated() {
        free_indexes_.insert(free_indexes_.end(), retired_.begin(), retired_.end());
        retired_.clear();
    }
    /// Indexes are below it.
    [[nodiscard]] u32 table_size() const noexcept { return next_index_; }

    // Pages with two slots, by their latest commit; consolidation::lazily.
    void to_front(u64 v) {
        page_state& p = pages_[v];
        if (newest_ == v) return;
        unlist(v);
        p.older = newest_;
        p.newer = nothing;
        if (newest_ != nothing) pages_[newest_].newer = static_cast<u32>(v);
        newest_ = static_cast<u32>(v);
        if (oldest_ == nothing) oldest_ = newest_;
        p.is_listed = true;
        ++listed_;
    }
    void unlist(u64 v) {
        page_state& p = pages_[v];
        if (!p.is_listed) return;
        (p.newer == nothing ? newest_ : pages_[p.newer].older) = p.older;
        (p.older == nothing ? oldest_ : pages_[p.older].newer) = p.newer;
        p.newer = p.older = nothing;
        p.is_listed = false;
        --listed_;
    }
    [[nodiscard]] u64 listed() const noexcept { return listed_; }
    [[nodiscard]] u32 oldest() const noexcept { return oldest_; }

   private:
    static u32 take(std::vector<u32>& free, u32& next) {
        if (free.empty()) return next++;
        const u32 found = free.back();
        free.pop_back();
        return found;
    }
    std::vector<page_state> pages_;
    u32 next_physical_;
    u32 next_index_ = 0;
    std::vector<u32> free_physical_;
    std::vector<u32> free_indexes_;
    std::vector<u32> retired_;
    u32 newest_ = nothing;
    u32 oldest_ = nothing;
    u64 listed_ = 0;
};

}  // namespace hf::sim
