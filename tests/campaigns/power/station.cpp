#include "station.hpp"

#include "base/clock.hpp"
#include "tools/machine/disk_image.hpp"

#include <csignal>
#include <cstdio>
#include <system_error>

namespace hf::power_test {

namespace {

namespace fs = std::filesystem;

constexpr u64 disk_bytes = u64{640} << 20;
constexpr u64 ns_of_a_ms = 1'000'000;
constexpr const char* region = "/mnt/store.hf";

volatile std::sig_atomic_t interrupts = 0;

void count_interrupt(int) { interrupts = interrupts + 1; }

}  // namespace

bool interrupted() {
    static const bool ready = [] {
        struct sigaction action{};
        action.sa_handler = count_interrupt;
        (void)sigaction(SIGINT, &action, nullptr);
        (void)sigaction(SIGTERM, &action, nullptr);
        return true;
    }();
    return ready && interrupts != 0;
}

result<void> station::make_medium() {
    std::error_code ignored;
    fs::remove(options_.directory / "persistent_memory", ignored);
    formatted_ = false;
    if (is_dax()) return {};
    return machine::make_disk(disk(), disk_bytes, where_.file_system);
}

result<void> station::power_on(const fs::path& disk, const fs::path& write_log) {
    const u64 start = now_ns();
    power_off();
    last_disk_ = disk;
    auto restored = machine::machine::restore(
        {options_.guest, options_.directory, options_.directory / "persistent_memory", options_.by},
        options_.directory / "snapshot");
    if (!restored) return tl::unexpected(restored.error());
    machine_ = std::move(*restored);
    std::vector<std::string> attach{"attach", where_.file_system, "/dev/vda"};
    if (is_dax()) {
        attach = {"attach", where_.file_system, "/dev/pmem0", "dax"};
        std::vector<std::string> find{"find_persistent_memory"};
        if (!formatted_) find.emplace_back("--format");
        if (auto found = machine_->require(find); !found) return tl::unexpected(found.error());
        formatted_ = true;
    } else if (auto plugged = machine_->plug({disk, write_log}); !plugged) {
        return plugged;
    }
    if (auto mounted = machine_->require(attach); !mounted) return tl::unexpected(mounted.error());
    took_ms_ += (now_ns() - start) / ns_of_a_ms;
    ++times_;
    return {};
}

result<void> station::serve(acknowledgement ack, bool synced) {
    const std::vector<std::string> arguments{"--file",    region, "--listen", "0.0.0.0",
                                             "--threads", "2",    "--ack",    to_string(ack),
                                             "--size",    "16m"};
    if (auto served = machine_->serve(arguments, synced); !served) return served;
    const std::string& said = machine_->guest().server_output();
    if (said.find("medium " + where_.medium) != std::string::npos) return {};
    return failure({errc::violation, "have a region on " + where_.name(), region, said,
                    "see what holdfast doctor says in the guest"});
}

result<void> station::begin_to_serve() {
    return machine_->guest().begin({"serve", "synced", "--file", region, "--size", "16m"});
}

result<void> station::check() {
    if (auto sound = machine_->require({"holdfast", "check", region}); !sound) {
        return tl::unexpected(sound.error());
    }
    return {};
}

void station::keep_evidence() {
    if (machine_ != nullptr) {
        std::printf("  the server said: %s\n", machine_->guest().server_output().c_str());
    }
    power_off();
    const auto image = is_dax() ? options_.directory / "persistent_memory" : last_disk_;
    const auto kept = options_.kept / ("failed-" + std::to_string(options_.seed) + ".img");
    if (machine::copy_disk(image, kept)) {
        std::printf("  the image is kept: %s\n", kept.c_str());
    }
    (void)std::fflush(stdout);
}

}  // namespace hf::power_test
