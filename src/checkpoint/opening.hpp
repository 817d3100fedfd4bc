// opening.hpp: the one way to bring up a checkpointed region, below whatever lies in it.
//
// Purpose. Puts region, epochs and undo together in the order that recovery demands, and leaves
// room for the steps of the rooms above. The recovery driver sees to the order.
//
//     opening up(std::move(file), options);        header:      the epochs are read
//     up.add(recovery_phase::format, ...);
//                                                  logs:        the external log is applied (R1)
//     up.add(recovery_phase::allocator, ...);
//     up.add(recovery_phase::discipline, ...);     roots
//     up.begin_session();                          discipline:  failed set, new session (O1, O2)
//     up.add(recovery_phase::discipline, ...);     structures: operations are possible
//     up.add(recovery_phase::verification, ...);
//     auto ok = up.run();                          service:     the clock
//
// An opening's own steps are added as soon as a step of a later phase is; so none is forgotten, and
// a caller with nothing to add just calls run().
//
// Recovery. Each step can be cut short by another crash and is run again by the next opening.
#pragma once

#include "checkpoint/checkpoint_state.hpp"
#include "recovery/driver.hpp"
#include "recovery/opening.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hf {

struct checkpoint_options : epoch_options {
    unsigned recovery_threads = 0;  ///< that apply the external log; 0: one a processor
};

/// A region of the checkpoint family, with its epochs and what undoes them.
class checkpointed_region {
   public:
    checkpointed_region() = default;
    explicit checkpointed_region(opened_region opened) : opened_(std::move(opened)) {}
    checkpointed_region(checkpointed_region&&) noexcept = default;
    checkpointed_region& operator=(checkpointed_region&& other) noexcept {
        state_.reset();  // what is here ends from the top, as in the destructor
        epochs_.reset();
        opened_ = std::move(other.opened_);
        epochs_ = std::move(other.epochs_);
        state_ = std::move(other.state_);
        return *this;
    }
    ~checkpointed_region() = default;

    /// Maps an existing region for inspection: the epochs and the failed set are known, nothing is
    /// undone, nothing on the disk changes. Of any discipline; `rooms`: whose bytes will be read.
    [[nodiscard]] static result<checkpointed_region> look_at(
        const std::filesystem::path& path, std::span<const layout::room_format> rooms = {},
        std::span<const upgrade_step> upgrades = {});

    /// Reads the epochs. Then epochs() and checkpoint() are there.
    [[nodiscard]] result<void> read_epochs(const epoch_options& options);

    [[nodiscard]] bool is_open() const noexcept { return state_ != nullptr; }
    [[nodiscard]] region& file() const noexcept { return *opened_.file; }
    /// Epochs that the opening took from a journal.
    [[nodiscard]] u64 recovered_records() const noexcept { return opened_.recovered_records; }
    [[nodiscard]] epoch_manager& epochs() const noexcept { return *epochs_; }
    [[nodiscard]] checkpoint_state& checkpoint() const noexcept { return *state_; }

   private:
    opened_region opened_;
    std::unique_ptr<epoch_manager> epochs_;  // each ends before what it stands on
    std::unique_ptr<checkpoint_state> state_;
};

class opening {
   public:
    using step = std::function<result<void>()>;

    /// Brings `up` up, which has a file and nothing else yet. Both outlive the opening.
    opening(checkpointed_region& up, const checkpoint_options& options);

    /// Phases never go backwards.
    void add(recovery_phase phase, std::string name, step what);
    /// What is added afterwards may run operations.
    void begin_session();
    /// Runs all steps, the clock's last.
    [[nodiscard]] result<void> run();
    [[nodiscard]] std::vector<step_time> report() const { return driver_.report(); }

   private:
    void add_own(recovery_phase before);

    checkpointed_region& up_;
    const checkpoint_options options_;
    recovery_driver driver_;
    bool applies_log_ = false;
    bool begins_ = false;
};

}  // namespace hf
