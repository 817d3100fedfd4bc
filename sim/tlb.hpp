// sim/tlb.hpp: the TLBs of all cores: an L1 DTLB each, fully associative, and an STLB each.
//
// Both replace the entry that was used longest ago. A page that misses is filled into both levels;
// an entry that leaves one level stays in the other. A page has left the last TLB when no level of
// any core holds it: refs() is 0, and touch() reports it in `gone`.
#pragma once

#include "base/bits.hpp"
#include "base/check.hpp"
#include "sim/config.hpp"
#include "sim/tag_set.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace hf::sim {

class tlbs {
   public:
    enum class found : u8 { first, second, nowhere };

    explicit tlbs(const hardware& h)
        : entries_(h.tlb_entries),
          sets_(h.stlb_sets),
          ways_(h.stlb_ways),
          set_bits_(static_cast<unsigned>(std::countr_zero(std::max(1U, h.stlb_sets)))) {
        HF_CHECK(entries_ > 0 && entries_ < absent, "a TLB has 1 to 254 entries");
        HF_CHECK(h.cores > 0 && h.cores <= max_cores, "the simulator has 1 to 4 cores");
        HF_CHECK(sets_ == 0 || is_power_of_two(sets_), "the STLB's sets are a power of two");
        HF_CHECK(ways_ <= set::max_ways, "the STLB has more ways than one line has tags");
        for (unsigned c = 0; c < h.cores; ++c) {
            first_.emplace_back(entries_);
            second_.emplace_back(sets_);
        }
    }

    /// Pages that have left the last TLB by the latest touch() or drop().
    [[nodiscard]] const std::vector<u64>& gone() const noexcept { return gone_; }
    [[nodiscard]] unsigned refs(u64 page) const noexcept {
        return page < pages_.size() ? pages_[page].refs : 0;
    }
    /// Whether a level of this core holds the page.
    [[nodiscard]] bool holds(unsigned core, u64 page) const noexcept {
        if (page >= pages_.size()) return false;
        if (pages_[page].way[core] != absent) return true;
        return sets_ != 0 && set_of(core, page).find(tag_of(page)) != set::max_ways;
    }

    /// Looks a page up and fills it where it is missing. `pinned(page)`: the page may not leave the
    /// last TLB, if there is another.
    template <class Pinned>
    found touch(unsigned core, u64 page, Pinned&& pinned) {
        if (page >= pages_.size()) pages_.resize(std::max(page + 1, pages_.size() * 2));
        level& l = first_[core];
        const u8 way = pages_[page].way[core];
        if (way != absent) [[likely]] {
            if (l.head != way) l.to_front(way);
            return found::first;
        }
        gone_.clear();
        const bool was_second = sets_ != 0 && touch_second(core, page, pinned);
        fill_first(core, page, pinned);
        return was_second ? found::second : found::nowhere;
    }

    /// An access of this core to the page follows before long. The page that may leave the last TLB
    /// for it, or ~0.
    u64 expect(unsigned core, u64 page) const {
        if (page >= pages_.size()) return none;
        __builtin_prefetch(&pages_[page], 1);
        const u64 out = sets_ == 0 ? first_[core].page[first_[core].tail()]
                                   : page_in(set_of(core, page), ways_ - 1, page);
        if (out != none) __builtin_prefetch(&pages_[out], 1);
        return out;
    }

    /// Removes a page from all TLBs: a shootdown. The number of cores that had it.
    unsigned drop(u64 page) {
        gone_.clear();
        unsigned cores = 0;
        for (unsigned c = 0; c < first_.size(); ++c) {
            if (!holds(c, page)) continue;
            ++cores;
            if (const u8 way = pages_[page].way[c]; way != absent) {
                first_[c].page[way] = none;
                first_[c].to_back(way);
                pages_[page].way[c] = absent;
                release(page);
            }
            if (sets_ == 0) continue;
            set& s = set_of(c, page);
            if (const unsigned way = s.find(tag_of(page)); way != set::max_ways) {
                s[way] = set::empty;
                release(page);
            }
        }
        return cores;
    }

   private:
    static constexpr u8 absent = 255;
    static constexpr u64 none = ~u64{0};

    struct alignas(8) page_place {
        std::array<u8, max_cores> way{absent, absent, absent, absent};
        u16 refs = 0;
    };
    /// A list of ways, the one used last at its head.
    struct level {
        explicit level(unsigned n) : page(n, none), next(n), previous(n) {
            for (unsigned i = 0; i < n; ++i) {
                next[i] = static_cast<u8>((i + 1) % n);
                previous[i] = static_cast<u8>((i + n - 1) % n);
            }
        }
        [[nodiscard]] u8 tail() const { return previous[head]; }
        void unlink(u8 way) {
            next[previous[way]] = next[way];
            previous[next[way]] = previous[way];
        }
        void link_before_head(u8 way) {
            const u8 last = previous[head];
            next[last] = way;
            previous[way] = last;
            next[way] = head;
            previous[head] = way;
        }
        void to_front(u8 way) {
            if (way == head) return;
            if (way != tail()) {
                unlink(way);
                link_before_head(way);
            }
            head = way;
        }
        void to_back(u8 way) {
            if (page.size() == 1) return;
            if (way == head) {
                head = next[way];
                return;
            }
            unlink(way);
            link_before_head(way);
        }
        std::vector<u64> page;
        std::vector<u8> next;
        std::vector<u8> previous;
        u8 head = 0;
    };

    // A page's tag in its set: 31 bits, as those of L2. The dirty bit is not used.
    using set = tag_set<u32>;
    [[nodiscard]] set& set_of(unsigned core, u64 page) { return second_[core][page & (sets_ - 1)]; }
    [[nodiscard]] const set& set_of(unsigned core, u64 page) const {
        return second_[core][page & (sets_ - 1)];
    }
    [[nodiscard]] u32 tag_of(u64 page) const {
        const u64 tag = page >> set_bits_;
        HF_CHECK(tag < set::empty >> 1, "a page's number is beyond the STLB's tags");
        return static_cast<u32>(tag);
    }
    /// The page of a way; `like` is another of its set.
    [[nodiscard]] u64 page_in(const set& s, unsigned way, u64 like) const {
        if (s[way] == set::empty) return none;
        return (u64{s[way] >> 1} << set_bits_) + (like & (sets_ - 1));
    }
    void release(u64 page) {
        if (--pages_[page].refs == 0) gone_.push_back(page);
    }
    template <class Pinned>
    void fill_first(unsigned core, u64 page, Pinned& pinned) {
        level& l = first_[core];
        u8 way = l.tail();
        // With an STLB, the page that leaves here is mostly still in there.
        for (unsigned i = 1;
             i < entries_ && l.page[way] != none && refs(l.page[way]) == 1 && pinned(l.page[way]);
             ++i) {
            way = l.previous[way];
        }
        if (l.page[way] != none && refs(l.page[way]) == 1 && pinned(l.page[way])) way = l.tail();
        if (const u64 old = l.page[way]; old != none) {
            pages_[old].way[core] = absent;
            release(old);
        }
        l.page[way] = page;
        pages_[page].way[core] = way;
        ++pages_[page].refs;
        l.to_front(way);
    }
    /// Entries of a set are in the order of their last use.
    template <class Pinned>
    bool touch_second(unsigned core, u64 page, Pinned& pinned) {
        set& s = set_of(core, page);
        const u32 tag = tag_of(page);
        unsigned way = s.find(tag);
        const bool hit = way != set::max_ways;
        if (!hit) {
            way = victim_in(s, page, pinned);
            if (const u64 old = page_in(s, way, page); old != none) release(old);
            ++pages_[page].refs;
        }
        s.push(way, tag << 1);
        return hit;
    }
    /// The way used longest ago that may leave; the last one where all are pinned.
    template <class Pinned>
    [[nodiscard]] unsigned victim_in(const set& s, u64 page, Pinned& pinned) const {
        for (unsigned way = ways_; way-- != 0;) {
            const u64 held = page_in(s, way, page);
            if (held == none || refs(held) != 1 || !pinned(held)) return way;
        }
        return ways_ - 1;
    }

    unsigned entries_;
    unsigned sets_;
    unsigned ways_;
    unsigned set_bits_;
    std::vector<level> first_;
    std::vector<std::vector<set>> second_;
    std::vector<page_place> pages_;
    std::vector<u64> gone_;
};

}  // namespace hf::sim
