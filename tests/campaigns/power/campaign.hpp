// tests/campaigns/power/campaign.hpp: cycles of power failures in a virtual machine
// (docs/power_test.md).
//
// A cycle: the machine is restored from its snapshot, the disk is plugged in, the file system
// replays its own journal, `holdfast check` checks the region, the server recovers it, all records
// are read and judged; then clients write until the power is cut. Records accumulate over the
// cycles of a disk. The control does the same on a copy of the disk with a server whose syncs do
// nothing.
#pragma once

#include "base/random.hpp"
#include "station.hpp"

#include <string>

namespace hf::power_test {

struct control_outcome {
    u64 cycles = 0;
    u64 promised = 0;  ///< records that a server with real syncs would have kept
    u64 lost = 0;
    u64 unopened = 0;  ///< cycles after which the region was missing or could not be opened
};

struct outcome {
    target where;
    u64 cycles = 0;
    u64 cuts_while_opening = 0;
    u64 answered = 0;  ///< acknowledged writes
    verdict sum;
    u64 failures = 0;  ///< failures of mount, check or serve
    u64 mean_restore_ms = 0;
    control_outcome control;

    [[nodiscard]] bool well() const noexcept { return sum.broken() + failures == 0; }
};

class campaign {
   public:
    campaign(campaign_options options, target where);

    [[nodiscard]] outcome run();

   private:
    [[nodiscard]] result<void> create();
    [[nodiscard]] result<void> cycle();
    [[nodiscard]] result<void> look_once_more();
    [[nodiscard]] result<void> control();
    [[nodiscard]] result<void> control_cycle();
    [[nodiscard]] result<void> cut_while_opening();
    [[nodiscard]] result<void> open_and_judge();
    [[nodiscard]] result<u64> write_until_the_cut(acknowledgement ack);
    void complain(const error& why);
    void report_creation() const;
    void report_cycle(const verdict& v, u64 cut_ms) const;

    campaign_options options_;
    target where_;
    xoshiro256ss random_;
    crowd crowd_;
    station station_;
    outcome out_;
    verdict last_;
    acknowledgement ack_ = acknowledgement::durable;
};

}  // namespace hf::power_test
