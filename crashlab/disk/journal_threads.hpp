// disk/journal_threads.hpp: the whole journal, with its two threads, on two model disks, and a
// check of the recovered state.
//
// Purpose. The workload of the target `journal.threads`, where the threads are fibers and the seed
// determines everything, and of tests/rooms/journal, where they are real. One leader ends epochs.
// The journal, or for some epochs the leader, makes them durable and applies them concurrently, on
// disks that are full for some calls. At one call of either disk the power is cut: the contents of
// both are saved, and the journal continues unaware. The saved contents must recover to
// the end of an epoch no older than the last announced one, and before recovery each line of the
// base must be at least as new as the epoch reported as applied. At the end the base has
// everything.
#pragma once

#include "crashlab/disk/model_disk.hpp"
#include "journal/redo_journal.hpp"
#include "journal/replay.hpp"
#include "persist/dirty_set.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace hf::lab {

/// The state shared by the two disks of a machine.
struct shared_power {
    std::mutex mutex;  // guards everything below
    u64 calls = 0;
    u64 cut_at = ~u64{0};     ///< the call, from 1, at which the power is cut
    u64 full_from = ~u64{0};  ///< the first call for which the disk is full
    u64 full_until = 0;
    model_disk journal{bytes{}};
    model_disk base{bytes{}};
    u64 announced = 0;
    u64 applied = 0;

    struct left_over {
        model_disk journal;
        model_disk base;
        u64 announced;
        u64 applied;
    };
    std::optional<left_over> left;

    /// Called before each call of a disk. False: the disk is full.
    [[nodiscard]] bool next() {
        if (++calls == cut_at) {
            left.emplace(left_over{journal, base, announced, applied});
            journal.story = base.story = nullptr;  // later calls are not recorded
        }
        return calls < full_from || calls >= full_until;
    }
};

/// A disk as the journal's threads see it.
class shared_disk final : public journal::block_file {
   public:
    using block_file::write;

    /// `wait` is called for the duration of a sync.
    shared_disk(std::shared_ptr<shared_power> p, model_disk& disk, std::function<void()> wait)
        : power_(std::move(p)), disk_(disk), wait_(std::move(wait)) {}

    result<void> write(u64 offset, std::span<const std::span<const std::byte>> pieces) override {
        const std::lock_guard lock(power_->mutex);
        return power_->next() ? disk_.write(offset, pieces) : full("write");
    }
    result<void> read(u64 offset, std::span<std::byte> into) override {
        const std::lock_guard lock(power_->mutex);
        return disk_.read(offset, into);
    }
    // It takes time, during which the other thread runs.
    result<void> sync() override {
        wait_();
        const std::lock_guard lock(power_->mutex);
        (void)power_->next();
        return disk_.sync();
    }
    result<void> extend(u64 length) override {
        const std::lock_guard lock(power_->mutex);
        return power_->next() ? disk_.extend(length) : full("allocate");
    }
    result<u64> size() override {
        const std::lock_guard lock(power_->mutex);
        return disk_.size();
    }
    [[nodiscard]] std::string name() const override { return disk_.name(); }

   private:
    [[nodiscard]] result<void> full(const char* what) const {
        return failure({errc::no_space, what, name(), "the disk is full", "make room"});
    }
    std::shared_ptr<shared_power> power_;
    model_disk& disk_;
    std::function<void()> wait_;
};

class journal_threads {
   public:
    static constexpr u64 first_lines = 256;  ///< of the base; it grows
    static constexpr u64 most_lines = 512;
    static constexpr u64 epochs = 24;
    static constexpr journal::geometry tight{journal::page, 4};

    /// `fills_up`: the disks are full for some calls. `wait` is called for the duration of a sync.
    journal_threads(u64 seed, u64 cut_at, bool fills_up, std::function<void()> wait)
        : random_(seed), wait_(std::move(wait)) {
        power_->cut_at = cut_at;
        if (fills_up) {
            power_->full_from = 12 + random_.below(60);
            power_->full_until = power_->full_from + 1 + random_.below(3);
        }
        ends_.push_back(content());
        power_->base.become(content());
    }

    /// From now on the disks record their calls.
    void tell(disk_story& story) {
        power_->journal.story = power_->base.story = &story;
        power_->journal.label = "journal";
        power_->base.label = "base";
    }
    /// Records what judge() with the same `taken` would find on the disks.
    void tell_fates(const std::function<bool(std::size_t)>& taken) const {
        if (!power_->left) return;
        const auto& left = *power_->left;
        left.journal.tell_fates(taken);
        left.base.tell_fates([&](std::size_t i) { return taken(left.journal.unsure() + i); });
    }

    /// Runs the whole workload. Returns an error of the run itself, without the power cut.
    [[nodiscard]] std::optional<std::string> run() {
        auto started = journal::redo_journal::start(disk(power_->journal), disk(power_->base),
                                                    {{7}, 3}, 0, tight);
        if (!started) return "the journal does not start: " + started.error().to_string();
        named_at_ = power_->calls;
        auto redo = std::move(*started);
        listen(*redo);
        for (u64 e = 1; e <= epochs; ++e) {
            end_epoch(*redo, e);
            if (random_.below(2) == 0) redo->ask_to_apply();
            if (random_.below(8) == 0) redo->wait_idle([] { return false; });
        }
        while (!redo->apply_all()) {
        }
        redo.reset();
        if (power_->announced != epochs) return "not all that was submitted was announced";
        if (power_->base.synced() != ends_.back()) return "the base has not everything at the end";
        return std::nullopt;
    }

    [[nodiscard]] u64 calls() const { return power_->calls; }
    [[nodiscard]] bool was_cut() const { return power_->left.has_value(); }
    /// Sectors that may or may not have reached the disks when the power went.
    [[nodiscard]] std::size_t unsure() const {
        return was_cut() ? power_->left->journal.unsure() + power_->left->base.unsure() : 0;
    }

    /// Checks the contents left if the disks took those sectors; returns the error. Adds the
    /// contents to `digest`, if given.
    [[nodiscard]] std::optional<std::string> judge(const std::function<bool(std::size_t)>& taken,
                                                   u64* digest = nullptr) const {
        // Before the journal has its name no program would read it (K2).
        if (!was_cut() || power_->cut_at <= named_at_) return std::nullopt;
        const auto& left = *power_->left;
        model_disk journal(left.journal.after_power_cut(taken));
        model_disk base(left.base.after_power_cut(
            [&](std::size_t i) { return taken(left.journal.unsure() + i); }));
        if (digest != nullptr) {
            *digest = checksum64(journal.now().data(), journal.now().size(),
                                 checksum64(base.now().data(), base.now().size()));
        }
        if (auto wrong = stale_line(base.now())) return wrong;
        const auto found = journal::scan(journal);
        if (!found) return found.error().to_string();
        if (auto done = journal::replay(journal, *found, base); !done) {
            return done.error().to_string();
        }
        for (u64 e = left.announced; e < ends_.size(); ++e) {
            if (is_end(ends_[e], base.now())) return std::nullopt;
        }
        return "what comes back is the end of no epoch from " + std::to_string(left.announced) +
               " on";
    }

   private:
    [[nodiscard]] std::unique_ptr<journal::block_file> disk(model_disk& d) {
        return std::make_unique<shared_disk>(power_, d, wait_);
    }

    void listen(journal::redo_journal& redo) {
        redo.set_listener([p = power_](std::optional<u64> e) {
            const std::lock_guard lock(p->mutex);
            if (e) p->announced = *e;
        });
        redo.set_applied_listener([p = power_](u64 e) {
            const std::lock_guard lock(p->mutex);
            p->applied = e;
        });
    }

    [[nodiscard]] bytes content() const {
        return {memory_.begin(), memory_.begin() + static_cast<std::ptrdiff_t>(lines_ * line_size)};
    }

    /// A base that grew in an epoch that is lost may stay longer.
    static bool is_end(const bytes& end, const bytes& base) {
        return base.size() >= end.size() && std::equal(end.begin(), end.end(), base.begin());
    }

    /// A line of the base that is older than the epoch reported as applied.
    [[nodiscard]] std::optional<std::string> stale_line(const bytes& base) const {
        const u64 applied = power_->left->applied;
        for (u64 at = 0; at < ends_[applied].size(); at += line_size) {
            const auto is_there = [&](const bytes& end) {
                return at < base.size() &&
                       std::memcmp(base.data() + at, end.data() + at, line_size) == 0;
            };
            const auto from = ends_.begin() + static_cast<std::ptrdiff_t>(applied);
            if (std::any_of(from, ends_.end(), is_there)) continue;
            return "line " + std::to_string(at / line_size) + " of the base is older than epoch " +
                   std::to_string(applied) + ", which was said to be applied";
        }
        return std::nullopt;
    }

    void end_epoch(journal::redo_journal& redo, u64 epoch) {
        grow(redo);
        const u64 changes = 1 + random_.below(random_.below(3) == 0 ? 200 : 20);
        for (u64 i = 0; i < changes; ++i) {
            const u64 line = random_.below(lines_);
            memory_[line * line_size + random_.below(line_size)] =
                static_cast<std::byte>(random_());
            dirty_.note(memory_.data() + line * line_size, 1);
        }
        ends_.push_back(content());
        journal::capture& c = redo.begin();
        c.begin(epoch, dirty_);
        c.copy(memory_.data(), 0, c.size());
        if (random_.below(3) != 0) return redo.submit();
        if (redo.submit_to_write()) redo.write();
    }

    /// If the disk is full the base does not grow.
    void grow(journal::redo_journal& redo) {
        if (lines_ == most_lines || random_.below(6) != 0) return;
        const std::unique_ptr<journal::block_file> base = disk(power_->base);
        if (!base->extend((lines_ + 32) * line_size)) return;
        lines_ += 32;
        redo.base_has_grown(lines_ * line_size);
    }

    xoshiro256ss random_;
    std::function<void()> wait_;
    std::shared_ptr<shared_power> power_ = std::make_shared<shared_power>();
    bytes memory_ = bytes(most_lines * line_size);
    u64 lines_ = first_lines;
    dirty_set dirty_{memory_.data(), most_lines* line_size};
    std::vector<bytes> ends_;  ///< [e]: contents at the end of epoch e
    u64 named_at_ = 0;
};

}  // namespace hf::lab
