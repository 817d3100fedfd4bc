// server/upcoming.hpp: parses the complete requests in the input ahead of time.
//
// Purpose. If a client pipelines requests, the next keys are known in advance. Their records are
// prefetched together, so that the cache misses of these requests overlap.
//
// U1  take() is called for the lines of one input in order. The lines parsed ahead are those that
//     will follow: the size in a line determines where the next one begins, whatever the request's
//     outcome.
//
// Concurrency. None: shared by the sessions of a thread, each for the duration of one input.
#pragma once

#include <holdfast/store.hpp>

#include "base/check.hpp"
#include "server/protocol.hpp"

#include <array>
#include <string_view>

namespace hf::detail {

class upcoming_requests {
   public:
    static constexpr std::size_t most = 16;  ///< requests, and keys, that are parsed ahead

    /// Call when an input begins or ends, because views into the last one are invalid.
    void forget() noexcept { next_ = count_ = 0; }

    /// The request of `line`, which is part of `input`. Valid until the next call.
    const request& take(std::string_view input, std::string_view line, const store& records) {
        if (next_ == count_) look(input, line, records);
        HF_ASSERT(lines_[next_] == line.data(), "U1: another line than was expected");
        return requests_[next_++];
    }

   private:
    void look(std::string_view input, std::string_view line, const store& records);

    std::array<request, most> requests_;
    std::array<const char*, most> lines_{};  ///< where they begin
    std::size_t next_ = 0;
    std::size_t count_ = 0;
};

}  // namespace hf::detail
