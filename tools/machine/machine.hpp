// tools/machine/machine.hpp: a virtual machine whose power can be cut: QEMU, a Debian kernel and
// the guest of make_guest.sh.
//
// It has no disk until one is plugged in. So a snapshot taken after boot has no state of any disk,
// and a restored machine has no disk contents in its caches: it reads what the power cut left. The
// cut is a SIGKILL of QEMU. Data that the guest's kernel had not passed to the disk is lost with
// QEMU's memory; data that it had passed is in a file of the host, which survives.
//
// Persistent memory is also a file of the host, mapped by QEMU. It is not part of a snapshot.
#pragma once

#include "console.hpp"
#include "process.hpp"
#include "qmp.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hf::machine {

enum class accelerator { kvm, emulation };

[[nodiscard]] const char* to_string(accelerator a) noexcept;

struct machine_options {
    std::filesystem::path guest;              ///< directory of make_guest.sh's kernel and initramfs
    std::filesystem::path directory;          ///< for logs; one for each running machine
    std::filesystem::path persistent_memory;  ///< its image; created if it is missing
    accelerator by = accelerator::emulation;
};

/// A file of the host as a disk of the guest. Not all combinations are useful.
struct disk_options {
    std::filesystem::path image;
    std::filesystem::path write_log;  ///< log of QEMU's blklogwrites; empty: none
};

class machine {
   public:
    /// Returns when the guest is ready.
    [[nodiscard]] static result<std::unique_ptr<machine>> boot(const machine_options& options);
    /// Restores the state that save() wrote.
    [[nodiscard]] static result<std::unique_ptr<machine>> restore(
        const machine_options& options, const std::filesystem::path& snapshot);

    /// Writes the snapshot and ends the machine.
    [[nodiscard]] result<void> save(const std::filesystem::path& snapshot);

    /// Adds the disk as /dev/vda of the guest.
    [[nodiscard]] result<void> plug(const disk_options& disk);
    /// Stops the processors, and waits for all requests to disks.
    [[nodiscard]] result<void> stop();
    /// Kills the machine without notice to the guest.
    void cut_power() noexcept { qemu_.kill(); }

    [[nodiscard]] console& guest() noexcept { return console_; }
    /// Runs a command in the guest; its failure is an error.
    [[nodiscard]] result<std::string> require(const std::vector<std::string>& words);
    /// Runs `holdfast serve` with these arguments and waits until it answers. `synced`: its syncs
    /// are effective.
    [[nodiscard]] result<void> serve(const std::vector<std::string>& arguments, bool synced);
    /// The port on 127.0.0.1 that is forwarded to the server.
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

   private:
    [[nodiscard]] static result<std::unique_ptr<machine>> start(const machine_options& options,
                                                                bool incoming);
    [[nodiscard]] result<void> learn_port();
    [[nodiscard]] result<void> await_migration();

    machine_options options_;
    process qemu_;
    qmp control_;
    console console_;
    std::uint16_t port_ = 0;
};

/// Selects KVM if a guest boots with it, otherwise software emulation. Leaves a snapshot.
[[nodiscard]] result<accelerator> prepare(machine_options options,
                                          const std::filesystem::path& snapshot);

}  // namespace hf::machine
