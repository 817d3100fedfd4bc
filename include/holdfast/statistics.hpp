// holdfast/statistics.hpp: statistics of a map. Counters start at open(); durations are in
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

/// For the medium `file`; all zero on other media.
struct journal_statistics {
    std::uint64_t records = 0;       ///< epochs made durable
    std::uint64_t record_bytes = 0;  ///< written to the journal
    std::uint64_t base_bytes = 0;    ///< copied from old records to the region's file
    std::uint64_t syncs = 0;
    std::uint64_t last_commit_ns = 0;  ///< writing and syncing the last record
    std::uint64_t late_ns = 0;        ///< total delay of epoch boundaries because the disk was slow
    std::uint64_t bytes = 0;          ///< size of the journal
    std::uint64_t used_bytes = 0;     ///< part of it that is not yet in the region's file
    std::uint64_t private_bytes = 0;  ///< in dirty pages kept in memory; 0 as long as the region is
                                      ///< smaller than the limit
    std::uint64_t given_back_bytes = 0;  ///< total of dirty pages whose memory was released
    std::string refusal;  ///< why nothing becomes durable at present; empty: no problem
};

struct statistics {
    std::uint64_t epoch = 0;          ///< the running epoch
    std::uint64_t durable_epoch = 0;  ///< newest durable one
    std::uint64_t failed_epochs =
        0;  ///< failed epochs still remembered; 0 after the background pass has ended
    std::uint64_t generation = 0;
    bool recovered = false;         ///< open() had to recover the region
    std::uint64_t recovery_ns = 0;  ///< from the start of open() until operations are possible
    std::uint64_t recovered_entries = 0;  ///< external-log entries applied by recovery
    std::uint64_t recovered_records = 0;  ///< journal epochs replayed by recovery (medium `file`)

    std::uint64_t flushes = 0;  ///< cache lines written back
    std::uint64_t fences = 0;
    std::uint64_t flushed_bytes = 0;
    std::uint64_t fence_latency_ns = 0;  ///< emulated, after each fence; 0: none
    std::uint64_t log_entries = 0;       ///< external-log entries written
    std::uint64_t log_bytes = 0;

    pause_statistics pause;  ///< exclusion of all operations at epoch boundaries

    journal_statistics journal;

    std::uint64_t region_bytes = 0;     ///< size of the region file
    std::uint64_t most_bytes = 0;       ///< maximum size of the region
    std::uint64_t allocated_bytes = 0;  ///< in allocated blocks, headers included
    std::uint64_t free_bytes = 0;       ///< in free blocks and never used space
    std::uint64_t hint_bytes = 0;       ///< memory of the hints (map_options::hint_memory)
    /// Exact when no write is running; a store's expired records count until they are removed.
    /// nullopt: unknown, because the region's format is older than the counter, or the region is
    /// open for inspection, or too damaged.
    std::optional<std::uint64_t> records;
    std::string discipline;
    std::string index;
    std::string medium;
    std::string image;  ///< shared or journalled (options.hpp)
    std::string flush_instruction;
    std::string path;
};

}  // namespace hf
