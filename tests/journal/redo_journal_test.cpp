// The threads of a journal, on a disk whose syncs wait to be let through.
#include "journal/redo_journal.hpp"

#include "crashlab/disk/model_disk.hpp"
#include "persist/dirty_set.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <semaphore>
#include <thread>
#include <vector>

namespace hf::test {
namespace {

using lab::bytes;

constexpr u64 lines = 2048;  // more than the journal holds at first
constexpr journal::geometry small{4 * journal::page, 4};
constexpr u64 most_segments = 10;  // a quarter more than the base
constexpr u64 due_segments = 6;    // three fifths of them

/// What a disk and a test share: the journal owns the disk.
struct gate {
    std::atomic<bool> shut{false};
    std::counting_semaphore<> passes{0};
    std::atomic<u64> waiting{0};
    std::atomic<u64> capacity{~u64{0}};
};

class gated_disk final : public journal::block_file {
   public:
    using block_file::write;

    gated_disk(std::shared_ptr<gate> g, bytes content) : g_(std::move(g)), disk_(content) {}

    // A disk takes calls of several threads, a model of one does not.
    result<void> write(u64 offset, std::span<const std::span<const std::byte>> pieces) override {
        const std::lock_guard lock(mutex_);
        return disk_.write(offset, pieces);
    }
    result<void> read(u64 offset, std::span<std::byte> into) override {
        const std::lock_guard lock(mutex_);
        return disk_.read(offset, into);
    }
    result<void> sync() override {
        if (g_->shut) {
            ++g_->waiting;
            g_->passes.acquire();
        }
        const std::lock_guard lock(mutex_);
        return disk_.sync();
    }
    result<void> extend(u64 length) override {
        const std::lock_guard lock(mutex_);
        disk_.capacity = g_->capacity;
        return disk_.extend(length);
    }
    result<u64> size() override {
        const std::lock_guard lock(mutex_);
        return disk_.size();
    }
    [[nodiscard]] std::string name() const override { return disk_.name(); }

   private:
    std::shared_ptr<gate> g_;
    std::mutex mutex_;
    lab::model_disk disk_;
};

class redo_journal : public ::testing::Test {
   protected:
    void SetUp() override {
        auto started = journal::redo_journal::start(
            std::make_unique<gated_disk>(g, bytes{}),
            std::make_unique<gated_disk>(base_gate, bytes(lines * line_size)), {{7}, 3}, 0, small);
        ASSERT_TRUE(started) << started.error().to_string();
        redo = std::move(*started);
        g->shut = true;
    }
    /// The first `n` lines change in an epoch, which is submitted.
    void end_epoch(u64 n) {
        dirty.note(memory.data(), n * line_size);
        journal::capture& c = redo->begin();
        c.begin(++epoch, dirty);
        c.copy(memory.data(), 0, c.size());
        redo->submit();
    }
    /// Its record takes a whole segment.
    void end_large_epoch() { end_epoch(240); }
    void let_one_through() const { g->passes.release(); }
    void open_the_gate() const { open(*g); }
    static void open(gate& of) {
        of.shut = false;
        of.passes.release(1000);
    }

    std::shared_ptr<gate> g = std::make_shared<gate>();
    std::shared_ptr<gate> base_gate = std::make_shared<gate>();
    bytes memory = bytes(lines * line_size, std::byte{1});
    dirty_set dirty{memory.data(), lines* line_size};
    u64 epoch = 0;
    std::unique_ptr<journal::redo_journal> redo;
};

template <class F>
void wait_until(F is_so) {
    while (!is_so()) std::this_thread::yield();
}

}  // namespace

TEST_F(redo_journal, is_idle_when_all_is_durable) {
    end_epoch(1);
    std::atomic<bool> idle{false};
    std::thread waits([&] {
        redo->wait_idle([] { return false; });
        idle = true;
    });
    wait_until([&] { return g->waiting == 1; });
    EXPECT_FALSE(idle);
    let_one_through();
    waits.join();
    open_the_gate();
}

// With a clock that ends epochs as fast as the disk takes them there is always one on its way.
TEST_F(redo_journal, who_waits_for_it_to_be_idle_stops_when_there_is_no_need_any_more) {
    end_epoch(1);
    std::thread waits([&] { redo->wait_idle([&] { return redo->numbers().records() == 1; }); });
    wait_until([&] { return g->waiting == 1; });
    end_epoch(1);
    let_one_through();
    waits.join();
    EXPECT_EQ(redo->numbers().records(), 1U) << "the second is still on its way";
    open_the_gate();
}

TEST_F(redo_journal, tells_who_listens_that_it_refuses_and_when_it_goes_on) {
    std::atomic<u64> refused{0};
    std::atomic<u64> durable{0};
    redo->set_listener([&](std::optional<u64> e) {
        if (e) {
            durable = *e;
        } else {
            ++refused;
        }
    });
    open_the_gate();
    g->capacity = 0;
    end_epoch(lines);
    wait_until([&] { return refused != 0; });
    EXPECT_TRUE(redo->is_refusing());
    redo->wait_idle([] { return false; });  // does not wait for room
    EXPECT_EQ(durable, 0U);
    g->capacity = ~u64{0};
    wait_until([&] { return durable == epoch; });
    redo->set_listener({});
}

TEST_F(redo_journal, old_records_stay_until_three_fifths_are_in_use) {
    open_the_gate();
    const auto& numbers = redo->numbers();
    for (u64 i = 1; i <= due_segments; ++i) {
        end_large_epoch();
        redo->wait_idle([] { return false; });
        ASSERT_EQ(numbers.used(), i);
    }
    EXPECT_EQ(numbers.base_bytes(), 0U);
    end_large_epoch();
    wait_until([&] { return numbers.applied_epoch() == due_segments; });
    EXPECT_GT(numbers.base_bytes(), 0U);
}

TEST_F(redo_journal, grows_to_a_quarter_more_than_the_base_and_then_waits_for_it) {
    base_gate->shut = true;
    open_the_gate();
    const auto& numbers = redo->numbers();
    for (u64 i = 0; i < most_segments + 1; ++i) end_large_epoch();
    wait_until([&] { return base_gate->waiting == 1 && numbers.records() == most_segments - 1; });
    EXPECT_FALSE(redo->is_ready());
    EXPECT_EQ(numbers.used(), most_segments - 1) << "one is kept free";
    open(*base_gate);
    wait_until([&] { return numbers.records() == most_segments + 1; });
    EXPECT_EQ(numbers.segments(), most_segments);
}

}  // namespace hf::test
