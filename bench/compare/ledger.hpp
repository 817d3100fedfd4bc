// bench/compare/ledger.hpp: the allowed values of some records of a contender.
//
// Some thousand records are watched, evenly spread, and so some of the hot ones, too. Each client
// records its newest put to each of them: stamp, begin and end. If several clients put a record,
// any put may be the last that did not end before another one began. So
//
//   a value is right  iff  it is of some client's newest put to the record, and no other client's
//                          newest put to the record began after that one had ended.
//
// A client writes only its own entries, and the check runs while no client works; so no lock is
// needed. Times are read from the time-stamp counter, which is synchronised between the cores of an
// x86.
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
    /// A stamp that no earlier put to this contender had; `client` counts from 0.
    [[nodiscard]] u64 next_stamp(unsigned client) noexcept {
        return ++stamps_[client].last << client_bits | client;
    }
    void note(unsigned client, u64 record, u64 stamp, u64 begin, u64 end) noexcept {
        notes_[(record >> shift_) * clients_ + client] = {stamp, begin, end};
    }

    [[nodiscard]] u64 watched() const noexcept { return watched_; }
    /// The watched record with this index.
    [[nodiscard]] u64 record_at(u64 index) const noexcept { return index << shift_; }
    /// Why a value with this stamp is wrong for the record now; nullopt: it is right.
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
