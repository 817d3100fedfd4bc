#include "checkpoint/opening.hpp"

#include "base/check.hpp"
#include "checkpoint/checkpoint_area.hpp"

#include <utility>

namespace hf {

result<checkpointed_region> checkpointed_region::look_at(const std::filesystem::path& path,
                                                         std::span<const layout::room_format> rooms,
                                                         std::span<const upgrade_step> upgrades) {
    region_options look;
    look.mode = open_mode::inspect;
    auto file = open_region(path, {.file = look, .rooms = rooms, .upgrades = upgrades});
    if (!file) return tl::unexpected(file.error());
    checkpointed_region seen(std::move(*file));
    epoch_options by_hand;
    by_hand.epoch = no_clock;
    if (auto ok = seen.read_epochs(by_hand); !ok) return tl::unexpected(ok.error());
    return seen;
}

result<void> checkpointed_region::read_epochs(const epoch_options& options) {
    HF_CHECK(!is_open(), "a region's epochs are read once");
    if (!is_possible(checkpoint_area_of(file().super()))) {
        return failure({errc::corrupt, "open the region", file().path().string(),
                        "its superblock holds an impossible set of failed epochs",
                        "restore the file from a backup"});
    }
    auto epochs = epoch_manager::open(opened_, options);
    if (!epochs) return tl::unexpected(epochs.error());
    epochs_ = std::move(*epochs);
    state_ = std::make_unique<checkpoint_state>(*epochs_);
    return {};
}

opening::opening(checkpointed_region& up, const checkpoint_options& options)
    : up_(up), options_(options), driver_(up.steps()) {
    driver_.add(recovery_phase::epochs, "epochs", [this] { return up_.read_epochs(options_); });
}

void opening::add_own(recovery_phase before) {
    if (before > recovery_phase::logs && !std::exchange(applies_log_, true)) {
        driver_.add(recovery_phase::logs, "external log",
                    [this] { return up_.checkpoint().recover_log(options_.recovery_threads); });
    }
    if (before > recovery_phase::discipline && !std::exchange(begins_, true)) {
        driver_.add(recovery_phase::discipline, "session",
                    [this] { return up_.checkpoint().start(); });
    }
}

void opening::add(recovery_phase phase, std::string name, step what) {
    add_own(phase);
    driver_.add(phase, std::move(name), std::move(what));
}

void opening::begin_session() { add_own(recovery_phase::verification); }

result<void> opening::run() {
    add_own(recovery_phase::service);
    driver_.add(recovery_phase::service, "clock", [this]() -> result<void> {
        up_.epochs().start_clock();
        return {};
    });
    return driver_.run();
}

}  // namespace hf
