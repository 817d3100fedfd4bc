#include "campaign.hpp"

#include "tools/machine/disk_image.hpp"

#include <chrono>
#include <thread>

namespace hf::power_test {

namespace {

constexpr u64 shortest_ms = 50;
constexpr u64 longest_ms = 800;
constexpr u64 longest_opening_ms = 1500;
constexpr u64 creations = 2;

/// Each target has its own random numbers.
u64 seed_for(u64 seed, const std::string& name) {
    for (const char c : name) seed = splitmix64(seed ^ static_cast<unsigned char>(c))();
    return seed;
}

}  // namespace

campaign::campaign(campaign_options options, target where)
    : options_(std::move(options)),
      where_(std::move(where)),
      random_(seed_for(options_.seed, where_.name())),
      crowd_(random_(), options_.connections),
      station_(options_, where_) {
    out_.where = where_;
}

outcome campaign::run() {
    auto well = create();
    while (well && out_.cycles < where_.cycles && !interrupted()) well = cycle();
    if (well) well = look_once_more();
    station_.power_off();
    if (well && !station_.is_dax()) well = control();
    if (!well) complain(well.error());
    station_.power_off();
    out_.mean_restore_ms = station_.mean_power_on_ms();
    return out_;
}

/// Cuts the power while the region is created, on a new medium each time. Nothing is promised at
/// that time, but the next open() must succeed, with the existing region or a new one.
result<void> campaign::create() {
    for (u64 i = 0; i < creations && !interrupted(); ++i) {
        if (auto made = station_.make_medium(); !made) return made;
        if (auto cut = cut_while_opening(); !cut) return cut;
        if (auto on = station_.power_on(station_.disk()); !on) return on;
        if (auto served = station_.serve(acknowledgement::durable, true); !served) return served;
        station_.machine().cut_power();
        report_creation();
    }
    return {};
}

/// Cuts the power while the server recovers, or shortly before or after.
result<void> campaign::cut_while_opening() {
    if (auto on = station_.power_on(station_.disk()); !on) return on;
    if (auto begun = station_.begin_to_serve(); !begun) return begun;
    std::this_thread::sleep_for(std::chrono::milliseconds(random_.below(longest_opening_ms)));
    station_.machine().cut_power();
    ++out_.cuts_while_opening;
    return {};
}

/// The machine is on and no server runs.
result<void> campaign::open_and_judge() {
    if (auto sound = station_.check(); !sound) return sound;
    if (auto served = station_.serve(ack_, true); !served) return served;
    const auto seen = crowd_.compare(station_.machine().port(), true);
    if (!seen) return tl::unexpected(seen.error());
    last_ = *seen;
    out_.sum += last_;
    return {};
}

result<u64> campaign::write_until_the_cut(acknowledgement ack) {
    crowd_.begin(station_.machine().port(), ack);
    const u64 after = shortest_ms + random_.below(longest_ms - shortest_ms + 1);
    const bool writes = crowd_.await_answers(1);
    if (writes) std::this_thread::sleep_for(std::chrono::milliseconds(after));
    station_.machine().cut_power();
    crowd_.end();
    if (const std::string answer = crowd_.refusal(); !writes || !answer.empty()) {
        return failure({errc::violation, "write to the server", where_.name(),
                        answer.empty() ? "it does not answer" : "it answered: " + answer,
                        "look at what it said: " + station_.machine().guest().server_output()});
    }
    return after;
}

result<void> campaign::cycle() {
    last_ = {};
    ack_ = random_.below(4) == 0 ? acknowledgement::buffered : acknowledgement::durable;
    if (out_.cycles != 0 && random_.below(5) == 0) {
        if (auto cut = cut_while_opening(); !cut) return cut;
    }
    if (auto on = station_.power_on(station_.disk()); !on) return on;
    if (auto open = open_and_judge(); !open) return open;
    const auto after = write_until_the_cut(ack_);
    if (!after) return tl::unexpected(after.error());
    ++out_.cycles;
    out_.answered += crowd_.answered();
    report_cycle(last_, *after);
    return {};
}

/// Judges the last cycle's writes.
result<void> campaign::look_once_more() {
    if (out_.cycles == 0) return {};
    if (auto on = station_.power_on(station_.disk()); !on) return on;
    if (auto open = open_and_judge(); !open) return open;
    station_.machine().cut_power();
    report_cycle(last_, 0);
    return {};
}

result<void> campaign::control() {
    const std::vector<history> settled = crowd_.histories();
    while (out_.control.cycles < options_.control_cycles && !interrupted()) {
        crowd_.set_histories(settled);
        const auto copied = machine::copy_disk(station_.disk(), station_.another_disk());
        if (!copied) return copied;
        if (auto done = control_cycle(); !done) return done;
        ++out_.control.cycles;
    }
    return {};
}

/// A cycle with a server whose syncs do nothing, which shows the losses without syncs.
result<void> campaign::control_cycle() {
    const auto disk = station_.another_disk();
    if (auto on = station_.power_on(disk); !on) return on;
    if (auto open = station_.serve(acknowledgement::durable, false); !open) return open;
    const auto after = write_until_the_cut(acknowledgement::durable);
    if (!after) return tl::unexpected(after.error());
    const u64 promised = crowd_.durable_records();
    out_.control.promised += promised;
    if (auto on = station_.power_on(disk); !on || !station_.serve(acknowledgement::durable, true)) {
        ++out_.control.unopened;
        out_.control.lost += promised;
        return {};
    }
    const auto seen = crowd_.compare(station_.machine().port(), false);
    if (!seen) return tl::unexpected(seen.error());
    out_.control.lost += seen->broken();
    return {};
}

}  // namespace hf::power_test
