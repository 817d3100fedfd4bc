// tools/demo/server_machine.hpp: a `holdfast serve` in a virtual machine whose power is cut.
//
// The region is on ext4 on a virtual disk. Each start restores the machine from a snapshot taken
// after boot and plugs the disk in, so no contents of the disk are in the machine's memory.
#pragma once

#include "server.hpp"
#include "tools/machine/machine.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace hf::demo {

class server_machine final : public server {
   public:
    /// The arguments follow `holdfast serve`. `options.directory` also contains the disk and the
    /// snapshot.
    server_machine(machine::machine_options options, std::vector<std::string> arguments);

    /// Boots the machine once, saves a snapshot and makes an empty disk.
    [[nodiscard]] result<machine::accelerator> prepare();
    /// Makes a disk with a new region that a server has closed.
    [[nodiscard]] bool replace_disk();
    /// From the next start on the server's syncs do nothing.
    void forget_syncs() noexcept { synced_ = false; }

    [[nodiscard]] bool start() override;
    void kill() override;
    [[nodiscard]] std::optional<int> stop() override;
    [[nodiscard]] int check(std::string& output) override;
    [[nodiscard]] std::uint16_t port() const noexcept override { return machine_->port(); }
    [[nodiscard]] std::uint64_t started_ns() const noexcept override { return started_ns_; }
    [[nodiscard]] const std::string& output() const noexcept override { return output_; }
    [[nodiscard]] std::string by_force() const override { return "power cut"; }
    [[nodiscard]] std::string place() const override;

   private:
    [[nodiscard]] result<void> power_on();
    [[nodiscard]] result<void> make_disk() const;
    bool remember(const result<void>& done);

    machine::machine_options options_;
    std::vector<std::string> arguments_;
    std::unique_ptr<machine::machine> machine_;
    bool synced_ = true;
    std::uint64_t started_ns_ = 0;
    std::string output_;
};

}  // namespace hf::demo
