// crashlab/seeded/board.hpp: a small persistent structure that can be built wrong on purpose.
//
// Purpose. Tests of the crash lab itself: it must find each of these mistakes, and nothing in the
// structure without one. The board has epochs of its own, so that the boundary can be wrong, too.
//
// On the medium, in a region's first segment, every item a line:
//
//   | record: failed, epoch | cells: now, before, epoch | far logs | slots: value |
//
// A cell holds the number of a slot, plus 1; a value is written to a free slot, then the cell turns
// to it. The old slot is free again in the next epoch.
//
// Invariants.
//  B1 A cell's first change in an epoch writes before, epoch, now: release stores to one line.
//  B2 A slot that a cell refers to, or referred to when the epoch began, is not written.
//
// Persist order. All lines dirtied in epoch e, then record.epoch := e + 1; then e is announced. The
//  next open() writes failed, then epoch, in one line.
//
// Recovery. The epoch on the medium has failed; a cell that is stamped with a failed epoch holds
//  `before`. Reading writes nothing.
#pragma once

#include "persist/medium.hpp"
#include "region/region.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace hf::lab::seeded {

enum class bug : u8 {
    none,
    log_after_field,     ///< B1 the wrong way round
    missing_flush,       ///< a cell's line is not recorded, so no boundary writes it back
    missing_fence,       ///< lines are flushed, and the epoch counted, under one fence
    log_elsewhere,       ///< a cell's log lies in another line
    epoch_before_flush,  ///< the epoch is counted, then its lines are written back
    early_announcement,  ///< the epoch is announced before the record's fence
    early_reuse,         ///< a slot given back is used again in the same epoch
    plain_stores,        ///< B1 in the right order, for a compiler to change
};
[[nodiscard]] std::string_view to_string(bug b) noexcept;

class board {
   public:
    static constexpr unsigned cell_count = 4;
    static constexpr unsigned slot_count = 24;

    /// Opens the lab's region, or creates it with an empty board.
    explicit board(bug b);

    /// 0: nothing has been put there.
    [[nodiscard]] u64 get(unsigned cell) const;
    void put(unsigned cell, u64 value);
    [[nodiscard]] u64 running_epoch() const noexcept { return epoch_; }
    /// The newest epoch whose end has been counted.
    [[nodiscard]] u64 came_back_to() const noexcept { return came_back_to_; }
    void end_epoch();

   private:
    struct alignas(line_size) epoch_record {
        u64 failed;  ///< one bit an epoch: tests have few
        u64 epoch;
    };
    struct log {
        u64 before;
        u64 epoch;
    };
    struct alignas(line_size) cell {
        u64 now;
        log near;
    };
    struct alignas(line_size) far_log {
        log far;
    };
    struct alignas(line_size) slot {
        u64 value;
    };
    struct contents {
        epoch_record record;
        cell cells[cell_count];
        far_log logs[cell_count];
        slot slots[slot_count];
    };

    void open_session();
    void find_free_slots();
    [[nodiscard]] u64 take_slot();
    void give_back(u64 slot);
    [[nodiscard]] log& log_of(unsigned cell) const noexcept;
    [[nodiscard]] u64 slot_of(unsigned cell) const noexcept;
    void write_log(unsigned cell, u64 before);
    void write(u64& field, u64 value) const noexcept;
    void note(const void* p) { dirty_.push_back(p); }
    void write_back();
    void count_epoch();
    void announce() const;

    bug bug_;
    std::unique_ptr<region> region_;
    contents* on_medium_ = nullptr;
    u64 epoch_ = 0;
    u64 failed_ = 0;
    u64 came_back_to_ = 0;
    bool knows_free_slots_ = false;
    std::vector<u64> free_;
    std::vector<u64> given_back_;
    std::vector<const void*> dirty_;
};

}  // namespace hf::lab::seeded
