// bench/subject.hpp: interface of a measured tree, of any discipline, or of the public map.
//
// The measured loop is compiled separately for each discipline (engine_subject.hpp); this interface
// is called once for each measurement. A measurement starts at the begin of an epoch, and the clock
// stops when all writes are durable, so it includes the write-back of the last, partial epoch.
#pragma once

#include <holdfast/options.hpp>
#include <holdfast/result.hpp>

#include "base/histogram.hpp"
#include "bench/operations.hpp"
#include "bench/scratch_space.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hf::bench {

struct subject_options {
    std::chrono::microseconds epoch = std::chrono::milliseconds(64);
    u32 fence_latency_ns = 0;
    u32 value_size = 8;
    u64 initial_size = 0;  ///< bytes of the region at creation
    flush_policy flush = flush_policy::always;
};

struct measurement {
    u64 operations = 0;
    u64 missing = 0;  ///< gets without a value and scans without a record: errors
    double seconds = 0;
    double cpu_seconds = 0;         ///< of the worker threads
    u64 preemptions = 0;            ///< of the worker threads
    u64 epochs = 0;                 ///< number of epoch boundaries
    std::vector<double> pauses_us;  ///< measured by the epochs: gate closed, no operation inside
    /// Duration of the operation that met a boundary, for each thread and boundary, if all
    /// operations are timed.
    std::vector<double> stalls_us;
    u64 log_entries = 0;
    u64 log_bytes = 0;
    u64 flushes = 0;  ///< lines
    u64 fences = 0;
    u64 flushed_bytes = 0;
    histogram latency_ns;  ///< of the sampled operations

    [[nodiscard]] double throughput() const noexcept {  // operations a second
        return seconds > 0 ? static_cast<double>(operations) / seconds : 0;
    }
    [[nodiscard]] double cpu_throughput() const noexcept {  // operations a second of processor time
        return cpu_seconds > 0 ? static_cast<double>(operations) / cpu_seconds : 0;
    }
    [[nodiscard]] double per_operation(u64 count) const noexcept {
        return operations > 0 ? static_cast<double>(count) / static_cast<double>(operations) : 0;
    }
};

class subject {
   public:
    subject() = default;
    subject(const subject&) = delete;
    subject& operator=(const subject&) = delete;
    virtual ~subject() = default;

    /// Runs each stream on its own thread, pinned to a core; times one operation in `sample_every`
    /// (a power of two). The error is the first of any thread.
    [[nodiscard]] virtual result<measurement> run(const std::vector<stream>& streams,
                                                  unsigned sample_every) = 0;
    /// Sets the emulated latency of a fence: a durable tree is closed and reopened for it, which
    /// drops a map's hints. A volatile tree ignores it; it has no fences.
    [[nodiscard]] virtual result<void> emulate(u32 fence_latency_ns) = 0;
    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
    /// Whether it is ordered, so that workload E can be run.
    [[nodiscard]] virtual bool scans() const noexcept = 0;
    [[nodiscard]] virtual page_report pages() const = 0;
    [[nodiscard]] virtual u64 region_bytes() const noexcept = 0;
    /// Memory of the cached positions of keys (hints); 0: none.
    [[nodiscard]] virtual u64 hint_bytes() const noexcept = 0;
    /// For example "shm, clwb".
    [[nodiscard]] virtual std::string medium_name() const = 0;
};

/// Names that make_subject() accepts, the yardstick first.
[[nodiscard]] const std::vector<std::string>& subject_names();
inline constexpr std::string_view yardstick = "transient";

/// An empty tree of the named discipline in a new region of `space`; the destructor removes the
/// region's file.
[[nodiscard]] result<std::unique_ptr<subject>> make_subject(std::string_view name,
                                                            const scratch_space& space,
                                                            const subject_options& options);

/// A region size that holds this number of records without growing.
[[nodiscard]] u64 size_for(u64 records, u32 value_size) noexcept;

}  // namespace hf::bench
