// The two threads of a journal on disks that refuse writes and lose their power.
//
// The power goes at the Nth call of either disk: what each of them holds then, with any part of
// what no sync has covered, is set aside, and the journal goes on without knowing. What was set
// aside must come back as the end of an epoch that is no older than the last announced one; and
// the base must have, line by line, nothing older than the epoch that was said to be applied.
#include "base/random.hpp"
#include "crashlab/disk/model_disk.hpp"
#include "journal/redo_journal.hpp"
#include "journal/replay.hpp"
#include "journal/scan.hpp"
#include "persist/dirty_set.hpp"
#include "support/effort.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace hf::test {
namespace {

using lab::bytes;

constexpr u64 base_lines = 512;
constexpr u64 epochs = 24;
constexpr journal::geometry tight{journal::page, 4};

/// What both disks share.
struct power {
    std::mutex mutex;
    u64 calls = 0;
    u64 cut_at = 0;
    u64 full_from = ~u64{0};  ///< calls in which there is no room
    u64 full_until = 0;
    lab::model_disk journal{bytes{}};
    lab::model_disk base{bytes(base_lines * line_size)};
    struct image {
        bytes journal;
        bytes base;
    };
    std::vector<image> left;  ///< of several draws
    u64 announced = 0;
    u64 announced_left = 0;
    std::atomic<u64> applied{0};
    u64 applied_left = 0;

    /// Nothing that no sync has covered, all of it, or a part.
    void set_aside(u64 draw) {
        xoshiro256ss r(draw);
        const auto taken = [&](std::size_t) { return draw != 0 && (draw == 1 || r.below(2) == 0); };
        left.push_back({journal.after_power_cut(taken), base.after_power_cut(taken)});
    }
    /// Before each call, with the lock held. False: there is no room.
    bool next() {
        if (++calls == cut_at) {
            for (u64 draw = 0; draw < 8; ++draw) set_aside(draw);
            announced_left = announced;
            applied_left = applied;
        }
        return calls < full_from || calls >= full_until;
    }
};

class shared_disk final : public journal::block_file {
   public:
    using block_file::write;

    shared_disk(std::shared_ptr<power> p, lab::model_disk& disk) : p_(std::move(p)), disk_(disk) {}

    result<void> write(u64 offset, std::span<const std::span<const std::byte>> pieces) override {
        const std::lock_guard lock(p_->mutex);
        return p_->next() ? disk_.write(offset, pieces) : full();
    }
    result<void> read(u64 offset, std::span<std::byte> into) override {
        const std::lock_guard lock(p_->mutex);
        return disk_.read(offset, into);
    }
    // It takes its time, in which the other thread goes on.
    result<void> sync() override {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        const std::lock_guard lock(p_->mutex);
        (void)p_->next();
        return disk_.sync();
    }
    result<void> extend(u64 length) override {
        const std::lock_guard lock(p_->mutex);
        return p_->next() ? disk_.extend(length) : full();
    }
    result<u64> size() override {
        const std::lock_guard lock(p_->mutex);
        return disk_.size();
    }
    [[nodiscard]] std::string name() const override { return disk_.name(); }

   private:
    [[nodiscard]] result<void> full() const {
        return failure({errc::no_space, "write", name(), "the disk is full", "make room"});
    }
    std::shared_ptr<power> p_;
    lab::model_disk& disk_;
};

class journal_life {
   public:
    journal_life(u64 seed, u64 cut_at, bool fills_up) : random_(seed) {
        p_->cut_at = cut_at;
        if (fills_up) {
            p_->full_from = 12 + random_.below(60);
            p_->full_until = p_->full_from + 1 + random_.below(3);
        }
        ends_.push_back(memory_);
    }

    /// How many calls there were.
    u64 run() {
        auto started = journal::redo_journal::start(std::make_unique<shared_disk>(p_, p_->journal),
                                                    std::make_unique<shared_disk>(p_, p_->base),
                                                    {{7}, 3}, 0, tight);
        EXPECT_TRUE(started) << started.error().to_string();
        if (!started) return 0;
        named_at_ = p_->calls;
        auto redo = std::move(*started);
        redo->set_listener([p = p_](std::optional<u64> e) {
            const std::lock_guard lock(p->mutex);
            if (e) p->announced = *e;
        });
        redo->set_applied_listener([p = p_](u64 e) { p->applied = e; });
        for (u64 e = 1; e <= epochs; ++e) {
            end_epoch(*redo, e);
            if (random_.below(2) == 0) redo->ask_to_apply();
            if (random_.below(8) == 0) redo->wait_idle([] { return false; });
        }
        while (!redo->apply_all()) {
        }
        redo.reset();
        return p_->calls;
    }

    /// All that may be left. Before the journal has its name nobody would look at it.
    void judge() {
        if (p_->cut_at <= named_at_) return;
        for (const power::image& i : p_->left) judge(i);
    }

    /// At the end of it all everything is in the base.
    void judge_end() {
        EXPECT_EQ(p_->announced, epochs);
        EXPECT_TRUE(p_->base.synced() == ends_.back());
    }

   private:
    void judge(const power::image& left) {
        lab::model_disk journal(left.journal);
        lab::model_disk base(left.base);
        expect_applied(base.now());
        const auto found = journal::scan(journal);
        ASSERT_TRUE(found) << found.error().to_string();
        const auto done = journal::replay(journal, *found, base);
        ASSERT_TRUE(done) << done.error().to_string();
        for (u64 e = p_->announced_left; e < ends_.size(); ++e) {
            if (ends_[e] == base.now()) return;
        }
        ADD_FAILURE() << "what comes back is the end of no epoch from " << p_->announced_left
                      << " on";
    }

    void expect_applied(const bytes& base) {
        for (u64 line = 0; line < base_lines; ++line) {
            const auto same = [&](const bytes& end) {
                const auto at = static_cast<std::ptrdiff_t>(line * line_size);
                return std::equal(base.begin() + at, base.begin() + at + line_size,
                                  end.begin() + at);
            };
            const auto from = ends_.begin() + static_cast<std::ptrdiff_t>(p_->applied_left);
            ASSERT_TRUE(std::any_of(from, ends_.end(), same))
                << "line " << line << " of the base is older than epoch " << p_->applied_left
                << ", which was said to be applied";
        }
    }

    void end_epoch(journal::redo_journal& redo, u64 epoch) {
        const u64 changes = 1 + random_.below(random_.below(3) == 0 ? 200 : 20);
        for (u64 i = 0; i < changes; ++i) {
            const u64 line = random_.below(base_lines);
            memory_[line * line_size + random_.below(line_size)] =
                static_cast<std::byte>(random_());
            dirty_.note(memory_.data() + line * line_size, 1);
        }
        ends_.push_back(memory_);
        journal::capture& c = redo.begin();
        c.begin(epoch, dirty_);
        c.copy(memory_.data(), 0, c.size());
        redo.submit();
    }

    xoshiro256ss random_;
    std::shared_ptr<power> p_ = std::make_shared<power>();
    bytes memory_ = bytes(base_lines * line_size);
    dirty_set dirty_{memory_.data(), base_lines* line_size};
    std::vector<bytes> ends_;
    u64 named_at_ = 0;
};

TEST(journal_threads, lose_no_announced_epoch_whenever_the_power_goes) {
    const u64 seeds = scaled(3);
    for (u64 seed = 1; seed <= seeds; ++seed) {
        journal_life whole(seed, ~u64{0}, false);
        const u64 calls = whole.run();
        whole.judge_end();
        for (u64 cut = 1; cut <= calls && !::testing::Test::HasFailure(); cut += 1 + cut / 40) {
            journal_life life(seed, cut, false);
            life.run();
            life.judge_end();
            life.judge();
        }
    }
}

TEST(journal_threads, wait_for_room_and_lose_nothing_when_the_disk_is_full_for_a_time) {
    const u64 lives = scaled(10);
    for (u64 seed = 1; seed <= lives && !::testing::Test::HasFailure(); ++seed) {
        journal_life life(seed, 20 + seed * 17 % 90, true);
        life.run();
        life.judge_end();
        life.judge();
    }
}

}  // namespace
}  // namespace hf::test
