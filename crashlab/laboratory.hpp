// laboratory.hpp: the memory for workloads, and one round: prepare, record, crash, explore.
#pragma once

#include "crashlab/explore/explorer.hpp"

#include <memory>
#include <string>

namespace hf::lab {

/// The recording of one round; kept for reports.
struct recording {
    std::vector<event> trace;
    file_starts files;  ///< before the trace
};

class laboratory {
   public:
    /// Maximum bytes of a region here.
    static constexpr u64 capacity = file_capacity;

    laboratory();
    laboratory(const laboratory&) = delete;
    laboratory& operator=(const laboratory&) = delete;

    /// Prepares and records; the victim has crashed when this returns. Recorded loads are for the
    /// lint. They change the numbers of events, so replay tokens are only valid for the same kind
    /// of trace.
    [[nodiscard]] std::unique_ptr<target> record(const target_description& d, u64 seed,
                                                 loads which = loads::none);
    [[nodiscard]] const recording& recorded() const noexcept { return recorded_; }

    /// Replaces the recorded trace by one of a release build (production/). False: the file is
    /// invalid, or too large.
    [[nodiscard]] bool adopt_trace(const std::string& path);

    /// Explores what record() recorded.
    [[nodiscard]] std::optional<finding> explore(target& t, const limits& most, counts& counted,
                                                 u64 seed, persistence mode,
                                                 const std::function<bool()>& out_of_time);
    /// Records and explores. If a trace of a release build is named, it is used instead; throws
    /// std::runtime_error if it is invalid.
    [[nodiscard]] std::optional<finding> round(const target_description& d, const limits& most,
                                               counts& counted, u64 seed, persistence mode,
                                               const std::function<bool()>& out_of_time,
                                               const std::string& trace = {});
    [[nodiscard]] std::optional<std::string> replay(target& t, const finding& f, persistence mode,
                                                    const explorer::stage_listener& listener = {});

    [[nodiscard]] const std::byte* memory() const noexcept { return memory_; }

   private:
    [[nodiscard]] crash_model model(persistence mode) const {
        return {before_, mode, recorded_.files};
    }
    void clear(unsigned files);
    /// Before any crash: judges what the run returned to its callers.
    [[nodiscard]] std::optional<std::string> judge_run(const target& t) const;
    void erase_memory();
    void take_snapshot();

    std::byte* memory_;
    std::byte* before_;
    unsigned files_ = 1;
    std::unique_ptr<image> image_;
    recording recorded_;
};

}  // namespace hf::lab
