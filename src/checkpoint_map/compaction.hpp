// compaction.hpp: moves records in a full region, so that what was freed serves any size.
//
// Purpose. After removals at random no slab is empty and no leaf either: free blocks serve records
// of their own size only, and there is no page for new leaves. One walk over all records joins
// sparse leaves, and moves records out of sparsely used slabs (list_heap::begin_emptying()), whose
// pages are then free. A record is moved by storing its value again under its key.
//
// Crash. A move is an update, and a join a removal: both are undone with their epoch, like any
// other. A slab is freed in a later epoch than the last move out of it.
//
// Concurrency. Other threads go on reading and writing; blocks that they free in a chosen slab stay
// unused until the slab is freed. Call it outside of operations, by one thread at a time: it ends
// epochs, since freed blocks and the space of logs are usable in the next one only.
//
// Bad input. A damaged record or leaf stays where it is. If the walk cannot get past one, it ends;
// records that were moved until then stay where they are.
//
// Cost. Each record is read; a record in a chosen slab is copied. compaction_budget bounds how
// often.
#pragma once

#include "base/damage.hpp"
#include "checkpoint_map/engine.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hf {

/// When a compaction is worth its walk again: after a sixteenth as many releases as it has visited
/// records.
class compaction_budget {
   public:
    [[nodiscard]] bool allows(u64 freed, u64 removed) const noexcept {
        return pays(freed - freed_ + removed - removed_);
    }
    /// Whether this many removals leave leaves to join.
    [[nodiscard]] bool allows_joins(u64 removed) const noexcept { return pays(removed - removed_); }
    /// After an attempt without a walk.
    void spend(u64 freed) noexcept { freed_ = freed; }
    void spend(u64 freed, u64 removed, u64 visited) noexcept {
        freed_ = freed;
        removed_ = removed;
        visited_ = visited;
    }

   private:
    static constexpr u64 visits_for_a_release = 16;
    [[nodiscard]] bool pays(u64 released) const noexcept {
        return released * visits_for_a_release >= visited_;
    }
    u64 freed_ = 0;
    u64 removed_ = 0;
    u64 visited_ = 0;
};

template <any_discipline D>
class compaction {
   public:
    explicit compaction(engine<D>& machine) : machine_(machine), memory_(machine.memory()) {}

    /// Returns whether memory has become free that the next epoch can use.
    [[nodiscard]] bool run(compaction_budget& budget) {
        if (!budget.allows(memory_.freed(), memory_.removed())) return false;
        const emptying chosen(memory_, machine_.tree().node_payload());
        u64 pages = 0;
        if (chosen.pages != 0) pages += sweep();  // collects what this epoch had freed in them
        const bool walks = chosen.pages != 0 || budget.allows_joins(memory_.removed());
        if (walks) walk();
        if (moved_ != 0) pages += sweep();
        if (walks) {
            budget.spend(memory_.freed(), memory_.removed(), visited_);
        } else {
            budget.spend(memory_.freed());
        }
        return moved_ + joined_ + pages != 0;
    }
    [[nodiscard]] u64 moved() const noexcept { return moved_; }
    [[nodiscard]] u64 joined() const noexcept { return joined_; }

   private:
    using record = typename masstree<D>::record;
    using operation = typename D::operation;

    /// Slabs are chosen as long as it exists.
    struct emptying {
        emptying(heap<D>& memory, u64 fixed_payload)
            : pages(memory.begin_emptying(fixed_payload)), memory_(memory) {}
        emptying(const emptying&) = delete;
        emptying& operator=(const emptying&) = delete;
        ~emptying() {
            if (pages != 0) memory_.end_emptying();
        }

        const u64 pages;

       private:
        heap<D>& memory_;
    };

    /// Returns the pages of slabs that have become free in this epoch.
    [[nodiscard]] u64 sweep() {
        end_epoch(epochs().current_epoch());
        return memory_.give_back_slabs(true);
    }

    /// Collects the keys of a batch of records, and those of records that are to be moved.
    struct visitor {
        static constexpr unsigned batch = 256;

        heap<D>& memory;
        std::vector<std::string> all{};
        std::vector<std::string> to_move{};

        [[nodiscard]] bool operator()(std::string_view key, std::string_view value) {
            if (memory.is_emptied(offset_from(memory.base(), value.data()))) {
                to_move.emplace_back(key);
            }
            all.emplace_back(key);
            return all.size() < batch;
        }
    };

    [[nodiscard]] epoch_manager& epochs() const { return machine_.epochs(); }
    void end_epoch(u64 epoch) const { epochs().end_epoch(epoch); }

    void walk() {
        std::string last;
        bool is_end = false;
        try {
            for (bool started = false; !is_end; started = true) {
                visitor seen{memory_};
                {
                    operation op(machine_.checkpoint());
                    is_end = machine_.tree().scan(op, last, started, seen);
                }
                visited_ += seen.all.size();
                if (!seen.all.empty()) last = seen.all.back();
                epochs().slow_writer();
                if (!move_all(seen.to_move)) return;
                if (!join_all(seen.all)) return;
            }
        } catch (const damage&) {  // NOLINT(bugprone-empty-catch): the write that failed reports it
        }
    }

    /// False: there is no room in other slabs, so nothing more can be moved.
    [[nodiscard]] bool move_all(const std::vector<std::string>& keys) {
        for (const std::string& key : keys) {
            const auto done = with_log([&] { return move(key); });
            if (!done) return false;
            moved_ += *done ? 1 : 0;
        }
        return true;
    }
    /// Tries each leaf of these keys, which are in order, once. False: logs stay full.
    [[nodiscard]] bool join_all(const std::vector<std::string>& keys) {
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const auto done = with_log([&] {
                operation op(machine_.checkpoint());
                return machine_.tree().join(op, keys[i]);
            });
            if (!done) return false;
            joined_ += done->joined ? 1 : 0;
            i += done->entries_after;
        }
        return true;
    }
    /// Repeats `act` in the next epoch if a log was full.
    template <class Act>
    [[nodiscard]] auto with_log(Act act) const -> decltype(act()) {
        constexpr unsigned max_attempts = 100;
        for (unsigned attempt = 1;; ++attempt) {
            const u64 epoch = epochs().current_epoch();
            auto done = unless_damaged(act);
            if (done || attempt == max_attempts ||
                !machine_.checkpoint().log_ran_full(epochs().my_lane(), epoch)) {
                return done;
            }
            end_epoch(epoch);
        }
    }
    /// Returns act(). A damaged record, or leaf, stays where it is.
    template <class Act>
    [[nodiscard]] static auto unless_damaged(Act act) -> decltype(act()) {
        try {
            return act();
        } catch (const damage&) {
            return typename decltype(act())::value_type{};
        }
    }
    [[nodiscard]] result<bool> move(const std::string& key) const {
        operation op(machine_.checkpoint());
        u64 made = 0;
        result<bool> moved = false;
        try {
            moved = move_in(op, key, made);
        } catch (const damage&) {
            if (made != 0) machine_.tree().drop_record(op, made);
            throw;
        }
        if (!moved && made != 0) machine_.tree().drop_record(op, made);
        return moved;
    }
    /// `made` becomes the new record. It is not stored if this fails.
    [[nodiscard]] result<bool> move_in(operation& op, const std::string& key, u64& made) const {
        masstree<D>& tree = machine_.tree();
        std::optional<error> refused;
        const auto done = tree.update(op, key, [&](const record* old) -> decision {
            // Large records are in no slab.
            if (old == nullptr || is_large(old->payload()) ||
                !memory_.is_emptied(offset_from(memory_.base(), old))) {
                return {};
            }
            const auto fresh = tree.make_record(op, key, old->value());
            if (!fresh) {
                refused = fresh.error();
                return {};
            }
            made = *fresh;
            return {decision::action::store, made};
        });
        if (refused) return failure(*refused);
        if (!done) return tl::unexpected(done.error());
        return done->changed;
    }

    engine<D>& machine_;
    heap<D>& memory_;
    u64 visited_ = 0;
    u64 moved_ = 0;
    u64 joined_ = 0;
};

}  // namespace hf
