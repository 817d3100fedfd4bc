// opening.hpp: opens a checkpointed region, for any structure in it.
//
// Purpose. Combines region, epochs and undo in the order that recovery requires, and lets
// higher rooms add their steps. The recovery driver enforces the order.
//
//     opening up(std::move(file), options);        epochs:      the epochs are read
//     up.add(recovery_phase::format, ...);
//                                                  logs:        the external log is applied (R1)
//     up.add(recovery_phase::allocator, ...);
//     up.add(recovery_phase::discipline, ...);     roots
//     up.begin_session();                          discipline:  failed set, new session (O1, O2)
//     up.add(recovery_phase::discipline, ...);     structures: operations are possible
//     up.add(recovery_phase::verification, ...);
//     auto ok = up.run();                          service:     the clock
//
// The class adds its own steps as soon as a step of a later phase is added; so none is forgotten,
// and a caller with nothing to add just calls run().
//
// Recovery. A crash may interrupt each step; the next open runs it again.
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
    unsigned recovery_threads = 0;  ///< threads that apply the external log; 0: one a processor
};

/// A region of the checkpoint family, with its epochs and undo state.
class checkpointed_region {
   public:
    checkpointed_region() = default;
    explicit checkpointed_region(opened_region opened) : opened_(std::move(opened)) {}
    checkpointed_region(checkpointed_region&&) noexcept = default;
    checkpointed_region& operator=(checkpointed_region&& other) noexcept {
        state_.reset();  // the members are destroyed in the destructor's order
        epochs_.reset();
        opened_ = std::move(other.opened_);
        epochs_ = std::move(other.epochs_);
        state_ = std::move(other.state_);
        return *this;
    }
    ~checkpointed_region() = default;

    /// Maps an existing region for inspection: the epochs and the failed set are known, nothing is
    /// undone, nothing on the disk changes. For any discipline; `rooms`: whose bytes will be read.
    [[nodiscard]] static result<checkpointed_region> look_at(
        const std::filesystem::path& path, std::span<const layout::room_format> rooms = {},
        std::span<const upgrade_step> upgrades = {});

    /// Reads the epochs. Afterwards epochs() and checkpoint() exist.
    [[nodiscard]] result<void> read_epochs(const epoch_options& options);

    /// The steps of the whole opening, from the header on.
    [[nodiscard]] recovery_driver& steps() noexcept { return opened_.steps; }
    [[nodiscard]] bool is_open() const noexcept { return state_ != nullptr; }
    [[nodiscard]] region& file() const noexcept { return *opened_.file; }
    /// Number of epochs replayed from a journal.
    [[nodiscard]] u64 recovered_records() const noexcept { return opened_.recovered_records; }
    [[nodiscard]] epoch_manager& epochs() const noexcept { return *epochs_; }
    [[nodiscard]] checkpoint_state& checkpoint() const noexcept { return *state_; }

   private:
    opened_region opened_;
    std::unique_ptr<epoch_manager> epochs_;  // each member is destroyed before those it depends on
    std::unique_ptr<checkpoint_state> state_;
};

class opening {
   public:
    using step = std::function<result<void>()>;

    /// Prepares recovery of `up`, which has a file and nothing else yet. Both must outlive this.
    opening(checkpointed_region& up, const checkpoint_options& options);

    /// Adds a step; phases never go backwards.
    void add(recovery_phase phase, std::string name, step what);
    /// Steps added afterwards may run operations.
    void begin_session();
    /// Runs all steps, the clock's last.
    [[nodiscard]] result<void> run();
    [[nodiscard]] std::vector<step_time> report() const { return driver_.report(); }

   private:
    void add_own(recovery_phase before);

    checkpointed_region& up_;
    const checkpoint_options options_;
    recovery_driver& driver_;
    bool applies_log_ = false;
    bool begins_ = false;
};

}  // namespace hf
