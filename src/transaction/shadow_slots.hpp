// transaction/shadow_slots.hpp: the second slots of pages, and the table that says what they hold.
//
// Purpose. With the shadow engine a page of 4 KiB has two slots. The first, P0, is the page itself,
// its home, where loads read. The second, P1, is given to a page at its first commit, and taken
// back by consolidation. This class owns the second slots; the rules are those of shadow/rules.hpp.
//
// On the medium. Segments of kind slots, in each first the table, then the slots:
//
//     | entry of slot 0 | entry of slot 1 | ...   | slot 0 | slot 1 | ...
//       32 bytes (shadow/home_entry.hpp)            4 KiB
//
//     entry:  V + 1 and a check | not CB | P1 = the slot's own page | CB      0: the slot is free
//
// Pages are numbered from the region's first byte. P0 is V, and P1 follows from the entry's place:
// an entry that says anything else is damaged.
//
// Invariants.
//  SS1  A slot is free, or in one lane's stash, or the second slot of one page.
//  SS2  A line's committed version is at home where its page has no second slot, or its bit is 0.
//  SS3  At the beginning and at the end of a session every entry is free.
//  SS4  The working image, all homes, holds the committed version of every line that no commit is
//       writing, in memory. So a line whose bit is 1 is consolidated by a flush of its home.
//  SS5  In a used entry CB and its copy differ, on the medium, only in lines that a record of the
//       epoch names: both change after the record is durable (S2), the name is stored after both.
//
// Bounds. There are at most as many pages of slots as of heap, and at most half of what the region
// may have: both together take twice the heap's space. Where no slot is free and the bound is
// reached, pages are consolidated (shadow_engine.cpp). A region that is more than half full leaves
// its room to the heap at first: slots grow only when several times as many pages as there are
// slots have been consolidated. So pages that are filled one after the other, as those of a long
// array, do not keep their slots, and a working set gets slots after that many consolidations. The
// heap leaves a 32nd of the region to them (kept_for_slots(), alloc/geometry.hpp), and they leave
// the logs' share to the logs: a full heap can still be changed.
//
// Concurrency. The free list, growth and the hand are under a mutex. Each page has an owner while a
// commit or a consolidation runs: `second`, the slot's bits and the page's entry are changed by the
// owner alone, so by plain stores. The committed bits have a copy in ordinary memory, which is what
// commits read: an entry that was written back is not in the cache.
//
// Literature. Ni et al., "Reducing NVM Writes with Optimized Shadow Paging" (HotStorage 2018).
#pragma once

#include "region/region.hpp"
#include "shadow/rules.hpp"
#include "sync/spin_lock.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace hf {

class lane;

/// An entry of the table, as words that several threads change.
struct slot_entry {
    std::atomic<u64> name;               ///< shadow::entry_name(); 0: the slot is free
    std::atomic<shadow::line_set> copy;  ///< not `committed`
    std::atomic<u64> slot;
    std::atomic<shadow::line_set> committed;

    void set_committed(shadow::line_set lines) noexcept {
        committed.store(lines, std::memory_order_release);
        copy.store(~lines, std::memory_order_release);
    }
};
static_assert(sizeof(slot_entry) == 32);

/// Where things lie in a segment of slots.
class slot_segment {
   public:
    static constexpr u64 slots_per_page = layout::page_size / shadow::page_size;
    static constexpr u64 entries_per_page = layout::page_size / sizeof(slot_entry);

    explicit slot_segment(const segment& s) noexcept
        : offset_(s.offset),
          table_pages_((s.pages * slots_per_page + entries_per_page - 1) / entries_per_page),
          slots_((s.pages - table_pages_) * slots_per_page) {}

    [[nodiscard]] u64 slots() const noexcept { return slots_; }
    [[nodiscard]] u64 entry_at(u64 i) const noexcept { return offset_ + i * sizeof(slot_entry); }
    [[nodiscard]] u64 slot_at(u64 i) const noexcept {
        return offset_ + table_pages_ * layout::page_size + i * shadow::page_size;
    }

   private:
    u64 offset_;
    u64 table_pages_;
    u64 slots_;
};

class shadow_slots {
   public:
    static constexpr u64 no_page = ~u64{0};

    /// A second slot of this session.
    struct slot {
        u64 number = 0;  ///< of its own page
        std::byte* memory = nullptr;
        slot_entry* entry = nullptr;
        std::atomic<u64> page{no_page};  ///< whose second slot it is
    };
    /// A page of the heap, in this session: all that a commit reads, in one line.
    struct alignas(line_size) page {
        spin_lock owned;                  ///< by a commit or a consolidation
        std::atomic<bool> recent{false};  ///< committed to since the clock hand passed
        std::atomic<slot*> second{nullptr};
        // The second slot, for the owner.
        u64 slot_number = 0;
        std::byte* memory = nullptr;
        slot_entry* entry = nullptr;
        shadow::line_set committed = 0;  ///< lines whose committed version it has
        u64 noted_in = 0;                ///< epoch at whose end the entry is written back

        /// These lines change slots.
        void flip(shadow::line_set lines) noexcept {
            committed ^= lines;
            entry->set_committed(committed);
        }
    };

    explicit shadow_slots(region& r);
    shadow_slots(const shadow_slots&) = delete;
    shadow_slots& operator=(const shadow_slots&) = delete;
    ~shadow_slots();

    /// Takes over the segments that there are, all free, or makes the first. errc::no_space: the
    /// region has no room for it.
    [[nodiscard]] result<void> open();

    [[nodiscard]] page& of(u64 number);
    /// Moves free slots to `into` until it has `count`. False: fewer are free.
    [[nodiscard]] bool take(std::vector<slot*>& into, u64 count);
    void give_back(slot& s);
    /// When slots may take room that the heap may need: after the consolidations above, or because
    /// there is no page left to consolidate.
    enum class growth { after_consolidations, at_once };
    /// One more segment. False: the bound is reached, the region is full, or it is too early.
    [[nodiscard]] bool grow(growth when);
    /// Counts pages that were consolidated.
    void count_consolidated(u64 pages) noexcept {
        consolidated_.fetch_add(pages, std::memory_order_relaxed);
    }
    /// Makes the slot the second one of the page, which has none and is owned.
    static void attach(slot& s, page& p, u64 number) noexcept;
    /// The contrary; the page is owned, and its home is durable without the slot.
    static void detach(page& p) noexcept;
    /// The entry of the owned page changes: it is durable with the epoch's end.
    static void note(page& p, lane& mine) noexcept;
    /// The next slot of the clock that belongs to a page and was not committed to lately; nullptr:
    /// there is none. It may change until its page is owned.
    [[nodiscard]] slot* next_victim();
    /// Calls f(page, its number) for each page with a second slot. No transaction runs.
    template <class F>
    void each_used(F&& f) {
        for (const auto& g : groups_) {
            for (u64 i = 0; i < g.count; ++i) {
                const u64 number = g.slots[i].page.load(std::memory_order_relaxed);
                if (number != no_page) f(of(number), number);
            }
        }
    }

    [[nodiscard]] u64 total() const noexcept { return total_.load(std::memory_order_relaxed); }
    [[nodiscard]] u64 free() const noexcept { return free_count_.load(std::memory_order_relaxed); }
    /// Whether so few are free that pages should be consolidated ahead.
    [[nodiscard]] bool is_short() const noexcept {
        return is_at_bound_.load(std::memory_order_relaxed) && 8 * free() < total();
    }

   private:
    static constexpr u64 pages_per_chunk = 64;
    struct chunk {
        std::array<page, pages_per_chunk> pages;
    };
    struct group {
        std::unique_ptr<slot[]> slots;
        u64 count = 0;
    };

    [[nodiscard]] u64 bound() const;
    [[nodiscard]] bool is_too_early(u64 more_pages) const noexcept;
    void adopt(const segment& s);

    region& region_;
    const u64 chunks_count_;
    std::unique_ptr<std::atomic<chunk*>[]> chunks_;
    std::mutex mutex_;
    std::vector<group> groups_;
    std::vector<slot*> free_;
    u64 hand_group_ = 0;
    u64 hand_ = 0;
    std::atomic<u64> total_{0};
    std::atomic<u64> consolidated_{0};  ///< pages, since the last growth
    std::atomic<u64> free_count_{0};
    std::atomic<bool> is_at_bound_{false};
};

/// The pages of the first segment of slots, in a region of at most `max_pages` pages.
[[nodiscard]] u64 first_slot_pages(u64 max_pages) noexcept;

}  // namespace hf
