// bench/compare/round.hpp: the measured loop, a closed loop of clients over one contender.
//
// Each client is a thread with a connection of its own and begins its next operation when the last
// one has returned. All walk through one stream of steps, drawn before the clock starts, from
// places evenly apart. The clock stops when the last operation has returned and everything written
// is durable.
//
// Latency is that of every operation: from the end of the one before to its own end, so that the
// making of a value and the check of what was read are in it, and one reading of the time-stamp
// counter an operation is enough. Every get is checked for being of its record; every put to a
// watched record is noted in the ledger.
#pragma once

#include "base/histogram.hpp"
#include "bench/compare/ledger.hpp"
#include "bench/operations.hpp"
#include "bench/peers/contender.hpp"

#include <chrono>

namespace hf::bench {

struct round_plan {
    const stream* steps = nullptr;
    unsigned clients = 1;
    u32 value_size = 0;
    u64 first_step = 0;                    ///< where client 0 begins
    u64 operations = 0;                    ///< of each client; 0: for as long as
    std::chrono::milliseconds duration{};  ///< this
};

struct round_result {
    u64 gets = 0;
    u64 puts = 0;
    double seconds = 0;       ///< until everything is durable
    double sync_seconds = 0;  ///< of these, after the last operation
    double cpu_seconds = 0;   ///< of the clients
    histogram get_ns;
    histogram put_ns;

    [[nodiscard]] u64 operations() const noexcept { return gets + puts; }
    [[nodiscard]] double throughput() const noexcept {
        return seconds > 0 ? static_cast<double>(operations()) / seconds : 0;
    }
    [[nodiscard]] histogram all_ns() const {
        histogram both = get_ns;
        both.merge(put_ns);
        return both;
    }
};

/// The error is the first that a client met; a wrong answer is errc::violation.
[[nodiscard]] result<round_result> run_round(contender& c, ledger& notes, const round_plan& plan);

/// Puts every record once; the records are divided among the clients.
[[nodiscard]] result<round_result> load_records(contender& c, ledger& notes, u64 records,
                                                const round_plan& plan);

/// Reads all watched records and holds them against the ledger.
[[nodiscard]] result<void> verify(contender& c, const ledger& notes, u32 value_size);

}  // namespace hf::bench
