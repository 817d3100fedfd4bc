// disk/journal_machine.hpp: a journal and its base on two model disks, and a check of the recovered
// state.
//
// Purpose. The workload of the target `journal` and of tests/rooms/journal: two sessions of the
// real
//  journal (core, scan, replay). The first ends by a power cut, or by the death of its process:
//  then all its writes can be read, but those not synced may still be lost. The second
//  begins with the recovery from that, and ends by a power cut at any call of either disk, also
//  during recovery. The remaining contents must recover to the state at the end of one epoch, no
//  older than the last announced one. The seed determines everything.
#pragma once

#include "crashlab/disk/model_disk.hpp"
#include "journal/core.hpp"
#include "journal/replay.hpp"

#include <optional>
#include <string>

namespace hf::lab {

class journal_machine {
   public:
    static constexpr u64 first_lines = 32;  ///< of the base; it grows
    static constexpr u64 most_lines = 96;
    static constexpr u64 epochs = 12;  ///< of the second session
    static constexpr u64 most_segments = 8;

    explicit journal_machine(u64 seed)
        : random_(seed), memory_(first_lines * line_size), shape_(shape_of(seed)) {
        ends_.push_back(memory_);
        base_.become(memory_);
    }

    /// From now on the disks record their calls.
    void tell(disk_story& story) {
        journal_.story = base_.story = &story;
        journal_.label = "journal";
        base_.label = "base";
    }
    /// Records what judge() with the same `taken` would find on the disks.
    void tell_fates(const std::function<bool(std::size_t)>& taken) const {
        journal_.tell_fates(taken);
        base_.tell_fates([&](std::size_t i) { return taken(journal_.unsure() + i); });
    }

    /// A first session that ends at some call, or completes. If the disks are full it continues as
    /// soon as they have room; any other failure ends its process.
    void live_before(disk_faults* faults = nullptr) {
        journal_.faults = base_.faults = faults;
        u64 calls = 3 + random_() % 40;
        power_for(calls);
        run_session(epochs);
        journal_.faults = base_.faults = nullptr;
        const bool only_the_process_died = random_() % 2 == 0;
        if (only_the_process_died) return;
        journal_.become(journal_.after_power_cut(by_chance(random_)));
        base_.become(base_.after_power_cut(by_chance(random_)));
    }

    /// The second session, limited to `calls` calls of the disks. False: it needed fewer.
    bool live(u64 calls) {
        power_for(calls);
        return !recover() || !run_session(epochs);
    }

    /// Sectors that may or may not have reached the disks.
    [[nodiscard]] std::size_t unsure() const { return journal_.unsure() + base_.unsure(); }

    /// Checks the contents left if the disks took those sectors; returns the error. Adds the
    /// contents to `digest`, if given.
    [[nodiscard]] std::optional<std::string> judge(const std::function<bool(std::size_t)>& taken,
                                                   u64* digest = nullptr) const {
        model_disk journal(journal_.after_power_cut(taken));
        model_disk base(
            base_.after_power_cut([&](std::size_t i) { return taken(journal_.unsure() + i); }));
        if (digest != nullptr) {
            *digest = checksum64(journal.now().data(), journal.now().size(),
                                 checksum64(base.now().data(), base.now().size()));
        }
        if (auto wrong = bring_back(journal, base)) return wrong;
        for (u64 e = durable_; e < ends_.size(); ++e) {
            if (is_end(ends_[e], base.now())) return std::nullopt;
        }
        return "what comes back is the end of no epoch from " + std::to_string(durable_) + " to " +
               std::to_string(ends_.size() - 1);
    }

    template <class R>
    static std::function<bool(std::size_t)> by_chance(R& random) {
        return [&random](std::size_t) { return random() % 2 == 0; };
    }

   private:
    /// Segments for several records each, or records of several segments each.
    static journal::geometry shape_of(u64 seed) {
        return seed % 2 == 0 ? journal::geometry{2 * journal::page, 3}
                             : journal::geometry{journal::page, 5};
    }

    void power_for(u64& calls) { journal_.calls_left = base_.calls_left = &calls; }

    std::optional<std::string> bring_back(model_disk& journal, model_disk& base) const {
        if (!is_named_) return std::nullopt;
        const auto found = journal::scan(journal);
        if (!found) return found.error().to_string();
        const auto done = journal::replay(journal, *found, base);
        return done ? std::nullopt : std::optional(done.error().to_string());
    }

    /// A base that grew in an epoch that is lost may stay longer.
    static bool is_end(const bytes& end, const bytes& base) {
        return base.size() >= end.size() && std::equal(end.begin(), end.end(), base.begin());
    }

    /// False: the power was cut. Throws nothing: judge() finds errors.
    bool recover() {
        if (bring_back(journal_, base_)) return false;
        for (u64 e = ends_.size(); e-- > durable_;) {
            if (!is_end(ends_[e], base_.now())) continue;
            ends_.resize(e + 1);
            break;
        }
        durable_ = ends_.size() - 1;
        memory_ = ends_.back();
        return true;
    }

    bool run_session(u64 length) {
        who_.generation += 1;
        auto core = journal::core::start(journal_, base_, who_, durable_, shape_);
        if (!core) return false;
        is_named_ = true;
        for (u64 i = 0; i < length; ++i) {
            if (!run_epoch(**core)) return false;
        }
        return true;
    }

    bool run_epoch(journal::core& core) {
        grow(core);
        const std::vector<u64> dirty = change_lines();
        bytes data;
        for (const u64 line : dirty) {
            const auto at = memory_.begin() + static_cast<std::ptrdiff_t>(line * line_size);
            data.insert(data.end(), at, at + line_size);
        }
        const journal::record r{ends_.size() - 1, dirty, data.data()};
        const bool may_grow = random_() % 4 == 0 && core.segments() < most_segments;
        while (!may_grow && core.needs_space(r) && core.used() > 1) {
            if (!apply(core, 1, false)) return false;
        }
        for (bool all = false;; all = !all) {
            const auto done = core.commit(r);
            if (done) break;
            if (done.error().code != errc::no_space || !apply(core, 2, all)) return false;
        }
        durable_ = r.epoch;
        const u64 dice = random_() % 8;
        return dice > 1 || apply(core, 2, dice == 0);
    }

    /// If the base is full, no record has been freed.
    static bool apply(journal::core& core, u64 most, bool all) {
        const auto done = core.apply_some(most, all);
        return done || done.error().code == errc::no_space;
    }

    void grow(journal::core& core) {
        if (memory_.size() == most_lines * line_size || random_() % 4 != 0) return;
        const u64 longer = memory_.size() + 16 * line_size;
        if (!base_.extend(longer)) return;
        memory_.resize(longer);
        core.base_has_grown();
    }

    /// Returns changed lines as the dirty set would list them.
    std::vector<u64> change_lines() {
        const u64 lines = memory_.size() / line_size;
        std::vector<u64> dirty;
        std::vector<bool> seen(lines);
        const u64 changes = 1 + random_() % (random_() % 4 == 0 ? 200 : 12);
        for (u64 i = 0; i < changes; ++i) {
            const u64 line = random_() % lines;
            memory_[line * line_size + random_() % line_size] = static_cast<std::byte>(random_());
            if (!seen[line]) dirty.push_back(line);
            seen[line] = true;
        }
        ends_.push_back(memory_);
        return dirty;
    }

    xoshiro256ss random_;
    bytes memory_;
    journal::geometry shape_;
    std::vector<bytes> ends_;  ///< [e]: contents at the end of epoch e
    u64 durable_ = 0;
    bool is_named_ = false;  ///< a journal gets its name once its header is durable (K2)
    journal::identity who_{{1, 2, 3}, 0};
    model_disk journal_;
    model_disk base_;
};

}  // namespace hf::lab
