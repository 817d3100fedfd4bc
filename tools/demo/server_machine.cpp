#include "server_machine.hpp"

#include "base/clock.hpp"
#include "tools/machine/disk_image.hpp"

#include <utility>

namespace hf::demo {

namespace {

constexpr std::uint64_t disk_bytes = std::uint64_t{2} << 30;
constexpr const char* region = "/mnt/store.hf";

}  // namespace

server_machine::server_machine(machine::machine_options options, std::vector<std::string> arguments)
    : options_(std::move(options)), arguments_(std::move(arguments)) {
    arguments_.insert(arguments_.begin(), {"--file", region, "--listen", "0.0.0.0"});
}

result<machine::accelerator> server_machine::prepare() {
    if (auto made = make_disk(); !made) return tl::unexpected(made.error());
    auto by = machine::prepare(options_, options_.directory / "snapshot");
    if (by) options_.by = *by;
    return by;
}

result<void> server_machine::make_disk() const {
    return machine::make_disk(options_.directory / "disk", disk_bytes, "ext4");
}

bool server_machine::replace_disk() {
    machine_.reset();
    return make_disk() && start() && stop() == 0;
}

result<void> server_machine::power_on() {
    machine_.reset();
    auto restored = machine::machine::restore(options_, options_.directory / "snapshot");
    if (!restored) return tl::unexpected(restored.error());
    machine_ = std::move(*restored);
    if (auto on = machine_->plug({options_.directory / "disk", {}}); !on) return on;
    if (auto mounted = machine_->require({"attach", "ext4", "/dev/vda"}); !mounted) {
        return tl::unexpected(mounted.error());
    }
    return {};
}

bool server_machine::remember(const result<void>& done) {
    output_ = done ? machine_->guest().server_output() : done.error().to_string();
    return done.has_value();
}

bool server_machine::start() {
    started_ns_ = now_ns();
    if (const auto on = power_on(); !on) return remember(on);
    return remember(machine_->serve(arguments_, synced_));
}

void server_machine::kill() { machine_->cut_power(); }

std::optional<int> server_machine::stop() {
    const auto told = machine_->require({"stop"});
    const auto status = machine_->guest().await_server_end();
    output_ = machine_->guest().server_output();
    const auto detached = machine_->require({"detach"});
    machine_->cut_power();
    if (!told || !status || !detached) return std::nullopt;
    return *status;
}

int server_machine::check(std::string& output) {
    if (const auto on = power_on(); !on) {
        output += on.error().to_string();
        return -1;
    }
    const auto done = machine_->guest().command({"holdfast", "check", region});
    machine_->cut_power();
    output += done ? done->output : done.error().to_string();
    return done ? done->status : -1;
}

std::string server_machine::place() const {
    return std::string("holdfast serve ") + region + " on ext4 in a virtual machine, by " +
           machine::to_string(options_.by);
}

}  // namespace hf::demo
