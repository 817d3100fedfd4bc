// sim/core_clock.hpp: a simple in-order core's time, for all media at once.
//
// An access takes a fixed time plus where TLB and caches found it. A flush takes its issue; its
// write is under way until the next fence, which waits for all of them: the medium writes `banks`
// lines at the same time. Work in the background adds to counters::background_ns, no core's time.
#pragma once

#include "sim/caches.hpp"
#include "sim/counters.hpp"
#include "sim/tlb.hpp"

namespace hf::sim {

class core_clock {
   public:
    core_clock(const latencies& takes, counters& n) : takes_(takes), n_(n) {}

    void translated(tlbs::found where) {
        if (where == tlbs::found::first) return;
        spend(where == tlbs::found::second ? takes_.second_level_tlb : takes_.page_walk);
    }
    void accessed(caches::found where, bool is_persistent) {
        double ns = takes_.access;
        if (where == caches::found::l2) ns += takes_.l2;
        if (where >= caches::found::llc) ns += takes_.llc;
        if (where != caches::found::memory) {
            spend(ns);
            return;
        }
        ++n_.memory_reads;
        for (std::size_t m = 0; m < media.size(); ++m) {
            const double read = media[is_persistent ? m : dram].read_ns;
            n_.ns[m] += ns + read;
            n_.memory_ns[m] += read;
        }
    }
    void flush() {
        spend(takes_.flush);
        ++under_way_;
    }
    void fence() {
        ++n_.fences;
        const u64 rounds = (under_way_ + takes_.banks - 1) / takes_.banks;
        for (std::size_t m = 0; m < media.size(); ++m) {
            const double wait = takes_.fence + static_cast<double>(rounds) * media[m].write_ns;
            n_.ns[m] += wait;
            n_.fence_ns[m] += wait;
        }
        under_way_ = 0;
    }
    void in_background(u64 reads, u64 writes) {
        for (std::size_t m = 0; m < media.size(); ++m) {
            n_.background_ns[m] += static_cast<double>(reads) * media[m].read_ns +
                                   static_cast<double>(writes) * media[m].write_ns;
        }
    }
    void message() { spend(takes_.message); }
    void spend(double ns) {
        for (double& t : n_.ns) t += ns;
    }

   private:
    const latencies takes_;
    counters& n_;
    u64 under_way_ = 0;
};

}  // namespace hf::sim
