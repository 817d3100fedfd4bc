#include "campaign.hpp"

#include <chrono>
#include <system_error>
#include <thread>

#include "base/clock.hpp"
#include "tools/machine/disk_image.hpp"

namespace hf::power_test {

namespace {

namespace fs = std::filesystem;

constexpr u64 disk_bytes = u64{640} << 20;
constexpr u64 shortest_ms = 50;
constexpr u64 longest_ms = 800;
constexpr u64 longest_opening_ms = 1500;
constexpr u64 ns_of_a_ms = 1'000'000;
constexpr const char* region = "/mnt/store.hf";

/// Each target draws numbers of its own.
u64 seed_for(u64 seed, const std::string& name) {
    for (const char c : name) seed = splitmix64(seed ^ static_cast<unsigned char>(c))();
    return seed;
}

u64 ms_since(u64 start_ns) { return (now_ns() - start_ns) / ns_of_a_ms; }

}  // namespace

campaign::campaign(campaign_options options, target where)
    : options_(std::move(options)),
      where_(std::move(where)),
      random_(seed_for(options_.seed, where_.name())),
      crowd_(random_(), options_.connections) {
    out_.where = where_;
}

machine::machine_options campaign::options_of_machine() const {
    return {options_.guest, options_.directory, options_.directory / "persistent_memory",
            options_.by};
}

outcome campaign::run() {
    auto well = make_medium();
    while (well && out_.cycles < where_.cycles && !interrupted()) well = cycle();
    if (well) well = look_once_more();
    machine_.reset();
    if (well && !is_dax()) well = control();
    machine_.reset();
    if (!well) complain(well.error());
    return out_;
}

result<void> campaign::make_medium() {
    std::error_code ignored;
    fs::remove(options_.directory / "persistent_memory", ignored);
    if (is_dax()) return {};
    return machine::make_disk(options_.directory / "disk", disk_bytes, where_.file_system);
}

/// Until the file system is mounted.
result<void> campaign::power_on(const fs::path& disk) {
    const u64 start = now_ns();
    machine_.reset();
    auto restored =
        machine::machine::restore(options_of_machine(), options_.directory / "snapshot");
    if (!restored) return tl::unexpected(restored.error());
    machine_ = std::move(*restored);
    std::vector<std::string> attach{"attach", where_.file_system, "/dev/vda"};
    if (is_dax()) {
        attach = {"attach", where_.file_system, "/dev/pmem0", "dax"};
        std::vector<std::string> find{"find_persistent_memory"};
        if (!formatted_) find.emplace_back("--format");
        if (auto found = machine_->require(find); !found) return tl::unexpected(found.error());
        formatted_ = true;
    } else if (auto plugged = machine_->plug({disk, {}}); !plugged) {
        return plugged;
    }
    auto mounted = machine_->require(attach);
    out_.restore_ms += ms_since(start);
    ++out_.restores;
    if (!mounted) return tl::unexpected(mounted.error());
    return {};
}

result<void> campaign::serve(acknowledgement ack, bool synced) {
    const std::vector<std::string> arguments{"--file",    region, "--listen", "0.0.0.0",
                                             "--threads", "2",    "--ack",    to_string(ack),
                                             "--size",    "16m"};
    if (auto served = machine_->serve(arguments, synced); !served) return served;
    const std::string& said = machine_->guest().server_output();
    if (said.find("medium " + where_.medium) != std::string::npos) return {};
    return failure({errc::violation, "have a region on " + where_.name(), region, said,
                    "see what holdfast doctor says in the guest"});
}

/// The power goes while the server recovers, or shortly before or after.
result<void> campaign::cut_while_opening() {
    if (auto on = power_on(options_.directory / "disk"); !on) return on;
    const std::vector<std::string> words{"serve", "synced", "--file", region, "--size", "16m"};
    if (auto begun = machine_->guest().begin(words); !begun) return begun;
    std::this_thread::sleep_for(std::chrono::milliseconds(random_.below(longest_opening_ms)));
    machine_->cut_power();
    ++out_.cuts_while_opening;
    return {};
}

/// With the machine on and no server in it.
result<void> campaign::open_and_judge() {
    if (auto sound = machine_->require({"holdfast", "check", region}); !sound) {
        return tl::unexpected(sound.error());
    }
    if (auto served = serve(ack_, true); !served) return served;
    const auto seen = crowd_.compare(machine_->port(), true);
    if (!seen) return tl::unexpected(seen.error());
    last_ = *seen;
    out_.sum += last_;
    return {};
}

result<u64> campaign::write_until_the_cut(acknowledgement ack) {
    crowd_.begin(machine_->port(), ack);
    const u64 after = shortest_ms + random_.below(longest_ms - shortest_ms + 1);
    const bool writes = crowd_.await_answers(1);
    if (writes) std::this_thread::sleep_for(std::chrono::milliseconds(after));
    machine_->cut_power();
    crowd_.end();
    if (const std::string answer = crowd_.refusal(); !writes || !answer.empty()) {
        return failure({errc::violation, "write to the server", where_.name(),
                        answer.empty() ? "it does not answer" : "it answered: " + answer,
                        "look at what it said: " + machine_->guest().server_output()});
    }
    return after;
}

result<void> campaign::cycle() {
    last_ = {};
    ack_ = random_.below(4) == 0 ? acknowledgement::buffered : acknowledgement::durable;
    const bool first = out_.cycles == 0;
    if (!first && random_.below(5) == 0) {
        if (auto cut = cut_while_opening(); !cut) return cut;
    }
    if (auto on = power_on(options_.directory / "disk"); !on) return on;
    if (auto open = first ? serve(ack_, true) : open_and_judge(); !open) return open;
    const auto after = write_until_the_cut(ack_);
    if (!after) return tl::unexpected(after.error());
    ++out_.cycles;
    out_.answered += crowd_.answered();
    report_cycle(last_, *after);
    return {};
}

/// The last cycle's writes have not been judged yet.
result<void> campaign::look_once_more() {
    if (out_.cycles == 0) return {};
    if (auto on = power_on(options_.directory / "disk"); !on) return on;
    if (auto open = open_and_judge(); !open) return open;
    machine_->cut_power();
    report_cycle(last_, 0);
    return {};
}

result<void> campaign::control() {
    const std::vector<history> settled = crowd_.histories();
    while (out_.control.cycles < options_.control_cycles && !interrupted()) {
        crowd_.set_histories(settled);
        const auto disk = options_.directory / "disk";
        if (auto copied = machine::copy_disk(disk, options_.directory / "control"); !copied) {
            return copied;
        }
        if (auto done = control_cycle(); !done) return done;
        ++out_.control.cycles;
    }
    return {};
}

/// The same with a server whose syncs do nothing. Whatever it loses is what syncs are for.
result<void> campaign::control_cycle() {
    const fs::path disk = options_.directory / "control";
    if (auto on = power_on(disk); !on) return on;
    if (auto open = serve(acknowledgement::durable, false); !open) return open;
    const auto after = write_until_the_cut(acknowledgement::durable);
    if (!after) return tl::unexpected(after.error());
    const u64 promised = crowd_.durable_records();
    out_.control.promised += promised;
    if (auto on = power_on(disk); !on || !serve(acknowledgement::durable, true)) {
        ++out_.control.unopened;
        out_.control.lost += promised;
        return {};
    }
    const auto seen = crowd_.compare(machine_->port(), false);
    if (!seen) return tl::unexpected(seen.error());
    out_.control.lost += seen->broken();
    return {};
}

}  // namespace hf::power_test
