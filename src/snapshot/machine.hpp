// snapshot/machine.hpp: an open region of the discipline `snapshot`: file, pages, epochs.
//
// Purpose. Combines existing parts: the region, whose pages after the header belong to the user; a
//  page tracker, which finds the changed lines (paging/page_tracker.hpp); and epochs, whose
//  boundary is the checkpoint. There is no allocator and no index, and nothing is written into the
//  user's pages. Correctness arguments are in these parts.
//
// On the medium.
//
//     page 0   | page 1 ...                              | end of file
//     header   | segments of kind heap, one for each growth, all of them the user's
//              '- memory()
#pragma once

#include "epoch/epoch_manager.hpp"

#include <span>

namespace hf {

struct snapshot_machine_options {
    region_options file;
    epoch_options epochs;
    page_tracker::way tracking = page_tracker::way::written;
    u64 bytes = u64{64} << 20;  ///< minimum size of the memory
    journal::geometry journal;
};

class snapshot_machine {
   public:
    /// Opens or creates, recovers, and enables operations.
    [[nodiscard]] static result<std::unique_ptr<snapshot_machine>> open(
        const std::filesystem::path& path, snapshot_machine_options options);

    /// Ends the last epoch and marks the region clean. No other call may be running.
    [[nodiscard]] result<void> close() { return epochs_->close(); }
    [[nodiscard]] result<void> grow(u64 bytes);
    /// Ends the running epoch and returns it. Must not be called within an operation.
    [[nodiscard]] result<u64> checkpoint();

    [[nodiscard]] std::span<std::byte> memory() const noexcept {
        return {region_->base() + layout::page_size, region_->size() - layout::page_size};
    }
    [[nodiscard]] epoch_manager& epochs() noexcept { return *epochs_; }
    [[nodiscard]] region& file() noexcept { return *region_; }
    [[nodiscard]] const region& file() const noexcept { return *region_; }

   private:
    snapshot_machine() = default;

    std::unique_ptr<region> region_;
    std::unique_ptr<epoch_manager> epochs_;
};

}  // namespace hf
