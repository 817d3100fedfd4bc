// tools/demo/server_machine.hpp: a `holdfast serve` in a virtual machine whose power is cut.
//
// Its region lies on ext4 on a virtual disk. Each start restores the machine from the snapshot
// taken after boot and plugs the disk in: nothing of the disk was in the machine's memory before.
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
    /// The arguments follow `holdfast serve`. `options.directory` is for the disk, too; the
    /// snapshot is there.
    server_machine(machine::machine_options options, std::vector<std::string> arguments);

    /// Boots the machine once, and leaves a snapshot and an empty disk.
    [[nodiscard]] result<machine::accelerator> prepare();
    /// An empty disk, on which a server has made a region in order.
    [[nodiscard]] bool replace_disk();
    /// From the next start on, the server's syncs do nothing.
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
