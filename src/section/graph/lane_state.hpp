// section/graph/lane_state.hpp: what graph mode keeps for one lane, in ordinary memory.
#pragma once

#include "section/graph/consistent_cut.hpp"
#include "section/graph/lane_log.hpp"
#include "sync/spin_lock.hpp"

#include <array>
#include <atomic>
#include <deque>
#include <vector>

namespace hf::graph {

/// The bytes that the open section has logged already: later stores to them need no entry, because
/// recovery applies the oldest one last. It may forget, which costs an entry.
class logged_bytes {
   public:
    /// Whether all bytes of `mask` of that word are logged; notes them if not.
    [[nodiscard]] bool covers(u64 word, u8 mask) noexcept {
        slot& s = slots_[word % slots_.size()];
        if (s.section != section_ || s.word != word) s = {section_, word, 0};
        if ((s.mask & mask) == mask) return true;
        s.mask |= mask;
        return false;
    }
    void clear() noexcept { ++section_; }

   private:
    struct slot {
        u64 section = 0;
        u64 word = 0;
        u8 mask = 0;
    };
    u64 section_ = 1;
    std::array<slot, 1024> slots_{};
};

inline constexpr u32 max_lanes = 256;

/// A section that has completed and may still be undone.
struct closed_section {
    u64 end = 0;         ///< position after its last entry
    u32 depends_on = 0;  ///< how many of lane_state::closed_depends_on are its own
};

/// A number that its owner alone changes, and others read.
class owned_count {
   public:
    void add_one() noexcept {
        value_.store(value_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    [[nodiscard]] u64 get() const noexcept { return value_.load(std::memory_order_relaxed); }

   private:
    std::atomic<u64> value_{0};
};

struct lane_state {
    lane_state(u32 lane, region& r, const segment& s, const log_identity& of)
        : index(lane), log(r, s, of) {}

    const u32 index;
    lane_log log;

    // The owner's.
    u64 clock = 0;   ///< Lamport's
    u64 number = 0;  ///< of the newest section
    bool is_open = false;
    bool is_gap = false;                 ///< it holds stores made outside of sections
    u64 gap_stores = 0;                  ///< since it was opened; one with n entries counts n times
    std::vector<section_id> depends_on;  ///< of the open section, or of the next one
    /// The newest section of each lane that a section of this one depends on, in its entries. A
    /// dependence on that one or an earlier one follows from the order of this lane's sections.
    std::array<u64, max_lanes> newest_dependence{};
    std::vector<section_id> acquired;  ///< scratch
    std::vector<u64> lines;            ///< stored to since the last write-back, by line number
    logged_bytes logged;
    owned_count sections;  ///< completed
    owned_count elided;

    /// Last section that can never be undone. Written by the manager.
    std::atomic<u64> kept{0};

    spin_lock mutex;  ///< the two below
    std::deque<closed_section> closed;
    std::deque<section_id> closed_depends_on;  ///< of all closed sections, one after the other
};

}  // namespace hf::graph
