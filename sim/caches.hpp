// sim/caches.hpp: L1 and L2 of each core and a shared LLC: tags and dirty bits, no contents.
//
// Lines are physical (64 bytes). Each set replaces the line that was used longest ago. A line that
// misses is filled into all levels; a dirty line that leaves one level goes to the next one, and
// from the LLC to memory, which counts as a write back.
#pragma once

#include "base/bits.hpp"
#include "base/check.hpp"
#include "sim/config.hpp"

#include <algorithm>
#include <vector>

namespace hf::sim {

/// One cache. Entries of a set are in the order of their last use.
class cache {
   public:
    static constexpr u64 none = ~u64{0};

    cache(unsigned bytes, unsigned ways)
        : ways_(ways), mask_(bytes / line_size / ways - 1), entries_(bytes / line_size, none) {
        HF_CHECK(is_power_of_two(mask_ + 1), "a cache's sets are a power of two");
    }
    /// True: it is here, and now the newest of its set.
    [[nodiscard]] bool touch(u64 line, bool dirties) {
        u64* const set = set_of(line);
        if (set[0] >> 1 == line) [[likely]] {
            set[0] |= u64{dirties};
            return true;
        }
        for (unsigned i = 1; i < ways_; ++i) {
            if (set[i] >> 1 != line) continue;
            const u64 entry = set[i] | u64{dirties};
            std::move_backward(set, set + i, set + i + 1);
            set[0] = entry;
            return true;
        }
        return false;
    }
    /// Fills a line that is not here. The dirty line that left for it, or none.
    u64 fill(u64 line, bool dirty) {
        u64* const set = set_of(line);
        const u64 old = set[ways_ - 1];
        std::move_backward(set, set + ways_ - 1, set + ways_);
        set[0] = line << 1 | u64{dirty};
        return old != none && (old & 1) != 0 ? old >> 1 : none;
    }
    /// True: it was here and dirty. It stays, clean.
    bool clean(u64 line) {
        u64* const set = set_of(line);
        for (unsigned i = 0; i < ways_; ++i) {
            if (set[i] >> 1 != line) continue;
            const bool was_dirty = (set[i] & 1) != 0;
            set[i] &= ~u64{1};
            return was_dirty;
        }
        return false;
    }
    /// True: it was here and dirty. Now it is not here.
    bool remove(u64 line) {
        u64* const set = set_of(line);
        for (unsigned i = 0; i < ways_; ++i) {
            if (set[i] == none || set[i] >> 1 != line) continue;
            const bool was_dirty = (set[i] & 1) != 0;
            std::move(set + i + 1, set + ways_, set + i);
            set[ways_ - 1] = none;
            return was_dirty;
        }
        return false;
    }

   private:
    [[nodiscard]] u64* set_of(u64 line) { return entries_.data() + (line & mask_) * ways_; }
    unsigned ways_;
    u64 mask_;
    std::vector<u64> entries_;  ///< line << 1 | dirty; none: empty
};

class caches {
   public:
    enum class found : u8 { l1, l2, llc, memory };

    explicit caches(const hardware& h) : llc_(h.llc_bytes, h.llc_ways) {
        for (unsigned c = 0; c < h.cores; ++c) {
            l1_.emplace_back(h.l1_bytes, h.l1_ways);
            l2_.emplace_back(h.l2_bytes, h.l2_ways);
        }
    }
    found access(unsigned core, u64 line, bool is_store) {
        if (is_store && l1_.size() > 1) take_from_others(core, line);
        if (l1_[core].touch(line, is_store)) return found::l1;
        const found where = fetch(core, line);
        fill_l1(core, line, is_store);
        return where;
    }
    /// A transaction's first store to a line: the old version is read, and its copy in L1 gets the
    /// other slot's tag (the paper, section 2.3). Where the old version was found.
    found retag(unsigned core, u64 from, u64 to) {
        const found where = access(core, from, false);
        // The old version stays in its slot: dirty data must not go with the tag.
        if (l1_[core].remove(from)) to_l2(core, from);
        if (l1_.size() > 1) take_from_others(core, to);
        if (!l1_[core].touch(to, true)) fill_l1(core, to, true);
        return where;
    }
    /// Writes a line back and keeps it; true if it was dirty anywhere.
    bool clean(u64 line) {
        bool was_dirty = llc_.clean(line);
        for (std::size_t c = 0; c < l1_.size(); ++c) {
            was_dirty |= l1_[c].clean(line);
            was_dirty |= l2_[c].clean(line);
        }
        return was_dirty;
    }
    [[nodiscard]] u64 write_backs() const noexcept { return write_backs_; }

   private:
    found fetch(unsigned core, u64 line) {
        if (l2_[core].touch(line, false)) return found::l2;
        const bool in_llc = llc_.touch(line, false);
        if (!in_llc) to_memory(llc_.fill(line, false));
        to_llc(l2_[core].fill(line, false));
        return in_llc ? found::llc : found::memory;
    }
    void fill_l1(unsigned core, u64 line, bool dirty) {
        if (const u64 out = l1_[core].fill(line, dirty); out != cache::none) to_l2(core, out);
    }
    void to_l2(unsigned core, u64 line) {
        if (!l2_[core].touch(line, true)) to_llc(l2_[core].fill(line, true));
    }
    void to_llc(u64 line) {
        if (line == cache::none) return;
        if (!llc_.touch(line, true)) to_memory(llc_.fill(line, true));
    }
    void to_memory(u64 line) {
        if (line != cache::none) ++write_backs_;
    }
    void take_from_others(unsigned core, u64 line) {
        for (unsigned c = 0; c < l1_.size(); ++c) {
            if (c == core) continue;
            const bool in_l1 = l1_[c].remove(line);
            if (l2_[c].remove(line) || in_l1) to_llc(line);
        }
    }
    std::vector<cache> l1_;
    std::vector<cache> l2_;
    cache llc_;
    u64 write_backs_ = 0;
};

}  // namespace hf::sim
