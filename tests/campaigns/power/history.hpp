// tests/campaigns/power/history.hpp: the writes of one connection, its answers, and the state
// required after a power failure.
//
// A connection's writes are executed in order, and epochs ascend: after a power failure the
// connection's keys must be in the state after one of its writes, the same for all keys, and at
// least the newest that was acknowledged as durable. judge() searches for that write.
#pragma once

#include "base/bits.hpp"

#include <vector>

namespace hf::power_test {

struct write {
    u32 key = 0;
    u64 version = 0;
    bool removes = false;
};

/// The record found for a key: none, a version of it, or unknown bytes.
struct found_record {
    enum class kind : std::uint8_t { absent, exact, altered };
    kind is = kind::absent;
    u64 version = 0;  ///< if exact
};

struct verdict {
    u64 checked = 0;    ///< checked keys
    u64 durable = 0;    ///< writes acknowledged as durable since the last check
    u64 lost = 0;       ///< keys older than acknowledged: a violation
    u64 altered = 0;    ///< keys with bytes that were never sent: a violation
    u64 strangers = 0;  ///< keys with a write that cannot be there: a violation
    u64 holes = 0;      ///< connections whose keys are of different moments: a violation
    u64 undone = 0;     ///< writes that were undone, as allowed
    u64 kept = 0;       ///< writes after the durable ones that are there

    [[nodiscard]] u64 broken() const noexcept { return lost + altered + strangers + holes; }
    verdict& operator+=(const verdict& other) noexcept;
};

class history {
   public:
    /// The next write to send. The number of keys grows with the writes.
    [[nodiscard]] write next(u64 random);

    void sent(const write& one) { writes_.push_back(one); }
    /// The first `writes` writes since the last check were answered, and are durable.
    void set_durable(std::size_t writes) noexcept { durable_ = writes; }
    [[nodiscard]] std::size_t sent_count() const noexcept { return writes_.size(); }
    [[nodiscard]] std::size_t durable_count() const noexcept { return durable_; }

    /// Number of records that must be there.
    [[nodiscard]] u64 durable_keys() const;

    /// Keys from 0 up to this may have been written.
    [[nodiscard]] u32 keys() const noexcept { return static_cast<u32>(base_.size()); }

    /// `found` has an entry for each of keys().
    [[nodiscard]] verdict judge(const std::vector<found_record>& found) const;
    /// The found state is the required one from now on; missing writes are forgotten.
    void settle(const std::vector<found_record>& found);

   private:
    /// 0: the key is absent.
    using versions = std::vector<u64>;
    [[nodiscard]] versions state_after(std::size_t writes) const;
    /// The number of writes that lead to the found state; writes_.size() + 1: none.
    [[nodiscard]] std::size_t moment_of(const std::vector<found_record>& found) const;
    void accuse(const std::vector<found_record>& found, verdict& v) const;

    versions base_;              ///< at the last check; one for each key
    std::vector<write> writes_;  ///< since then
    std::size_t durable_ = 0;    ///< number of durable ones
    u64 last_version_ = 0;
};

}  // namespace hf::power_test
