// sim/core_clock.hpp: a simple in-order core's time, for all media at once.
//
// An access takes a fixed time plus where TLB and caches found it. A flush takes its issue; its
// write is under way until the next fence, which waits for all of them: the medium writes `banks`
// lines at the same time. Work in the background adds to counters::background_ns, no core's time.
//
// Events are counted, and times are computed when they are read: an event is one increment, where
// sums of three media would wait for each other.
#pragma once

#include "sim/caches.hpp"
#include "sim/counters.hpp"
#include "sim/tlb.hpp"

#include <array>
#include <cstddef>

namespace hf::sim {

class core_clock {
   public:
    explicit core_clock(const latencies& takes) : takes_(takes) {}

    void translated(tlbs::found where) { ++translations_[static_cast<std::size_t>(where)]; }
    void accessed(caches::found where, bool is_persistent) {
        ++accesses_[is_persistent ? 1 : 0][static_cast<std::size_t>(where)];
    }
    void flush() {
        ++flushes_;
        ++under_way_;
    }
    void fence() {
        ++fences_;
        rounds_ += (under_way_ + takes_.banks - 1) / takes_.banks;
        under_way_ = 0;
    }
    void in_background(u64 reads, u64 writes) {
        background_reads_ += reads;
        background_writes_ += writes;
    }
    void message() { ++messages_; }

    /// Adds the times, reads of memory and fences since the latest reset.
    void add_to(counters& n) const {
        const u64 from_media = read_from(dram_alone) + read_from(all_media);
        n.memory_reads += from_media;
        n.fences += fences_;
        const double busy = busy_ns();
        for (std::size_t m = 0; m < media.size(); ++m) {
            const double reads = of(read_from(dram_alone)) * media[dram].read_ns +
                                 of(read_from(all_media)) * media[m].read_ns;
            const double waits = of(fences_) * takes_.fence + of(rounds_) * media[m].write_ns;
            n.ns[m] += busy + reads + waits;
            n.memory_ns[m] += reads;
            n.fence_ns[m] += waits;
            n.background_ns[m] += of(background_reads_) * media[m].read_ns +
                                  of(background_writes_) * media[m].write_ns;
        }
    }
    /// Lines that are under way stay so.
    void reset() {
        const u32 under_way = under_way_;
        *this = core_clock(takes_);
        under_way_ = under_way;
    }

   private:
    /// Indexes of accesses_: volatile memory is DRAM, whatever the medium is.
    enum memory : u8 { dram_alone, all_media };

    static double of(u64 events) { return static_cast<double>(events); }
    [[nodiscard]] u64 read_from(memory m) const {
        return accesses_[m][static_cast<std::size_t>(caches::found::memory)];
    }
    [[nodiscard]] u64 found_in(caches::found where) const {
        const auto i = static_cast<std::size_t>(where);
        return accesses_[dram_alone][i] + accesses_[all_media][i];
    }
    /// The part that no medium changes.
    [[nodiscard]] double busy_ns() const {
        const u64 l2 = found_in(caches::found::l2);
        const u64 farther = found_in(caches::found::llc) + found_in(caches::found::memory);
        const u64 all = found_in(caches::found::l1) + l2 + farther;
        const u64 second = translations_[static_cast<std::size_t>(tlbs::found::second)];
        const u64 walks = translations_[static_cast<std::size_t>(tlbs::found::nowhere)];
        return of(all) * takes_.access + of(l2) * takes_.l2 + of(farther) * takes_.llc +
               of(second) * takes_.second_level_tlb + of(walks) * takes_.page_walk +
               of(flushes_) * takes_.flush + of(messages_) * takes_.message;
    }

    latencies takes_;
    std::array<u64, 3> translations_{};
    std::array<std::array<u64, 4>, 2> accesses_{};  ///< by memory, and by where they were found
    u64 flushes_ = 0;
    u64 fences_ = 0;
    u64 rounds_ = 0;  ///< of `banks` lines each
    u64 messages_ = 0;
    u64 background_reads_ = 0;
    u64 background_writes_ = 0;
    u32 under_way_ = 0;
};

}  // namespace hf::sim
