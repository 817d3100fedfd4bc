// laboratory.hpp: the memory that workloads run on, and one round: prepare, record, crash, explore.
#pragma once

#include "crashlab/explore/explorer.hpp"

#include <memory>
#include <string>

namespace hf::lab {

/// What one round recorded; kept for reports.
struct recording {
    std::vector<event> trace;
    file_starts files;  ///< before it
};

class laboratory {
   public:
    /// Bytes that a region may have here.
    static constexpr u64 capacity = file_capacity;

    laboratory();
    laboratory(const laboratory&) = delete;
    laboratory& operator=(const laboratory&) = delete;

    /// Prepares and records; the victim has crashed when this returns. Noted loads are for the
    /// lint: they shift the numbers of events, so a token of one trace is none of the other.
    [[nodiscard]] std::unique_ptr<target> record(const target_description& d, u64 seed,
                                                 loads which = loads::none);
    [[nodiscard]] const recording& recorded() const noexcept { return recorded_; }

    /// Takes the trace of a release build (production/) in place of the recorded one. False: the
    /// file is none, or too large.
    [[nodiscard]] bool adopt_trace(const std::string& path);

    /// Explores what record() recorded.
    [[nodiscard]] std::optional<finding> explore(target& t, const limits& most, counts& counted,
                                                 u64 seed, persistence mode,
                                                 const std::function<bool()>& out_of_time);
    /// Records and explores. A trace of a release build is adopted in between, if one is named;
    /// throws std::runtime_error when it is none.
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
    /// Before any crash: what the run returned to its callers.
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
