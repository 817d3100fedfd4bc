// server/answer_queue.hpp: what a connection has still to send, some of it not before an epoch is
// durable.
//
// Purpose. Answers are sent in the order of their commands. With --ack durable, the answer of a
// write waits until the write's epoch is durable, and every answer behind it waits with it; answers
// before it do not.
//
//     bytes appended so far:   |......sent......|..may be sent..|..wait for ticket 7..|..wait
//     for 8..|
//                                               ^               ^ gates_[0]           ^ gates_[1]
//                                               ^ appended sent_
//
// I1  sent_ <= gates_.front().begin <= appended_: nothing behind a gate is offered for sending.
// I2  Tickets of the gates ascend strictly; so do their beginnings, or stay equal.
// I3  size() counts what waits as well as what may be sent: it is what the connection bounds.
//
// Concurrency. None: a connection's thread owns it.
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

    /// What is appended from now on waits for `ticket`.
    void hold(u64 ticket);
    /// Lets go what waits for tickets up to `durable`.
    void release(u64 durable) noexcept;
    /// The newest ticket that is waited for; 0: none.
    [[nodiscard]] u64 awaited() const noexcept { return gates_.empty() ? 0 : gates_.back().ticket; }

    /// Bytes not sent yet, waiting ones included.
    [[nodiscard]] u64 size() const noexcept { return appended_ - sent_; }
    [[nodiscard]] u64 sendable() const noexcept {
        return (gates_.empty() ? appended_ : gates_.front().begin) - sent_;
    }
    /// Fills `pieces` with the next sendable bytes; returns how many were filled.
    std::size_t gather(std::span<std::string_view> pieces) const noexcept;
    /// `size` bytes were sent.
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
