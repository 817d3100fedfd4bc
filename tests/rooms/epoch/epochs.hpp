// tests/rooms/epoch/epochs.hpp: the epochs of a small region, and threads that wait for them.
#pragma once

#include "epoch/epoch_manager.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>

namespace hf::test {

class epochs_on_tmpfs : public on_tmpfs {
   protected:
    void open(std::chrono::microseconds epoch = no_clock, medium_kind medium = medium_kind::shm) {
        open({.epoch = epoch}, medium);
    }
    void open(const epoch_options& epochs, medium_kind medium) {
        crash();
        region_options o;
        o.initial_size = u64{1} << 20;
        o.flush = flush_policy::always;
        o.medium = medium;
        opened_ = must(open_region(file, o));
        epochs_ = must(epoch_manager::open(opened_, epochs));
        must(epochs_->start());
        epochs_->start_clock();
    }
    void crash() {
        epochs_.reset();
        opened_ = {};
    }
    /// A place for test data: the first heap segment.
    char* bytes(u64 at = 0) { return opened_.file->at<char>(layout::page_size + at); }
    /// Returns the epoch of the change.
    u64 write(u64 at, char what) {
        const epoch_guard inside(*epochs_);
        *bytes(at) = what;
        inside.my_lane().note_once(bytes(at), 1);
        inside.my_lane().mark_written();
        return inside.epoch();
    }

    opened_region opened_;
    std::unique_ptr<epoch_manager> epochs_;
};

}  // namespace hf::test
