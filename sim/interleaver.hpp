// sim/interleaver.hpp: transactions that were recorded one after another, run at the same time.
//
// Purpose. A program of one thread makes one transaction for each core; run() replays them in turns
// of a few accesses. A core whose access is refused, because another core's running transaction
// has updated the line, aborts and begins again: its updated bits are cleared, nothing is copied.
#pragma once

#include "sim/sink.hpp"

#include <array>
#include <vector>

namespace hf::sim {

class interleaver final : public sink {
   public:
    interleaver(sink& to, unsigned cores, unsigned accesses_a_turn = 4)
        : to_(to), scripts_(cores), turn_(accesses_a_turn) {}

    bool load(unsigned core, u64 address, unsigned bytes) override {
        scripts_[core].steps.push_back({address, bytes, false});
        return true;
    }
    bool store(unsigned core, u64 address, unsigned bytes) override {
        scripts_[core].steps.push_back({address, bytes, true});
        return true;
    }
    void begin(unsigned) override {}
    void commit(unsigned core) override { scripts_[core].is_whole = true; }
    void abort(unsigned core) override { scripts_[core].steps.clear(); }

    /// Replays all whole transactions to their commits.
    void run() {
        for (bool any = true; any;) {
            any = false;
            for (unsigned core = 0; core < scripts_.size(); ++core) any |= turn(core);
        }
    }
    /// Transactions that began again.
    [[nodiscard]] u64 retries() const noexcept { return retries_; }

   private:
    struct step {
        u64 address;
        unsigned bytes;
        bool is_store;
    };
    struct script {
        std::vector<step> steps;
        std::size_t at = 0;
        unsigned waits = 0;  ///< turns, after a conflict
        unsigned lost = 0;   ///< conflicts in a row
        bool is_whole = false;
        bool is_running = false;
    };
    /// True: the core is not done.
    bool turn(unsigned core) {
        script& s = scripts_[core];
        if (!s.is_whole) return false;
        if (s.waits != 0) return --s.waits, true;
        if (!s.is_running) to_.begin(core);
        s.is_running = true;
        for (unsigned i = 0; i < turn_ && s.at < s.steps.size(); ++i) {
            const step& next = s.steps[s.at];
            const bool done = next.is_store ? to_.store(core, next.address, next.bytes)
                                            : to_.load(core, next.address, next.bytes);
            if (!done) return lose(core, s);
            ++s.at;
        }
        if (s.at < s.steps.size()) return true;
        to_.commit(core);
        s = {};
        return false;
    }
    bool lose(unsigned core, script& s) {
        to_.abort(core);
        ++retries_;
        s.at = 0;
        s.is_running = false;
        // Cores wait for different numbers of turns, so that two do not stop each other forever.
        s.waits = ++s.lost * (core + 1);
        return true;
    }

    sink& to_;
    std::vector<script> scripts_;
    unsigned turn_;
    u64 retries_ = 0;
};

}  // namespace hf::sim
