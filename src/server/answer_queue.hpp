// server/answer_queue.hpp: a connection's unsent output, some of which must wait until an epoch is
// durable.
//
// Purpose. Answers are sent in the order of their commands. With --ack durable, the answer of a
// write waits until the write's epoch is durable, and every answer after it waits with it; answers
// before it do not.
//
//     bytes appended so far:  |....sent....|..may be sent..|..waits for 7..|..waits for 8..|
//                                          ^               ^               ^               ^
//                                          sent_        gates_[0]       gates_[1]     appended_
//
// A1  sent_ <= gates_.front().begin <= appended_: bytes after a gate are not offered for sending.
// A2  The gates' tickets ascend strictly; their beginnings ascend or are equal.
// A3  size() includes waiting bytes: the connection bounds it.
//
// Concurrency. None: owned by a connection's thread.
#pragma once

#include "base/bits.hpp"

#include <deque>
#include <span>
#include <string>
#include <string_view>

namespace hf::detail {

class answer_queue {
   public:
    void append(std::string_view bytes);
    /// Appends block[from, end) without a copy.
    void append_block(std::string&& block, std::size_t from);

    /// Everything appended from now on waits for `ticket`.
    void hold(u64 ticket);
    /// Makes bytes sendable that wait for tickets up to `durable`.
    void release(u64 durable) noexcept;
    /// The newest ticket that bytes wait for; 0: none.
    [[nodiscard]] u64 awaited() const noexcept { return gates_.empty() ? 0 : gates_.back().ticket; }

    /// Number of unsent bytes, including waiting ones.
    [[nodiscard]] u64 size() const noexcept { return appended_ - sent_; }
    [[nodiscard]] u64 sendable() const noexcept {
        return (gates_.empty() ? appended_ : gates_.front().begin) - sent_;
    }
    /// Fills `pieces` with the next sendable bytes; returns the number of pieces filled.
    std::size_t gather(std::span<std::string_view> pieces) const noexcept;
    /// Removes `size` bytes, which were sent.
    void sent(u64 size) noexcept;

   private:
    struct chunk {
        std::string bytes;
        std::size_t from = 0;
    };
    struct gate {
        u64 ticket = 0;
        u64 begin = 0;
    };

    std::deque<chunk> chunks_;
    std::deque<gate> gates_;
    u64 appended_ = 0;
    u64 sent_ = 0;
};

}  // namespace hf::detail
