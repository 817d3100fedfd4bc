#include "crashlab/seeded/board.hpp"

#include "base/check.hpp"
#include "crashlab/seeded/small_region.hpp"
#include "persist/ordered.hpp"
#include "persist/trace.hpp"

#include <algorithm>
#include <array>

namespace hf::lab::seeded {
std::string_view to_string(bug b) noexcept {
    switch (b) {
        case bug::none:
            return "none";
        case bug::log_after_field:
            return "log_after_field";
        case bug::missing_flush:
            return "missing_flush";
        case bug::missing_fence:
            return "missing_fence";
        case bug::log_elsewhere:
            return "log_elsewhere";
        case bug::epoch_before_flush:
            return "epoch_before_flush";
        case bug::early_announcement:
            return "early_announcement";
        case bug::early_reuse:
            return "early_reuse";
        case bug::plain_stores:
            return "plain_stores";
    }
    return "unknown";
}

board::board(bug b)
    : bug_(b), region_(open_small_region()), on_medium_(first_segment<contents>(*region_)) {
    open_session();
}

// Written before any operation: cut short, the epoch on the medium fails once more.
void board::open_session() {
    epoch_record& r = on_medium_->record;
    came_back_to_ = r.epoch == 0 ? 0 : r.epoch - 1;
    failed_ = r.failed | u64{1} << r.epoch;
    epoch_ = r.epoch + 1;
    require(epoch_ < 64, "the board has run out of epochs");
    ordered_store(r.failed, failed_);
    ordered_store(r.epoch, epoch_);
    region_->med().persist(&r, sizeof(r));
}

board::log& board::log_of(unsigned cell) const noexcept {
    return bug_ == bug::log_elsewhere ? on_medium_->logs[cell].far : on_medium_->cells[cell].near;
}

u64 board::slot_of(unsigned cell) const noexcept {
    const log& l = log_of(cell);
    return (failed_ >> l.epoch & 1) != 0 ? l.before : on_medium_->cells[cell].now;
}

u64 board::get(unsigned cell) const {
    const u64 slot = slot_of(cell);
    require(slot <= slot_count, "a cell refers to a slot that does not exist");
    return slot == 0 ? 0 : on_medium_->slots[slot - 1].value;
}

void board::find_free_slots() {
    std::array<bool, slot_count + 1> used{};
    for (unsigned c = 0; c < cell_count; ++c) used.at(slot_of(c)) = true;
    for (u64 s = slot_count; s > 0; --s) {
        if (!used.at(s)) free_.push_back(s);
    }
    knows_free_slots_ = true;
}

u64 board::take_slot() {
    if (!knows_free_slots_) find_free_slots();
    require(!free_.empty(), "the board is out of slots");
    const u64 slot = free_.back();
    free_.pop_back();
    return slot;
}

void board::give_back(u64 slot) {
    if (slot == 0) return;
    (bug_ == bug::early_reuse ? free_ : given_back_).push_back(slot);
}

void board::write(u64& field, u64 value) const noexcept {
    if (bug_ == bug::plain_stores) {
        field = value;
    } else {
        ordered_store(field, value);
    }
}

void board::write_log(unsigned cell, u64 before) {
    log& l = log_of(cell);
    write(l.before, before);
    write(l.epoch, epoch_);
    if (bug_ != bug::missing_flush) note(&on_medium_->cells[cell]);
    if (bug_ == bug::log_elsewhere) note(&l);
}

void board::put(unsigned cell, u64 value) {
    const u64 fresh = take_slot();
    on_medium_->slots[fresh - 1].value = value;
    note(&on_medium_->slots[fresh - 1]);
    const u64 old = slot_of(cell);
    const bool first = log_of(cell).epoch != epoch_;
    u64& now = on_medium_->cells[cell].now;
    if (bug_ == bug::log_after_field) write(now, fresh);
    if (first) write_log(cell, old);
    if (bug_ != bug::log_after_field) write(now, fresh);
    give_back(old);
}

void board::write_back() {
    for (const void* line : dirty_) region_->med().flush_line(line);
    if (bug_ != bug::missing_fence) region_->med().fence();
    dirty_.clear();
}

void board::announce() const { trace::announced(epoch_); }

void board::count_epoch() {
    ordered_store(on_medium_->record.epoch, epoch_ + 1);
    region_->med().flush_line(&on_medium_->record);
    if (bug_ == bug::early_announcement) announce();
    region_->med().fence();
}

void board::end_epoch() {
    require(epoch_ + 1 < 64, "the board has run out of epochs");
    if (bug_ == bug::epoch_before_flush) count_epoch();
    write_back();
    if (bug_ != bug::epoch_before_flush) count_epoch();
    announce();
    ++epoch_;
    free_.insert(free_.begin(), given_back_.begin(), given_back_.end());
    given_back_.clear();
}

}  // namespace hf::lab::seeded
