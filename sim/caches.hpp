// sim/caches.hpp: L1 and L2 of each core and a shared LLC: tags and dirty bits, no contents.
//
// Lines are physical (64 bytes). Each set replaces the line that was used longest ago. A line that
// misses is filled into all levels; a dirty line that leaves one level goes to the next one, and
// from the LLC to memory, which counts as a write back.
#pragma once

#include "base/bits.hpp"
#include "base/check.hpp"
#include "sim/config.hpp"
#include "sim/tag_set.hpp"

#include <bit>
#include <vector>

namespace hf::sim {

/// One cache. Tags of 32 bits, where they suffice, let a set have 16 ways.
template <class Tag>
class cache {
   public:
    static constexpr u64 none = ~u64{0};

    cache(unsigned bytes, unsigned ways)
        : last_way_(ways - 1),
          mask_(bytes / line_size / ways - 1),
          set_bits_(static_cast<unsigned>(std::bit_width(mask_))),
          sets_(mask_ + 1) {
        HF_CHECK(is_power_of_two(mask_ + 1), "a cache's sets are a power of two");
        HF_CHECK(ways <= set::max_ways, "a cache has more ways than one line has tags");
    }
    struct outcome {
        bool is_hit;
        u64 out;  ///< the dirty line that left, or none
    };
    /// Makes the line the newest of its set, and dirty if `dirties`; fills it where it is missing.
    outcome put(u64 line, bool dirties) {
        set& s = set_of(line);
        const Tag tag = tag_of(line);
        const unsigned way = s.find(tag);
        if (way != set::max_ways) {
            s.push(way, s[way] | Tag{dirties});
            return {true, none};
        }
        const Tag old = s[last_way_];
        const Tag filled = tag << 1 | Tag{dirties};
        if (last_way_ == set::max_ways - 1) {
            s.push_over_last(filled);
        } else {
            s.push(last_way_, filled);
        }
        const bool writes_back = old != set::empty && (old & 1) != 0;
        return {false, writes_back ? u64{old >> 1} << set_bits_ | (line & mask_) : none};
    }
    /// As put(), where the line is the newest of its set already; false: it is not.
    bool put_newest(u64 line, bool dirties) {
        set& s = set_of(line);
        if (s[0] >> 1 != tag_of(line)) return false;
        s[0] |= Tag{dirties};
        return true;
    }
    /// Removes the newest line of its set. True: it was dirty.
    bool remove_newest(u64 line) {
        set& s = set_of(line);
        HF_ASSERT(s[0] >> 1 == tag_of(line), "another line is the newest of a cache's set");
        const bool was_dirty = (s[0] & 1) != 0;
        s.take(0);
        return was_dirty;
    }
    /// True: it was here and dirty. It stays, clean.
    bool clean(u64 line) {
        set& s = set_of(line);
        const Tag tag = tag_of(line);
        const unsigned way = s[0] >> 1 == tag ? 0 : s.find(tag);
        if (way == set::max_ways) return false;
        const bool was_dirty = (s[way] & 1) != 0;
        s[way] &= ~Tag{1};
        return was_dirty;
    }
    /// True: it was here and dirty. Now it is not here.
    bool remove(u64 line) {
        set& s = set_of(line);
        const unsigned way = s.find(tag_of(line));
        if (way == set::max_ways) return false;
        const bool was_dirty = (s[way] & 1) != 0;
        s.take(way);
        return was_dirty;
    }
    /// An access to it is near.
    void expect(u64 line) const { __builtin_prefetch(&sets_[line & mask_], 1); }

   private:
    using set = tag_set<Tag>;
    [[nodiscard]] set& set_of(u64 line) { return sets_[line & mask_]; }
    [[nodiscard]] Tag tag_of(u64 line) const {
        const u64 tag = line >> set_bits_;
        HF_CHECK(tag < set::empty >> 1, "a line's number is beyond a cache's tags");
        return static_cast<Tag>(tag);
    }
    unsigned last_way_;
    u64 mask_;
    unsigned set_bits_;
    std::vector<set> sets_;
};

class caches {
   public:
    enum class found : u8 { l1, l2, llc, memory };

    explicit caches(const hardware& h) : cores_(h.cores), llc_(h.llc_bytes, h.llc_ways) {
        for (unsigned c = 0; c < h.cores; ++c) {
            l1_.emplace_back(h.l1_bytes, h.l1_ways);
            l2_.emplace_back(h.l2_bytes, h.l2_ways);
        }
    }
    found access(unsigned core, u64 line, bool is_store) {
        if (is_store && cores_ > 1) take_from_others(core, line);
        if (l1_[core].put_newest(line, is_store)) return found::l1;
        const auto first = l1_[core].put(line, is_store);
        if (first.is_hit) return found::l1;
        const found where = fetch(core, line);
        to_l2(core, first.out);
        return where;
    }
    /// A transaction's first store to a line: the old version is read, and its copy in L1 gets the
    /// other slot's tag (the paper, section 2.3). Where the old version was found.
    found retag(unsigned core, u64 from, u64 to) {
        const found where = access(core, from, false);
        // The old version stays in its slot: dirty data must not go with the tag.
        if (l1_[core].remove_newest(from)) to_l2(core, from);
        if (cores_ > 1) take_from_others(core, to);
        to_l2(core, l1_[core].put(to, true).out);
        return where;
    }
    /// An access to it is near.
    void expect(unsigned core, u64 line) const {
        llc_.expect(line);
        l2_[core].expect(line);
    }
    /// Writes a line back and keeps it; true if it was dirty anywhere.
    bool clean(u64 line) {
        bool was_dirty = llc_.clean(line);
        for (unsigned c = 0; c < cores_; ++c) {
            was_dirty |= l1_[c].clean(line);
            was_dirty |= l2_[c].clean(line);
        }
        return was_dirty;
    }
    [[nodiscard]] u64 write_backs() const noexcept { return write_backs_; }

   private:
    found fetch(unsigned core, u64 line) {
        const auto second = l2_[core].put(line, false);
        if (second.is_hit) return found::l2;
        const auto last = llc_.put(line, false);
        to_memory(last.out);
        to_llc(second.out);
        return last.is_hit ? found::llc : found::memory;
    }
    void to_l2(unsigned core, u64 line) {
        if (line != none) to_llc(l2_[core].put(line, true).out);
    }
    void to_llc(u64 line) {
        if (line != none) to_memory(llc_.put(line, true).out);
    }
    void to_memory(u64 line) {
        if (line != none) ++write_backs_;
    }
    void take_from_others(unsigned core, u64 line) {
        for (unsigned c = 0; c < cores_; ++c) {
            if (c == core) continue;
            const bool in_l1 = l1_[c].remove(line);
            if (l2_[c].remove(line) || in_l1) to_llc(line);
        }
    }
    static constexpr u64 none = cache<u64>::none;
    unsigned cores_;
    // Volatile lines have numbers of up to 41 bits: L2 and LLC have 1,024 sets and more for them.
    std::vector<cache<u64>> l1_;
    std::vector<cache<u32>> l2_;
    cache<u32> llc_;
    u64 write_backs_ = 0;
};

}  // namespace hf::sim
