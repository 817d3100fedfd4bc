// tests/power/history.hpp: what one connection wrote, what it was told, and what must be there now.
//
// A connection's writes are carried out in order, and epochs ascend: after a power cut the
// connection's keys must stand as after one of its writes, the same for all keys, and no older than
// the newest that was acknowledged as durable. judge() looks for that write.
#pragma once

#include "base/bits.hpp"

#include <vector>

namespace hf::power_test {

struct write {
    u32 key = 0;
    u64 version = 0;
    bool removes = false;
};

/// What was found under a key: nothing, a version of it, or something that nobody sent.
struct found_record {
    enum class kind : std::uint8_t { absent, exact, altered };
    kind is = kind::absent;
    u64 version = 0;  ///< if exact
};

struct verdict {
    u64 checked = 0;    ///< keys that were looked at
    u64 durable = 0;    ///< acknowledged as durable since the last look
    u64 lost = 0;       ///< keys that are older than what was acknowledged: broken
    u64 altered = 0;    ///< keys with bytes that were never sent: broken
    u64 strangers = 0;  ///< keys with a write that cannot be there: broken
    u64 holes = 0;      ///< connections whose keys are of different moments: broken
    u64 undone = 0;     ///< writes that were taken back, as may be
    u64 kept = 0;       ///< writes beyond the durable ones that are there

    [[nodiscard]] u64 broken() const noexcept { return lost + altered + strangers + holes; }
    verdict& operator+=(const verdict& other) noexcept;
};

class history {
   public:
    /// To be sent next. Keys grow in number with the writes.
    [[nodiscard]] write next(u64 random);

    void sent(const write& one) { writes_.push_back(one); }
    /// The first so many writes since the last look were answered, and are durable.
    void set_durable(std::size_t writes) noexcept { durable_ = writes; }
    [[nodiscard]] std::size_t sent_count() const noexcept { return writes_.size(); }
    [[nodiscard]] std::size_t durable_count() const noexcept { return durable_; }

    /// Records that must be there.
    [[nodiscard]] u64 durable_keys() const;

    /// Keys from 0 to here, exclusively, may have been written.
    [[nodiscard]] u32 keys() const noexcept { return static_cast<u32>(base_.size()); }

    /// `found` has an entry for each of keys().
    [[nodiscard]] verdict judge(const std::vector<found_record>& found) const;
    /// What was found is what must be there from now on; writes that it lacks never were.
    void settle(const std::vector<found_record>& found);

   private:
    /// 0: the key is not there.
    using versions = std::vector<u64>;
    [[nodiscard]] versions state_after(std::size_t writes) const;
    /// The number of writes after which everything was as found; writes_.size() + 1: never.
    [[nodiscard]] std::size_t moment_of(const std::vector<found_record>& found) const;
    void accuse(const std::vector<found_record>& found, verdict& v) const;

    versions base_;              ///< at the last look; as long as there are keys
    std::vector<write> writes_;  ///< since then
    std::size_t durable_ = 0;    ///< of these
    u64 last_version_ = 0;
};

}  // namespace hf::power_test
