// bench/compare/ledger.hpp: what a contender must answer for some of the records.
//
// Some thousand records are watched, evenly spread, hot ones among them as it happens. Each client
// notes its newest put to each of them: stamp, begin and end. Of puts by several clients any may
// have come last, as long as none began after it had ended; so
//
//   a value is right  iff  it is of some client's newest put to the record, and no other client's
//                          newest put to the record began after that one had ended.
//
// A client writes its own notes only, and the judge looks when no client is at work; no lock is
// needed. Times are of the time-stamp counter, which x86 keeps equal on all cores.
#pragma once

#include "base/bits.hpp"

#include <optional>
#include <string>
#include <vector>

namespace hf::bench {

class ledger {
   public:
    ledger(u64 records, unsigned clients);

    [[nodiscard]] bool watches(u64 record) const noexcept { return (record & mask_) == 0; }
    /// A number that no put to this contender had before; `client` counts from 0.
    [[nodiscard]] u64 next_stamp(unsigned client) noexcept {
        return ++stamps_[client].last << client_bits | client;
    }
    void note(unsigned client, u64 record, u64 stamp, u64 begin, u64 end) noexcept {
        notes_[(record >> shift_) * clients_ + client] = {stamp, begin, end};
    }

    [[nodiscard]] u64 watched() const noexcept { return watched_; }
    /// The record watched as number `index`.
    [[nodiscard]] u64 record_at(u64 index) const noexcept { return index << shift_; }
    /// Why a value of this stamp is wrong for the record now; nullopt: it is right.
    [[nodiscard]] std::optional<std::string> objection(u64 record, u64 stamp) const;

    static constexpr unsigned client_bits = 8;
    static constexpr u64 most_watched = 8192;

   private:
    struct put {
        u64 stamp = 0;  ///< 0: none
        u64 begin = 0;
        u64 end = 0;
    };
    struct alignas(64) counter {
        u64 last = 0;
    };

    unsigned clients_;
    unsigned shift_ = 0;
    u64 mask_ = 0;
    u64 watched_ = 0;
    std::vector<counter> stamps_;
    std::vector<put> notes_;
};

}  // namespace hf::bench
