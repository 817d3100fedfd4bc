// tests/power/campaign.hpp: cycles of power cuts in a virtual machine (docs/power_test.md).
//
// A cycle: the machine comes back from its snapshot, the disk is plugged in, the file system
// replays its own journal, `holdfast check` looks at the region, the server recovers it, everything
// is read back and judged; then clients write until the power goes. Records pile up over the cycles
// of a disk. The control does the same on a copy of the disk with a server whose syncs do nothing.
#pragma once

#include "base/random.hpp"
#include "station.hpp"

#include <string>

namespace hf::power_test {

struct control_outcome {
    u64 cycles = 0;
    u64 promised = 0;  ///< records that a server with real syncs would have kept
    u64 lost = 0;
    u64 unopened = 0;  ///< cycles after which there was no region, or none that opens
};

struct outcome {
    target where;
    u64 cycles = 0;
    u64 cuts_while_opening = 0;
    u64 answered = 0;  ///< writes
    verdict sum;
    u64 failures = 0;  ///< what should work and did not: mount, check, serve
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
