// tests/rooms/epoch/captures.hpp: the end of an epoch on an ordinary disk, without an epoch
// manager: its journal is a real one, and a test holds it up by the listener, by the gate that
// copies hold, or by a limit on the length of files.
#pragma once

#include "epoch/capture.hpp"
#include "held_up.hpp"
#include "recovery/opening.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

namespace hf::test {

using tracked_by = std::optional<page_tracker::way>;

/// A region of `bytes` on the medium `file`.
inline opening_options on_disk(u64 bytes, u64 budget = 0, tracked_by track = {}) {
    opening_options o;
    o.file.initial_size = bytes;
    o.file.medium = medium_kind::file;
    o.file.memory = budget;
    o.journal.track = track;
    o.journal.shape = {.segment_bytes = u64{64} << 10, .segments = 64};
    return o;
}

class captures_on_tmpfs : public on_tmpfs {
   protected:
    static constexpr u64 page = private_pages::page_bytes;
    static constexpr u64 megabyte = u64{1} << 20;

    ~captures_on_tmpfs() override {
        let_go();
        end.reset();
    }
    void open(u64 budget = 0, tracked_by track = {}, u64 bytes = megabyte) {
        opened = must(open_region(file, on_disk(bytes, budget, track)));
        end.emplace(*opened.file, *opened.journal, all);
    }
    void start(u64 durable = 4) {
        next = durable + 1;
        must(end->start(durable, [this](std::optional<u64> epoch) {
            std::unique_lock lock(mutex);
            told.push_back(epoch);
            changed.notify_all();
            changed.wait(lock, [this] { return !is_held_up; });
        }));
    }
    /// From here on an epoch that is durable stays in flight.
    void hold_up() {
        const std::lock_guard lock(mutex);
        is_held_up = true;
    }
    void let_go() {
        const std::lock_guard lock(mutex);
        is_held_up = false;
        changed.notify_all();
    }
    bool was_told(std::optional<u64> epoch) {
        const std::lock_guard lock(mutex);
        return std::find(told.begin(), told.end(), epoch) != told.end();
    }
    u64 boundary() {
        end->end_epoch(next);
        (void)end->submit(false);
        return next++;
    }
    [[nodiscard]] u64 applied() const { return redo().numbers().applied_epoch(); }
    [[nodiscard]] journal::redo_journal& redo() const { return *opened.journal->redo(); }
    [[nodiscard]] dirty_set& dirty() const { return *opened.journal->dirty(); }
    [[nodiscard]] private_pages& copies() const { return *opened.journal->copies(); }
    [[nodiscard]] page_tracker& tracker() const { return *opened.journal->tracker(); }
    [[nodiscard]] std::byte* at(u64 offset) const {
        return opened.file->at<std::byte>(layout::page_size + offset);
    }
    void store(u64 offset, int value) const { *at(offset) = static_cast<std::byte>(value); }
    /// Lines without a store, in the dirty set.
    void note(u64 lines) const { dirty().note(at(0), lines * line_size); }
    /// Memory is the process's own up to this many bytes: pages are stored to, and counted.
    void own(u64 bytes) const {
        for (u64 p = 0; copies().bytes() < bytes || p == 0; ++p) {
            store(p * page, 1);
            copies().find_droppable(opened.file->size(), 0);
        }
        EXPECT_EQ(copies().bytes(), bytes);
    }

    lanes all{1, 4, [](u32 index) {
                  auto l = std::make_unique<lane>();
                  l->index = index;
                  return l;
              }};
    opened_region opened;
    std::optional<capture> end;
    u64 next = 0;
    std::mutex mutex;
    std::condition_variable changed;
    bool is_held_up = false;
    std::vector<std::optional<u64>> told;
};

}  // namespace hf::test
