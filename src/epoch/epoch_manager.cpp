#include "epoch/epoch_manager.hpp"

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/damage.hpp"
#include "epoch/capture.hpp"
#include "epoch/epoch_area.hpp"
#include "epoch/session_begin.hpp"
#include "epoch/write_back.hpp"
#include "persist/persist_point.hpp"
#include "persist/trace.hpp"

#include <algorithm>
#include <string>
#include <thread>

namespace hf {

namespace {

constexpr auto grace_for_workers = std::chrono::microseconds(300);
// How often the clock checks the journal.
constexpr auto nap_for_disk = std::chrono::milliseconds(1);

std::unique_ptr<boundary> boundary_for(region& file, journalled_file* journal, const lanes& all,
                                       bool durable) {
    if (!durable) return std::make_unique<boundary>();
    if (journal != nullptr) return std::make_unique<capture>(file, *journal, all);
    return std::make_unique<write_back>(file, all);
}

}  // namespace

// ------------------------------------------------------------------------------- opening, closing

// Lane 0 belongs to no thread: it is for work while the world is stopped.
epoch_manager::epoch_manager(region& file, journalled_file* journal, const epoch_options& options)
    : region_(file),
      journal_(journal),
      options_(options),
      lanes_(1, max_lanes,
             [&file, track = options.durable && file.med().flushes()](u32 index) {
                 auto fresh = std::make_unique<lane>();
                 fresh->index = index;
                 fresh->track = track;
                 fresh->base = file.base();
                 fresh->med = file.med();
                 return fresh;
             }),
      gate_(lanes_),
      attempts_(options.patience),
      boundary_(boundary_for(file, journal, lanes_, options.durable)),
      bounds_writers_(boundary_->bounds_writers()) {}

result<std::unique_ptr<epoch_manager>> epoch_manager::open(const opened_region& opened,
                                                           const epoch_options& options) {
    region& file = *opened.file;
    HF_CHECK(opened.journal != nullptr || !file.med().is_atomic(),
             "a region with a journalled image comes with its journal");
    if (options.epoch != no_clock &&
        (options.epoch < shortest_epoch || options.epoch > longest_epoch)) {
        return failure(
            {errc::usage, "start the epoch clock", file.path().string(),
             "an epoch of " + std::to_string(options.epoch.count()) + " us was asked for",
             "choose 1 ms to 10 s"});
    }
    std::unique_ptr<epoch_manager> made(new epoch_manager(file, opened.journal, options));
    if (auto ok = made->read_epochs(); !ok) return tl::unexpected(ok.error());
    return made;
}

result<void> epoch_manager::read_epochs() {
    if (!options_.durable) {
        current_ = 1;
        return {};
    }
    const auto begin = begin_of_session(region_);
    if (!begin) return tl::unexpected(begin.error());
    current_ = begin->first;
    interrupted_ = begin->interrupted;
    commits_.start(current_ - 1);
    return {};
}

epoch_manager::~epoch_manager() {
    clock_.stop();
    boundary_.reset();  // it may still announce
}

result<void> epoch_manager::start(const super_change& add) {
    HF_CHECK(!started_, "a session is started twice");
    if (options_.durable && !region_.read_only()) {
        if (auto ok = write_session(current_, add); !ok) return ok;
    }
    started_ = true;
    last_boundary_ns_ = now_ns();
    auto begun = boundary_->start(durable_epoch(), [this](std::optional<u64> epoch) {
        if (!epoch) return commits_.call_all();
        announce(*epoch);
        commits_.call(*epoch);
    });
    if (!boundary_->captures()) return begun;  // nor where the journal did not start
    // From the first record on the base says that it needs its journal: so that goes there at once.
    end_epoch();
    return boundary_->settle();
}

result<void> epoch_manager::write_session(u64 first, const super_change& add) {
    auto ok = region_.update_super([&](layout::superblock& s) {
        s.generation += 1;
        s.clean = 0;
        change_epoch_area(s, [&](epoch_area& e) { e.first_epoch_of_session = first; });
        if (add) add(s);
    });
    if (!ok) return ok;
    HF_PERSIST_POINT("epoch O1: session in the superblock, durable before the epoch record");
    layout::epoch_record_store(region_.header().epoch, first);
    region_.med().persist(&region_.header().epoch, sizeof(layout::epoch_record));
    HF_PERSIST_POINT("epoch O2: epoch record durable before the first operation");
    return {};
}

void epoch_manager::start_clock() {
    if (options_.epoch == no_clock || region_.read_only()) return;
    clock_.start([this] { return tick(); });
}

result<void> epoch_manager::close() {
    clock_.stop();
    if (!options_.durable || region_.read_only()) {
        if (is_patient()) return end_epoch_by_attempts();
        end_epoch();
        return {};
    }
    auto ok = end_epoch_for_sure();
    if (!ok) return ok;
    ok = region_.update_super([&](layout::superblock& s) {
        s.clean = 1;
        change_epoch_area(s, [this](epoch_area& e) { e = {current_, current_ - 1}; });
    });
    if (!ok) return ok;
    if (!boundary_->captures()) return {};
    ok = end_epoch_for_sure();
    if (!ok) return ok;
    return boundary_->finish();
}

/// An epoch that the medium refuses to end is not captured, and the journal must outlive it.
result<void> epoch_manager::end_epoch_for_sure() {
    if (is_patient()) return end_epoch_by_attempts();
    const u64 ending = current_epoch();
    while (current_epoch() == ending) {
        if (auto ok = accepts_writes(); !ok) return ok;
        end_epoch();
    }
    return {};
}

result<void> epoch_manager::update_super(const super_change& change) {
    if (!boundary_->captures()) return region_.update_super(change);
    result<void> written;  // a boundary must not copy a superblock that is being changed
    auto stopped =
        stop_world([&](lane&) { written = region_.update_super(change); }, tries_until());
    return stopped ? written : stopped;
}

// --------------------------------------------------------------------------------------- the gate

void epoch_manager::enter_late(lane& l) noexcept {
    gate_.enter_late(l, [this] { wait_at_gate(); });
}

bool epoch_manager::close_gate() {
    if (is_patient()) {
        if (try_close_gate().how == close_attempt::outcome::closed) return true;
        std::this_thread::sleep_for(attempts_.wait());
        return false;
    }
    if (!gate_.close()) {
        wait_at_gate();
        return false;
    }
    closing_since_ns_ = now_ns();
    return true;
}

void epoch_manager::wait_at_gate() {
    if (gate_.is_due() && gate_.close()) {
        // Another epoch may have been ended since this one was found due: then it goes on, rather
        // than wait for the disk with the gate closed.
        if (boundary_->is_ready()) {
            closing_since_ns_ = now_ns();
            static_cast<void>(lead_boundary(false));
        } else {
            gate_.open();
        }
        return;
    }
    gate_.wait_while_closed([this] { boundary_->help(); });
}

void epoch_manager::with_world_stopped(const std::function<void(lane&)>& work) {
    while (!close_gate()) {
    }
    work_in_closed_gate(work);
}

void epoch_manager::work_in_closed_gate(const std::function<void(lane&)>& work) {
    lane& system = lanes_.at(0);
    system.epoch = current_;
    try {
        work(system);
    } catch (const damage&) {
        gate_.open();
        throw;
    }
    gate_.open();
}

bool epoch_manager::is_pinned(u64 offset) const noexcept {
    const u32 used = lanes_.used();
    for (u32 i = 0; i < used; ++i) {
        if (lanes_.at(i).pinned.load(std::memory_order_acquire) == offset) return true;
    }
    return false;
}

// ----------------------------------------------------------------------------------- the boundary

bool epoch_manager::lead_boundary(bool waits) noexcept(!crashes_throw) {
    HF_ASSERT(gate_.is_closed(), "B2: a boundary is led by who has closed the gate");
    const u64 start = closing_since_ns_;
    const u64 ending = current_.load(std::memory_order_relaxed);
    HF_ASSERT(commits_.durable() < ending, "N2: the running epoch is durable already");
    const bool captures = boundary_->captures();
    boundary_->end_epoch(ending);
    const u32 used = lanes_.used();
    for (u32 i = 0; i < used; ++i) lanes_.at(i).reset_lists();
    current_.store(ending + 1, std::memory_order_release);
    if (!captures) announce(ending);
    const u64 end = now_ns();
    last_boundary_ns_.store(end, std::memory_order_relaxed);
    const bool writes = boundary_->submit(waits);
    gate_.open();
    if (!captures) commits_.call(ending);
    note_pause(end - start);
    return writes;
}

void epoch_manager::note_pause(u64 ns) {
    last_pause_.store(ns, std::memory_order_relaxed);
    const std::lock_guard guard(pause_mutex_);
    pauses_.add(ns);
}

void epoch_manager::announce(u64 epoch) {
    commits_.announce(epoch);
    trace::announced(epoch);
}

void epoch_manager::end_epoch() { end_epoch(current_epoch()); }

void epoch_manager::end_epoch(u64 ending) { end_epoch(ending, false); }

void epoch_manager::end_epoch(u64 ending, bool waits) {
    while (current_.load(std::memory_order_acquire) == ending) {
        if (!boundary_->wait_ready()) return;
        if (close_gate()) {
            // Another leader may have been quicker: then this would end an epoch that need not
            // end.
            if (current_.load(std::memory_order_relaxed) == ending) {
                if (lead_boundary(waits)) boundary_->write_submitted();
            } else {
                gate_.open();
            }
        }
    }
}

// ------------------------------------------------------------------------------- those who wait

result<void> epoch_manager::wait_durable(u64 t) {
    if (made_in_.is_inherited()) {
        return failure(inherited("wait for an epoch", file().path().string()));
    }
    if (const u64 now = current_epoch(); t > now) {  // no operation was of it: a mistake
        return failure({errc::usage, "wait for an epoch", file().path().string(),
                        "epoch " + std::to_string(t) + " has not begun: " + std::to_string(now) +
                            " is running",
                        "wait for a ticket that this region has given"});
    }
    while (durable_epoch() < t) {
        const u32 calls = commits_.calls(t);  // before anything that is called for (G3)
        if (auto ok = accepts_writes(); !ok) return ok;
        if (is_patient() && options_.epoch != no_clock) {
            ask_clock_for(t);
            if (durable_epoch() < t) commits_.sleep(t, calls);
        } else if (current_epoch() <= t && commits_.promise(t)) {
            end_as_promised(t);
        } else if (durable_epoch() < t) {
            commits_.sleep(t, calls);
        }
    }
    return {};
}

/// Not before the disk is free, so that others who wait gather meanwhile. With writers who do not,
/// and a clock, it may never be: but then the clock ends the epoch.
void epoch_manager::end_as_promised(u64 t) {
    boundary_->let_gather([&] { return current_epoch() > t; }, since_boundary());
    for (u64 e = current_epoch(); e <= t && accepts_writes(); e = current_epoch())
        end_epoch(e, true);
    if (current_epoch() <= t) commits_.withdraw(t);
}

void epoch_manager::wait_for_base() const {
    while (boundary_->must_settle_first(current_epoch()) && !boundary_->is_refusing()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

// -------------------------------------------------------------------------------------- the clock

std::chrono::nanoseconds epoch_manager::since_boundary() const noexcept {
    return std::chrono::nanoseconds(now_ns() - last_boundary_ns_.load(std::memory_order_relaxed));
}

bool epoch_manager::anything_written() const {
    if (boundary_->has_work()) return true;
    const u32 used = lanes_.used();
    for (u32 i = 0; i < used; ++i) {
        if (lanes_.at(i).wrote.load(std::memory_order_relaxed)) return true;
    }
    return false;
}

std::chrono::nanoseconds epoch_manager::tick() {
    boundary_->look();
    if (keeps_still_for_copies() && region_.copies().is_asked()) keep_still();
    const auto age = std::chrono::duration_cast<std::chrono::microseconds>(since_boundary());
    if (age < options_.epoch && !boundary_->wants_early_end(age) && !is_asked_for()) {
        return std::min(options_.epoch - age, boundary_->longest_nap().value_or(longest_epoch));
    }
    // The disk has not finished yet: the epoch grows.
    if (!boundary_->is_ready() || boundary_->must_settle_first(current_epoch())) {
        late_ns_.fetch_add(std::chrono::nanoseconds(nap_for_disk).count(),
                           std::memory_order_relaxed);
        return nap_for_disk;
    }
    if (is_patient() && (is_asked_for() || anything_written())) return end_due_epoch_patiently();
    if (anything_written()) {
        end_due_epoch();
    } else {
        last_boundary_ns_.store(now_ns(), std::memory_order_relaxed);  // idle: nothing to do
    }
    return {};
}

/// Where memory is not the file's own, the journal's gate does it.
bool epoch_manager::keeps_still_for_copies() const noexcept {
    return options_.durable && !boundary_->captures();
}

// The copy includes all stores until now.
void epoch_manager::keep_still() {
    if (is_patient()) return keep_still_patiently();
    end_epoch();
    with_world_stopped([this](lane&) { region_.copies().keep_still(); });
}

// A worker that calls this leads without a switch of threads (B2).
void epoch_manager::end_due_epoch() {
    const u64 ending = current_epoch();
    gate_.ask();
    std::this_thread::sleep_for(grace_for_workers);
    if (current_epoch() == ending) end_epoch();
}

// ---------------------------------------------------------------------------------------- numbers

pause_statistics epoch_manager::pauses() const {
    const std::lock_guard guard(pause_mutex_);
    return {pauses_.count(), last_pause_ns(), pauses_.percentile(50), pauses_.percentile(99),
            pauses_.max()};
}

journal_statistics epoch_manager::journal_numbers() const {
    journal_statistics s = boundary_->numbers();
    if (boundary_->captures()) s.late_ns = late_ns_.load(std::memory_order_relaxed);
    return s;
}

}  // namespace hf
