#include "transaction/context.hpp"

#include "base/check.hpp"
#include "persist/ordered.hpp"

#include <bit>
#include <string>

namespace hf {
namespace {

constexpr std::size_t first_read_room = 1024;

}  // namespace

context::context(ownership& records, committed_heap& heap, std::unique_ptr<engine_lane> engine,
                 u16 lane, u64 owner_number, detail::isolation kept)
    : records_(records),
      heap_(heap),
      mark_(ownership::mark_of(lane)),
      kept_(kept),
      serials_(owner_number << 48 | u64{lane} << 40),
      read_room_(first_read_room),
      engine_(std::move(engine)) {
    ownership_ = records.records.get();
    base_ = reinterpret_cast<u64>(heap.store().base());
    lane_ = lane;
    reads_end_ = read_room_.data() + read_room_.size();
}

void context::start(lane& inside, bool read_only, bool anew) {
    inside_ = &inside;
    snapshot_ = records_.clock.load(std::memory_order_acquire);
    quiet_clock_ = &detail::no_clock_to_read_by;
    last_read_ = none;
    reads_ = read_room_.data();
    may_forget_ = read_only && !anew;
    forgot_reads_ = false;
    read_only_ = read_only;
    doomed_ = false;
    begins_anew_ = false;
    has_copies_ = false;
    if (!anew) boundaries_ = 0;
    serial_ = ++serials_;
    safe_units_ = units_before_end(file().size());
    of_thread = this;
}

void context::read_by_clock() noexcept {
    quiet_clock_ = &records_.clock;
    forgot_reads_ = true;
}

void context::end(u64 version) noexcept {
    for (const owned_record& o : owned_) {
        const u64 now = version != no_version ? version : o.before;
        records_.records[o.index].store(now, std::memory_order_release);
    }
    owned_.clear();
    lines_.clear();
    fresh_blocks_.clear();
    releases_.clear();
    if (fresh_bytes_ != 0) fresh_ = fresh_bytes_ = 0;
    if (blocks_ != nullptr) {  // not committed
        blocks_->cancel();
        spare_.push_back(std::move(blocks_));
    }
    engine_->end();
    inside_ = nullptr;
    serial_ = 0;
    of_thread = nullptr;
}

void context::release_blocks() {
    for (const fresh_block& b : releases_) {
        const char* const wrong = my_blocks().try_release(b.address - base_, b.bytes);
        if (wrong != nullptr) [[unlikely]] {
            fail({errc::corrupt, "free in a transaction", file().path().string(),
                  std::string(wrong) + ": offset " + std::to_string(b.address - base_),
                  "run holdfast check; restore the file from a backup"});
        }
    }
}

bool context::is_valid() const noexcept {
    if (forgot_reads_) return false;
    for (const u32* r = read_room_.data(); r != reads_; ++r) {
        const u64 record = records_.records[*r].load(std::memory_order_acquire);
        if (record > snapshot_ && record != mark_) return false;
    }
    return true;
}

void context::wait_for_boundary() {
    wants_boundary_ = true;
    meet_conflict();
}

void context::place_lines() noexcept {
    for (const written_line& l : lines_.lines()) {
        auto* const place = reinterpret_cast<std::atomic<u64>*>(l.line * line_size);
        each_word(l.mask, [&](unsigned i) { ordered_store(place[i], l.words[i]); });
        inside_->note_line_once(place);
    }
    inside_->mark_written();
}

void context::flush_lines() const noexcept {
    const medium& med = file().med();
    for (const written_line& l : lines_.lines()) {
        med.flush_line(reinterpret_cast<const void*>(l.line * line_size));
    }
}

void context::place_heap_changes() noexcept {
    if (blocks_ == nullptr) return;
    blocks_->apply();
    for (const committed::word_change& c : blocks_->changes()) note_heap_word(c.offset);
    inside_->mark_written();
    std::unique_ptr<heap_batch> all;
    if (newest_freed_ != epoch()) {
        if (spare_.empty()) {
            all = std::make_unique<heap_batch>(heap_);
        } else {
            all = std::move(spare_.back());
            spare_.pop_back();
        }
        records_.unsettled.fetch_add(1, std::memory_order_relaxed);
        newest_freed_ = epoch();
    }
    {
        const std::lock_guard lock(freed_lock_);
        if (all != nullptr) freed_.push_back({epoch(), std::move(all)});
        freed_.back().blocks->join(*blocks_);
        oldest_freed_.store(freed_.front().epoch, std::memory_order_relaxed);
    }
    spare_.push_back(std::move(blocks_));
}

void context::note_heap_word(u64 offset) noexcept {
    const u64 line = offset / line_size;
    if (noted_.has(line, epoch())) return;
    if (inside_->sticky().size() >= noted_lines::most) {
        return inside_->note_once(file().at<std::byte>(offset), sizeof(u64));
    }
    inside_->note_sticky(file().at<std::byte>(offset), sizeof(u64));
    noted_.add(line, epoch());
}

u64 context::fresh_bytes() const noexcept {
    u64 sum = 0;
    for (const fresh_block& b : fresh_blocks_) sum += b.bytes;
    return sum;
}

void context::flush_fresh() const noexcept {
    for (const fresh_block& b : fresh_blocks_) {
        file().med().flush(reinterpret_cast<const void*>(b.address), b.bytes);
    }
}

void context::note_fresh() const noexcept {
    for (const fresh_block& b : fresh_blocks_) {
        inside_->note_once(reinterpret_cast<const void*>(b.address), b.bytes);
    }
}

void context::settle_freed(u64 durable, bool is_mine) {
    for (;;) {
        std::unique_ptr<heap_batch> blocks;
        {
            const std::lock_guard lock(freed_lock_);
            if (freed_.empty() || freed_.front().epoch > durable) return;
            blocks = std::move(freed_.front().blocks);
            freed_.pop_front();
            oldest_freed_.store(freed_.empty() ? nothing_freed : freed_.front().epoch,
                                std::memory_order_relaxed);
        }
        blocks->settle();
        records_.unsettled.fetch_sub(1, std::memory_order_relaxed);
        if (is_mine) spare_.push_back(std::move(blocks));
    }
}

}  // namespace hf
