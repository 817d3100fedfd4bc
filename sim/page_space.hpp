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

#include <utility>
#include <vector>

namespace hf::sim {

inline constexpr u32 nothing = ~u32{0};

/// Half a line: each access of the simulated program reads one.
struct alignas(line_size / 2) page_state {
    shadow::page_bits bits;  ///< updated: by the transactions of all cores
    u32 slot[2] = {nothing, nothing};
    u32 index = nothing;     ///< in the state table; nothing: the page has one slot
    bool is_listed = false;  ///< among those with two slots
    bool waits = false;      ///< left the last TLB with updated lines

    [[nodiscard]] bool has_entry() const noexcept { return index != nothing; }
    [[nodiscard]] bool is_split() const noexcept {
        return bits.committed != 0 && bits.committed != ~shadow::line_set{0};
    }
};

static_assert(sizeof(page_state) == line_size / 2);

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
        if (newest_ == v) return;
        if (links_.empty()) links_.resize(pages_.size());
        unlist(v);
        links_[v] = {nothing, newest_};
        if (newest_ != nothing) links_[newest_].newer = static_cast<u32>(v);
        newest_ = static_cast<u32>(v);
        if (oldest_ == nothing) oldest_ = newest_;
        pages_[v].is_listed = true;
        ++listed_;
    }
    void unlist(u64 v) {
        if (!pages_[v].is_listed) return;
        const neighbours l = std::exchange(links_[v], {});
        (l.newer == nothing ? newest_ : links_[l.newer].older) = l.older;
        (l.older == nothing ? oldest_ : links_[l.older].newer) = l.newer;
        pages_[v].is_listed = false;
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
    struct neighbours {
        u32 newer = nothing;
        u32 older = nothing;
    };
    std::vector<page_state> pages_;
    std::vector<neighbours> links_;  ///< of pages with two slots; empty until one is listed
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
