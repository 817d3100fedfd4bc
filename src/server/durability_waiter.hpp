// server/durability_waiter.hpp: the thread that waits until epochs are durable.
//
// Purpose. Group commit. Workers register the ticket they wait for and continue. This thread waits
// for the newest ticket, which covers the older ones, and reports what has become durable. While it
// waits, more tickets accumulate for the next round.
//
// Concurrency. want() from any thread. The callbacks run on the waiter's own thread.
// Bad input. If the store cannot make an epoch durable, the waiter reports the error once and ends:
// later acknowledgements could not be trusted.
#pragma once

#include <holdfast/store.hpp>

#include "base/bits.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace hf::detail {

class durability_waiter {
   public:
    using on_durable = std::function<void(ticket)>;
    using on_failure = std::function<void(const error&)>;

    durability_waiter(store& records, on_durable durable, on_failure failed);
    durability_waiter(const durability_waiter&) = delete;
    durability_waiter& operator=(const durability_waiter&) = delete;
    ~durability_waiter() { stop(); }

    /// Calls on_durable after `t` is durable, if the store can make it so.
    void want(ticket t);
    /// Ends the thread; pending tickets are not reported any more. Must not be called by the
    /// callbacks.
    void stop();

   private:
    void run();

    store& records_;
    on_durable durable_;
    on_failure failed_;
    std::mutex mutex_;
    std::condition_variable changed_;
    ticket wanted_ = 0;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace hf::detail
