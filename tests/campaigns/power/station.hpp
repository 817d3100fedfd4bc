// tests/campaigns/power/station.hpp: a machine with one region in it, which can be switched on and
// off.
//
// When it is switched on, it is restored from the snapshot taken after boot, the disk is plugged
// in, and the guest's kernel mounts it and replays the file system's own journal.
#pragma once

#include "crowd.hpp"
#include "tools/machine/machine.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace hf::power_test {

struct campaign_options {
    std::filesystem::path guest;      ///< kernel and initramfs
    std::filesystem::path directory;  ///< for images and logs; used only by this run
    std::filesystem::path kept;       ///< directory for images of failures
    machine::accelerator by = machine::accelerator::emulation;
    u64 cycles = 20;
    u64 control_cycles = 2;  ///< for each file system; 0: none
    u64 seed = 0;
    u32 connections = 6;
};

/// The place of a region.
struct target {
    std::string medium;       ///< "file" or "dax"
    std::string file_system;  ///< "ext4" or "xfs"
    u64 cycles = 0;

    [[nodiscard]] std::string name() const { return medium + " on " + file_system; }
};

class station {
   public:
    station(const campaign_options& options, const target& where)
        : options_(options), where_(where) {}

    /// Makes a disk with an empty file system, or new persistent memory.
    [[nodiscard]] result<void> make_medium();
    [[nodiscard]] std::filesystem::path disk() const { return options_.directory / "disk"; }
    [[nodiscard]] std::filesystem::path another_disk() const {
        return options_.directory / "another_disk";
    }
    [[nodiscard]] bool is_dax() const { return where_.medium == "dax"; }

    /// Returns when the file system is mounted. Writes to the disk are also logged, if `write_log`
    /// is not empty.
    [[nodiscard]] result<void> power_on(const std::filesystem::path& disk,
                                        const std::filesystem::path& write_log = {});
    void power_off() { machine_.reset(); }
    [[nodiscard]] machine::machine& machine() noexcept { return *machine_; }

    /// Returns when the server answers; an error also if the region is on another medium than
    /// intended.
    [[nodiscard]] result<void> serve(acknowledgement ack, bool synced);
    /// Starts to open the region, and returns at once.
    [[nodiscard]] result<void> begin_to_serve();
    /// Runs `holdfast check`; an error if it finds violations.
    [[nodiscard]] result<void> check();

    [[nodiscard]] u64 mean_power_on_ms() const { return times_ == 0 ? 0 : took_ms_ / times_; }

    /// Prints the server's output, and keeps the image of the medium.
    void keep_evidence();

   private:
    campaign_options options_;
    target where_;
    std::unique_ptr<machine::machine> machine_;
    std::filesystem::path last_disk_;
    bool formatted_ = false;
    u64 took_ms_ = 0;
    u64 times_ = 0;
};

/// Whether the user has interrupted the run.
[[nodiscard]] bool interrupted();

}  // namespace hf::power_test
