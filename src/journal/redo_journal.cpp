#include "journal/redo_journal.hpp"

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/thread_name.hpp"
#include "persist/persist_point.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace hf::journal {

namespace {

constexpr u64 largest_comfortable_epoch = u64{256} << 20;
constexpr auto retry_after = std::chrono::milliseconds(100);
constexpr auto look_again_after = std::chrono::milliseconds(2);  // for the end of a copy

/// Full segments are applied all at once: one sync for all of them.
constexpr u64 all_of_them = ~u64{0};

}  // namespace

result<std::unique_ptr<redo_journal>> redo_journal::start(std::unique_ptr<block_file> journal,
                                                          std::unique_ptr<block_file> base,
                                                          const identity& who, u64 base_epoch,
                                                          const geometry& shape, copy_gate gate) {
    std::unique_ptr<redo_journal> j(new redo_journal);
    j->journal_ = std::move(journal);
    j->base_ = std::move(base);
    j->shape_ = shape;
    j->gate_ = gate;
    const auto bytes = j->base_->size();
    if (!bytes) return tl::unexpected(bytes.error());
    j->base_bytes_ = *bytes;
    u64& segments = j->shape_.segments;
    segments = std::clamp(j->worthwhile_segments(), least_segments, shape.segments);
    auto made = core::start(*j->journal_, *j->base_, who, base_epoch, j->shape_);
    // On a disk that the region has nearly filled, start with a smaller journal.
    while (!made && made.error().code == errc::no_space && segments != least_segments) {
        segments = std::max(segments / 2, least_segments);
        made = core::start(*j->journal_, *j->base_, who, base_epoch, j->shape_);
    }
    if (!made) return tl::unexpected(made.error());
    j->core_ = std::move(*made);
    j->writer_ = std::thread([self = j.get()] { self->write_loop(); });
    j->applier_ = std::thread([self = j.get()] { self->apply_loop(); });
    return j;
}

redo_journal::~redo_journal() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    to_write_.notify_all();
    if (writer_.joinable()) writer_.join();
    if (applier_.joinable()) applier_.join();
}

void redo_journal::set_listener(std::function<void(std::optional<u64> epoch)> listener) {
    const std::lock_guard lock(listener_mutex_);
    listener_ = std::move(listener);
}

void redo_journal::set_applied_listener(std::function<void(u64 epoch)> listener) {
    const std::lock_guard lock(mutex_);
    applied_listener_ = std::move(listener);
}

void redo_journal::ask_to_apply() {
    {
        const std::lock_guard lock(mutex_);
        was_asked_ = true;
    }
    changed_.notify_all();
}

// Computed from the current size, not from the maximum: on a disk that fills up the journal may
// never reach it, and an epoch larger than the journal cannot be written. At four times this size
// writers are delayed.
u64 redo_journal::comfortable_lines() const noexcept {
    const u64 quarter = shape_.segment_bytes * core_->segments() / 4;
    return std::min(quarter, largest_comfortable_epoch) / line_size;
}

void redo_journal::base_has_grown(u64 bytes) noexcept {
    base_bytes_ = bytes;
    core_->base_has_grown();
}

// Applying rewrites much of the base whatever the records contain, so applying more records at once
// is cheaper. So the journal may become a quarter larger than the region; beyond a bound it is not
// worth the space and the recovery time.
u64 redo_journal::worthwhile_segments() const noexcept {
    const u64 region = base_bytes_.load();
    return std::min(region + region / 4, shape_.most_bytes) / shape_.segment_bytes;
}

u64 redo_journal::most_segments() const noexcept {
    return std::max(worthwhile_segments(), shape_.segments);
}

// The remaining segments must last until these are applied, on a disk that does both at once.
u64 redo_journal::due_segments() const noexcept { return most_segments() * 3 / 5; }

// ---------------------------------------------------------------------------- the boundary's side

bool redo_journal::is_ready() const {
    const std::lock_guard lock(mutex_);
    return begun_ - written_ < most_under_way;
}

bool redo_journal::wait_ready() {
    std::unique_lock lock(mutex_);
    bool ready = false;
    settled_.wait(lock, [&] { return (ready = begun_ - written_ < most_under_way) || refusal_; });
    return ready;
}

void redo_journal::wait_idle(const std::function<bool()>& enough) {
    std::unique_lock lock(mutex_);
    settled_.wait(lock, [&] { return begun_ == written_ || refusal_ || enough(); });
}

capture& redo_journal::begin() {
    std::unique_lock lock(mutex_);
    HF_CHECK(begun_ == submitted_, "a capture was begun before the last one was submitted");
    settled_.wait(lock, [this] { return begun_ - written_ < most_under_way; });
    return captures_[begun_++ % most_under_way];
}

void redo_journal::submit() {
    {
        const std::lock_guard lock(mutex_);
        HF_ASSERT(begun_ == submitted_ + 1, "a capture is submitted once, after it was begun");
        submitted_ = begun_;
    }
    to_write_.notify_all();
}

bool redo_journal::submit_to_write() {
    bool mine = false;
    {
        const std::lock_guard lock(mutex_);
        HF_ASSERT(begun_ == submitted_ + 1, "a capture is submitted once, after it was begun");
        mine = written_ == submitted_ && !is_writing_ && !apply_everything_;
        submitted_ = begun_;
        if (mine) is_writing_ = true;
    }
    if (!mine) to_write_.notify_all();
    return mine;
}

void redo_journal::write() noexcept(!crashes_throw) {
    capture& c = captures_[written_ % most_under_way];
    const u64 start = now_ns();
    if (has_a_place(c) && try_commit(c)) return became_durable(c, start);
    const std::lock_guard lock(mutex_);
    is_writing_ = false;
    to_write_.notify_all();
}

result<void> redo_journal::apply_all() {
    std::unique_lock lock(mutex_);
    // The writing thread is idle now, and stays so while the flag is set.
    settled_.wait(lock, [this] { return written_ == submitted_ || refusal_; });
    if (refusal_) return tl::unexpected(*refusal_);
    apply_everything_ = true;
    changed_.notify_all();
    settled_.wait(lock, [this] { return !apply_everything_; });
    if (apply_refusal_) return tl::unexpected(*apply_refusal_);
    return {};
}

void redo_journal::refuse(std::unique_lock<std::mutex>& lock, const error& why) {
    refusal_ = why;
    refusing_ = true;
    settled_.notify_all();
    tell(std::nullopt);
    to_write_.wait_for(lock, retry_after, [this] { return stopping_; });
}

void redo_journal::tell(std::optional<u64> epoch) {
    const std::lock_guard guard(listener_mutex_);
    if (listener_) listener_(epoch);
}

void redo_journal::accept() {
    const std::lock_guard lock(mutex_);
    refusal_.reset();
    refusing_ = false;
}

std::optional<error> redo_journal::refusal() const {
    const std::lock_guard lock(mutex_);
    return refusal_;
}

// ----------------------------------------------------------------------------- the writing thread

void redo_journal::write_loop() {
    name_this_thread("hf-journal");
    for (;;) {
        std::unique_lock lock(mutex_);
        to_write_.wait(lock, [this] {
            return !is_writing_ && ((written_ != submitted_ && !apply_everything_) || stopping_);
        });
        if (written_ == submitted_) return;
        is_writing_ = true;
        lock.unlock();
        capture& c = captures_[written_ % most_under_way];
        const u64 start = now_ns();
        if (!commit(c)) return;
        became_durable(c, start);
    }
}

void redo_journal::became_durable(capture& c, u64 start) {
    last_commit_ns_ = now_ns() - start;
    if (is_refusing()) accept();
    tell(c.epoch());
    c.clear();
    const std::lock_guard lock(mutex_);
    ++written_;
    is_writing_ = false;
    HF_ASSERT(written_ <= submitted_ && begun_ - written_ <= most_under_way,
              "more was written than was submitted");
    settled_.notify_all();
    if (written_ != submitted_ || stopping_) to_write_.notify_all();
    if (stopping_ || should_apply()) changed_.notify_all();
}

/// Makes the applying thread free segments, except for the newest one unless `newest_too`. False:
/// it could not.
bool redo_journal::make_space(bool newest_too) {
    const u64 before = core_->used();
    if (before <= (newest_too ? 0 : 1)) return false;
    std::unique_lock lock(mutex_);
    wants_space_ = true;
    apply_newest_too_ = newest_too;
    changed_.notify_all();
    to_write_.wait(lock, [this] { return !wants_space_; });
    return core_->used() < before;
}

/// Whether there is space without growing the journal beyond its maximum.
bool redo_journal::has_a_place(const capture& c) {
    return !core_->needs_space(c.as_record()) || core_->segments() < most_segments();
}

result<void> redo_journal::try_commit(const capture& c) {
    auto done = core_->commit(c.as_record());
    if (!done && done.error().code != errc::no_space) fatal(done.error().to_string().c_str());
    return done;
}

/// False: no space, and the region is being closed.
bool redo_journal::commit(capture& c) {
    for (;;) {
        if (!has_a_place(c) && make_space(false)) continue;
        const auto done = try_commit(c);
        if (done) return true;
        if (make_space(true)) continue;
        std::unique_lock lock(mutex_);
        if (stopping_) {
            gave_up_ = true;
            changed_.notify_all();
            return false;
        }
        refuse(lock, done.error());
    }
}

// ---------------------------------------------------------------------------- the applying thread

bool redo_journal::should_apply() const {
    return apply_everything_ || wants_space_ || was_asked_ || core_->used() > due_segments();
}

void redo_journal::apply_loop() {
    name_this_thread("hf-apply");
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return stopping_ || should_apply(); });
        if (stopping_ && !wants_space_) {
            if (written_ == submitted_ || gave_up_) return;
            changed_.wait(lock,
                          [this] { return written_ == submitted_ || gave_up_ || wants_space_; });
            continue;
        }
        apply_what_is_due(lock);
    }
}

/// Shuts the gate. False: a copy is in progress, and this call has waited a moment for its end.
/// Does not wait long, because a writer without disk space must learn that at once; when everything
/// is to be applied, no thread writes, and it waits.
bool redo_journal::shut_gate(std::unique_lock<std::mutex>& lock) {
    const bool waits = apply_everything_;
    lock.unlock();
    result<bool> shut = true;
    if (!waits) {
        shut = gate_.try_shut();
    } else if (auto ok = gate_.shut(); !ok) {
        shut = tl::unexpected(ok.error());
    }
    if (!shut) fatal(shut.error().to_string().c_str());
    lock.lock();
    if (*shut) return true;
    if (std::exchange(apply_newest_too_, false)) {
        wants_space_ = false;
        to_write_.notify_all();
    }
    changed_.wait_for(lock, look_again_after, [this] { return apply_newest_too_; });
    return false;
}

void redo_journal::apply_what_is_due(std::unique_lock<std::mutex>& lock) {
    if (!shut_gate(lock)) return;
    const bool all = apply_everything_;
    const bool asked = std::exchange(was_asked_, false);
    const bool for_space = std::exchange(apply_newest_too_, false);
    lock.unlock();
    result<u64> applied = 0;
    do {
        applied = core_->apply_some(all_of_them, all || asked || for_space);
    } while (all && applied && *applied != 0);
    gate_.release();
    if (!applied && applied.error().code != errc::no_space) {
        fatal(applied.error().to_string().c_str());
    }
    if (applied && applied_listener_) applied_listener_(core_->applied_epoch());
    lock.lock();
    // If the base has no space, nothing was freed, and the same may be retried.
    if (all) {
        apply_refusal_ = applied ? std::nullopt : std::optional(applied.error());
        apply_everything_ = false;
    }
    wants_space_ = false;
    settled_.notify_all();
    to_write_.notify_all();
    if (stopping_ || !should_apply()) return;
    // Full segments of a record that is not durable yet cannot be applied: wait for its sync.
    if (!applied) {
        changed_.wait_for(lock, retry_after, [this] { return stopping_ || wants_space_; });
    } else if (*applied == 0) {
        changed_.wait_for(lock, std::chrono::milliseconds(1));
    }
}

}  // namespace hf::journal
