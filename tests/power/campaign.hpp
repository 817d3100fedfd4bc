// tests/power/campaign.hpp: cycles of power cuts in a virtual machine (docs/power_test.md).
//
// A cycle: the machine comes back from its snapshot, the disk is plugged in, the file system
// replays its own journal, `holdfast check` looks at the region, the server recovers it, everything
// is read back and judged; then clients write until the power goes. Records pile up over the cycles
// of a disk. The control does the same on a copy of the disk with a server whose syncs do nothing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "crowd.hpp"
#include "tools/machine/machine.hpp"

namespace hf::power_test {

struct campaign_options {
    std::filesystem::path guest;      ///< kernel and initramfs
    std::filesystem::path directory;  ///< ours; images and logs
    std::filesystem::path kept;       ///< where images go that something went wrong with
    machine::accelerator by = machine::accelerator::emulation;
    u64 cycles = 20;
    u64 control_cycles = 2;  ///< of each file system; 0: none
    u64 seed = 0;
    u32 connections = 6;
};

/// Where a region lies.
struct target {
    std::string medium;       ///< "file" or "dax"
    std::string file_system;  ///< "ext4" or "xfs"
    u64 cycles = 0;

    [[nodiscard]] std::string name() const { return medium + " on " + file_system; }
};

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
    u64 failures = 0;    ///< what should work and did not: mount, check, serve
    u64 restore_ms = 0;  ///< in all
    u64 restores = 0;
    control_outcome control;

    [[nodiscard]] bool well() const noexcept { return sum.broken() + failures == 0; }
};

class campaign {
   public:
    campaign(campaign_options options, target where);

    [[nodiscard]] outcome run();

   private:
    [[nodiscard]] result<void> make_medium();
    [[nodiscard]] result<void> cycle();
    [[nodiscard]] result<void> look_once_more();
    [[nodiscard]] result<void> control();
    [[nodiscard]] result<void> control_cycle();
    [[nodiscard]] result<void> power_on(const std::filesystem::path& disk);
    [[nodiscard]] result<void> cut_while_opening();
    [[nodiscard]] result<void> open_and_judge();
    [[nodiscard]] result<void> serve(acknowledgement ack, bool synced);
    [[nodiscard]] result<u64> write_until_the_cut(acknowledgement ack);
    [[nodiscard]] bool is_dax() const { return where_.medium == "dax"; }
    [[nodiscard]] machine::machine_options options_of_machine() const;
    void complain(const error& why);
    void report_cycle(const verdict& v, u64 cut_ms) const;

    campaign_options options_;
    target where_;
    xoshiro256ss random_;
    crowd crowd_;
    std::unique_ptr<machine::machine> machine_;
    outcome out_;
    bool formatted_ = false;
    verdict last_;
    acknowledgement ack_ = acknowledgement::durable;
};

/// Whether the user wants no more.
[[nodiscard]] bool interrupted();

}  // namespace hf::power_test
