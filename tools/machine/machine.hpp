// tools/machine/machine.hpp: a virtual machine whose power can be cut: QEMU, a Debian kernel and
// the guest of make_guest.sh.
//
// It has no disk until one is plugged in. So a snapshot taken after boot knows nothing of any disk,
// and a machine restored from it has nothing of a disk in its caches: what it then reads is what
// the power cut left. The cut is a SIGKILL of QEMU. What the guest's kernel had not handed to the
// disk dies with QEMU's memory; what it had handed over lies in a file of the host, which survives.
//
// Persistent memory, too, is a file of the host, mapped by QEMU. It is not part of a snapshot.
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
    std::filesystem::path guest;              ///< where make_guest.sh has put kernel and initramfs
    std::filesystem::path directory;          ///< for logs; two machines at once need two
    std::filesystem::path persistent_memory;  ///< its image; made if it is not there
    accelerator by = accelerator::emulation;
};

/// A file of the host as a disk of the guest. Not every field makes sense with every other.
struct disk_options {
    std::filesystem::path image;
    std::filesystem::path write_log;  ///< QEMU's blklogwrites goes there; empty: none
};

class machine {
   public:
    /// Returns when the guest is ready.
    [[nodiscard]] static result<std::unique_ptr<machine>> boot(const machine_options& options);
    /// As it was when save() was called.
    [[nodiscard]] static result<std::unique_ptr<machine>> restore(
        const machine_options& options, const std::filesystem::path& snapshot);

    /// Writes the snapshot and ends the machine.
    [[nodiscard]] result<void> save(const std::filesystem::path& snapshot);

    /// The guest's /dev/vda.
    [[nodiscard]] result<void> plug(const disk_options& disk);
    /// Its processors stand still, and all requests of its disks are through.
    [[nodiscard]] result<void> stop();
    /// The power goes: nobody in the machine is told.
    void cut_power() noexcept { qemu_.kill(); }

    [[nodiscard]] console& guest() noexcept { return console_; }
    /// A command whose failure is an error.
    [[nodiscard]] result<std::string> require(const std::vector<std::string>& words);
    /// `holdfast serve` with these arguments, until it answers. `synced`: its syncs are real.
    [[nodiscard]] result<void> serve(const std::vector<std::string>& arguments, bool synced);
    /// On 127.0.0.1, led to the server's port in the guest.
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

/// What works here: KVM if a guest boots with it, software emulation otherwise. Leaves a snapshot.
[[nodiscard]] result<accelerator> prepare(machine_options options,
                                          const std::filesystem::path& snapshot);

}  // namespace hf::machine
