// tests/rooms/journal/gated_journal.hpp: a journal with its threads, on disks whose syncs wait
// until the test allows them, and which may be full.
#pragma once

#include "crashlab/disk/model_disk.hpp"
#include "journal/redo_journal.hpp"
#include "persist/dirty_set.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <semaphore>
#include <thread>

namespace hf::test {

inline constexpr u64 lines = 2048;  // more than the journal holds at first
inline constexpr journal::geometry small{4 * journal::page, 4};
inline constexpr u64 most_segments = 10;  // a quarter more than the base
inline constexpr u64 due_segments = 6;    // three fifths of them

/// Shared by a disk and the test; the journal owns the disk.
struct gate {
    std::atomic<bool> shut{false};
    std::counting_semaphore<> passes{0};
    std::atomic<u64> waiting{0};
    std::atomic<u64> capacity{~u64{0}};
    std::atomic<bool> full{false};  ///< no space for data that is written, either
    // the journal's threads call the disk concurrently; the model is not thread-safe
    std::mutex mutex;
    lab::model_disk disk;
};

class gated_disk final : public journal::block_file {
   public:
    using block_file::write;

    explicit gated_disk(std::shared_ptr<gate> g) : g_(std::move(g)) {}

    result<void> write(u64 offset, std::span<const std::span<const std::byte>> pieces) override {
        const std::lock_guard lock(g_->mutex);
        if (g_->full) return failure({errc::no_space, "write", name(), "it is full", "-"});
        return g_->disk.write(offset, pieces);
    }
    result<void> read(u64 offset, std::span<std::byte> into) override {
        const std::lock_guard lock(g_->mutex);
        return g_->disk.read(offset, into);
    }
    result<void> sync() override {
        if (g_->shut) {
            ++g_->waiting;
            g_->passes.acquire();
        }
        const std::lock_guard lock(g_->mutex);
        return g_->disk.sync();
    }
    result<void> extend(u64 length) override {
        const std::lock_guard lock(g_->mutex);
        g_->disk.capacity = g_->capacity;
        return g_->disk.extend(length);
    }
    result<u64> size() override {
        const std::lock_guard lock(g_->mutex);
        return g_->disk.size();
    }
    [[nodiscard]] std::string name() const override { return g_->disk.name(); }

   private:
    std::shared_ptr<gate> g_;
};

class gated_journal : public ::testing::Test {
   protected:
    void SetUp() override {
        base_gate->disk.now().resize(lines * line_size);
        start(small);
        g->shut = true;
    }
    void start(const journal::geometry& shape, journal::copy_gate copies = {}) {
        redo.reset();
        auto started = journal::redo_journal::start(std::make_unique<gated_disk>(g),
                                                    std::make_unique<gated_disk>(base_gate),
                                                    {{7}, 3}, 0, shape, copies);
        ASSERT_TRUE(started) << started.error().to_string();
        redo = std::move(*started);
        epoch = 0;
    }
    /// The first `n` lines change in an epoch, which is submitted.
    void end_epoch(u64 n) {
        fill(n);
        redo->submit();
    }
    /// Fills the epoch's buffer with the first `n` lines.
    void fill(u64 n) {
        dirty.note(memory.data(), n * line_size);
        journal::capture& c = redo->begin();
        c.begin(++epoch, dirty);
        c.copy(memory.data(), 0, c.size());
    }
    /// An epoch whose record takes a whole segment.
    void end_large_epoch() { end_epoch(240); }
    void let_one_through() const { g->passes.release(); }
    void open_the_gate() const { open(*g); }
    static void open(gate& of) {
        of.shut = false;
        of.passes.release(1000);
    }

    std::shared_ptr<gate> g = std::make_shared<gate>();
    std::shared_ptr<gate> base_gate = std::make_shared<gate>();
    lab::bytes memory = lab::bytes(lines * line_size, std::byte{1});
    dirty_set dirty{memory.data(), lines* line_size};
    u64 epoch = 0;
    std::unique_ptr<journal::redo_journal> redo;
};

template <class F>
void wait_until(F is_so) {
    while (!is_so()) std::this_thread::yield();
}

}  // namespace hf::test
