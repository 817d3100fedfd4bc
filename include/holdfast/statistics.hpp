// holdfast/statistics.hpp: what a map counts. Counters run from the map's opening; durations in
// nanoseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hf {

struct pause_statistics {
    std::uint64_t count = 0;
    std::uint64_t last_ns = 0;
    std::uint64_t p50_ns = 0;
    std::uint64_t p99_ns = 0;
    std::uint64_t max_ns = 0;
};

/// Of the medium `file`; all zero on others.
struct journal_statistics {
    std::uint64_t records = 0;       ///< epochs made durable
    std::uint64_t record_bytes = 0;  ///< written to the journal
    std::uint64_t base_bytes = 0;    ///< written to the region's file, of old records
    std::uint64_t syncs = 0;
    std::uint64_t last_commit_ns = 0;  ///< of the last record: writing and syncing
    std::uint64_t late_ns = 0;     ///< how long epochs were kept open because the disk was behind
    std::uint64_t bytes = 0;       ///< size of the journal
    std::uint64_t used_bytes = 0;  ///< of these, not yet in the region's file
    std::uint64_t private_bytes = 0;  ///< pages that were written to and are kept in memory; 0 as
                                      ///< long as the region is smaller than it may take
    std::uint64_t given_back_bytes = 0;  ///< of such pages, whose memory was given back
    std::string refusal;                 ///< why nothing becomes durable at present; empty: it does
};

struct statistics {
    std::uint64_t epoch = 0;          ///< running
    std::uint64_t durable_epoch = 0;  ///< newest durable one
    std::uint64_t failed_epochs =
        0;  ///< epochs in the failed set; 0 once the background pass is through
    std::uint64_t generation = 0;
    bool recovered = false;         ///< whether the last opening had to recover
    std::uint64_t recovery_ns = 0;  ///< from the start of the opening to the first possible answer
    std::uint64_t recovered_entries = 0;  ///< external-log entries applied then
    std::uint64_t recovered_records = 0;  ///< epochs taken from the journal then (medium `file`)

    std::uint64_t flushes = 0;  ///< cache lines written back
    std::uint64_t fences = 0;
    std::uint64_t flushed_bytes = 0;
    std::uint64_t fence_latency_ns = 0;  ///< emulated, after each fence; 0: none
    std::uint64_t log_entries = 0;       ///< external-log entries written
    std::uint64_t log_bytes = 0;

    pause_statistics pause;  ///< the stop of all operations at an epoch's end

    journal_statistics journal;

    std::uint64_t region_bytes = 0;     ///< size of the region file
    std::uint64_t most_bytes = 0;       ///< size that it may have
    std::uint64_t allocated_bytes = 0;  ///< in blocks handed out, headers included
    std::uint64_t free_bytes = 0;       ///< in free blocks and never used space
    std::uint64_t hint_bytes = 0;       ///< memory of the hints where keys were found
    /// Exact when nobody writes; a store's expired ones count until they are removed. nullopt: a
    /// region from before they were counted, opened for inspection, or too damaged to count them.
    std::optional<std::uint64_t> records;
    std::string discipline;
    std::string index;
    std::string medium;
    std::string flush_instruction;
    std::string path;
};

}  // namespace hf
