// server/upcoming.hpp: the requests that lie whole in the input, understood before their turn.
//
// Purpose. A client that sends many requests at once lets us know which keys come next. Where their
// records are is waited for once then, for all of them together, and not by one request behind the
// other.
//
// I1  take() is asked for the lines of one input in their order. What it looked at is what comes:
//     the size in a line says where the next one begins, whatever becomes of the request.
//
// Concurrency. None: the sessions of a thread share it, each for the time of one input.
#pragma once

#include <holdfast/store.hpp>

#include "base/check.hpp"
#include "server/protocol.hpp"

#include <array>
#include <string_view>

namespace hf::detail {

class upcoming_requests {
   public:
    static constexpr std::size_t most = 16;  ///< requests, and keys, that are looked at at once

    /// An input begins, or ends: views into the last one are void.
    void forget() noexcept { next_ = count_ = 0; }

    /// The request of `line`, which lies in `input`. Valid until the next call.
    const request& take(std::string_view input, std::string_view line, const store& records) {
        if (next_ == count_) look(input, line, records);
        HF_ASSERT(lines_[next_] == line.data(), "I1: another line than was expected");
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
