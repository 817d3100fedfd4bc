// bench/compare/round.hpp: the measured loop: a closed loop of clients on one contender.
//
// Each client is a thread with its own connection, and starts its next operation when the previous
// one has returned. All use one stream of steps, drawn before the clock starts, from equidistant
// positions. The clock stops when the last operation has returned and all writes are durable.
//
// The latency of each operation is measured from the end of the previous one to its own end. It
// therefore includes the making of the value and the check of the result, and needs only one
// reading of the time-stamp counter. Every get is checked for the right record; every put to a
// watched record is recorded in the ledger.
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
    u64 first_step = 0;                    ///< start of client 0
    u64 operations = 0;                    ///< of each client; 0: until
    std::chrono::milliseconds duration{};  ///< this time is over
};

struct round_result {
    u64 gets = 0;
    u64 puts = 0;
    double seconds = 0;       ///< until all writes are durable
    double sync_seconds = 0;  ///< part of it, after the last operation
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

/// The error is the first of any client; a wrong answer is errc::violation.
[[nodiscard]] result<round_result> run_round(contender& c, ledger& notes, const round_plan& plan);

/// Puts every record once; the records are divided among the clients.
[[nodiscard]] result<round_result> load_records(contender& c, ledger& notes, u64 records,
                                                const round_plan& plan);

/// Reads all watched records and checks them with the ledger.
[[nodiscard]] result<void> verify(contender& c, const ledger& notes, u32 value_size);

}  // namespace hf::bench
