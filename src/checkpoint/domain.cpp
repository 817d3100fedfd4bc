#include "checkpoint/domain.hpp"
#include "checkpoint/superblock_areas.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/thread_name.hpp"
#include "persist/persist_point.hpp"
#include "persist/trace.hpp"
#include "sync/spin_lock.hpp"

namespace hf {

namespace {

constexpr std::size_t lines_per_chunk = 2048;
constexpr auto grace_for_workers = std::chrono::microseconds(300);
// Group commit without a disk to wait for: who comes within this time after a boundary shares the
// next one.
constexpr u64 shortest_gap_ns = 100'000;
// How often the clock looks at the journal.
constexpr u64 nap_for_disk_ns = 1'000'000;

}  // namespace

// ------------------------------------------------------------------------------- opening, closing

result<std::unique_ptr<domain>> domain::open(region& r, const domain_options& options,
                                             journalled_file* journal) {
    HF_CHECK(journal != nullptr || r.med().kind() != medium_kind::file || r.read_only(),
             "a region on the medium file comes with its journal");
    const bool clocked = options.epoch.count() != 0;
    if (clocked && (options.epoch < shortest_epoch || options.epoch > longest_epoch)) {
        return failure(
            {errc::usage, "start the epoch clock", r.path().string(),
             "an epoch of " + std::to_string(options.epoch.count()) + " us was asked for",
             "choose 1 ms to 10 s"});
    }
    std::unique_ptr<domain> d(new domain(r, options, journal));
    d->make_lane(0);
    if (!options.durable) {
        d->current_ = 1;
        return d;
    }
    auto record = layout::epoch_record_load(r.header().epoch);
    if (!record) {
        error e = record.error();
        e.where = r.path().string() + (e.where.empty() ? "" : " " + e.where);
        return failure(std::move(e));
    }
    const layout::superblock& super = r.super();
    const checkpoint_state saved = checkpoint_state_of(super);
    if (!is_possible(saved)) {
        return failure({errc::corrupt, "open the region", r.path().string(),
                        "its superblock holds an impossible set of failed epochs",
                        "restore the file from a backup"});
    }
    for (u32 i = 0; i < saved.failed_count; ++i) {
        d->failed_.add_range(saved.failed[i].first, saved.failed[i].last);
    }
    const u64 newest = std::max<u64>(*record, epoch_state_of(super).first_epoch_of_session);
    // On the medium `file` a crash takes back whole epochs, the running one and those on their way
    // to the disk, and leaves nothing of them. Their numbers are used up all the same: tickets are
    // out.
    const bool atomic = super.medium == medium_kind::file;
    d->crashed_ = !r.was_clean() && !atomic;
    if (!r.was_clean() && atomic) {
        d->current_ = newest + journal::redo_journal::most_under_way + 1;
    } else if (d->crashed_) {
        d->crashed_epoch_ = newest;
        d->failed_.add(newest);
        d->current_ = newest + 1;
    } else {
        d->current_ = newest;
    }
    d->commits_.start(d->current_ - 1);
    d->horizon_ = d->failed_.horizon();
    return d;
}

domain::~domain() {
    {
        const std::lock_guard guard(clock_mutex_);
        stopping_ = true;
    }
    clock_wake_.notify_all();
    if (clock_.joinable()) clock_.join();
    if (redo() != nullptr) redo()->set_listener({});
    forget(id_);
}

result<void> domain::recover_log() {
    if (!crashed_) return {};
    const unsigned threads = options_.recovery_threads != 0
                                 ? options_.recovery_threads
                                 : std::max(1U, std::thread::hardware_concurrency());
    auto applied = apply_log(region_, crashed_epoch_, threads);
    if (!applied) return tl::unexpected(applied.error());
    recovered_entries_ = applied->entries;
    return {};
}

bool domain::must_sweep_first() const noexcept {
    return 2 * failed_.ranges().size() >= max_failed_ranges;
}

result<void> domain::start() {
    HF_CHECK(!started_, "domain started twice");
    if (failed_.ranges().size() > max_failed_ranges) {
        return failure({errc::corrupt, "open the map", region_.path().string(),
                        "it has crashed in more epochs than can be remembered, without ever being "
                        "up for long enough to undo them",
                        "open it with nothing else running until the first opening has succeeded"});
    }
    if (options_.durable && !region_.read_only()) {
        const u64 first = current_;
        auto written = region_.update_super([&](layout::superblock& s) {
            const bool is_new = s.generation == 0;
            s.generation += 1;
            s.clean = 0;
            change_epoch_state(s, [&](epoch_state& e) { e.first_epoch_of_session = first; });
            change_checkpoint_state(s, [&](checkpoint_state& c) {
                if (is_new) c.last_pass_epoch = first;  // nothing has an older stamp
                c.failed_count = static_cast<u32>(failed_.ranges().size());
                for (u32 i = 0; i < c.failed_count; ++i) {
                    c.failed[i] = {failed_.ranges()[i].first, failed_.ranges()[i].last};
                }
            });
        });
        if (!written) return written;
        HF_PERSIST_POINT("checkpoint O1: failed set durable before the epoch record");
        layout::epoch_record_store(region_.header().epoch, first);
        region_.med().persist(&region_.header().epoch, sizeof(layout::epoch_record));
        HF_PERSIST_POINT("checkpoint O2: epoch record durable before the first operation");
    }
    started_ = true;
    last_boundary_ns_ = now_ns();
    return journal_ != nullptr && options_.durable ? start_journal() : result<void>{};
}

// From the first record on the base says that it needs its journal: so that goes there at once.
result<void> domain::start_journal() {
    if (auto ok = journal_->start_journal(region_.super(), durable_epoch()); !ok) return ok;
    redo()->set_listener([this](std::optional<u64> epoch) {
        if (!epoch) return commits_.call_all();
        announce(*epoch);
        commits_.call(*epoch);
    });
    end_epoch();
    return redo()->apply_all();
}

void domain::start_clock() {
    if (options_.epoch.count() != 0 && !region_.read_only()) {
        clock_ = std::thread([this] {
            name_this_thread("hf-clock");
            run_clock();
        });
    }
}

result<void> domain::close() {
    {
        const std::lock_guard guard(clock_mutex_);
        stopping_ = true;
    }
    clock_wake_.notify_all();
    if (clock_.joinable()) clock_.join();
    if (!options_.durable || region_.read_only()) {
        end_epoch();
        return {};
    }
    if (auto ok = end_epoch_for_sure(); !ok) return ok;
    auto written = region_.update_super([&](layout::superblock& s) {
        s.clean = 1;
        change_epoch_state(s, [this](epoch_state& e) { e = {current_, current_ - 1}; });
    });
    if (!written || redo() == nullptr) return written;
    if (auto ok = end_epoch_for_sure(); !ok) return ok;
    return journal_->retire_journal();
}

/// An epoch that the medium refuses to end is not captured, and the journal must outlive it.
result<void> domain::end_epoch_for_sure() {
    const u64 ending = current_epoch();
    while (current_epoch() == ending) {
        if (auto ok = accepts_writes(); !ok) return ok;
        end_epoch();
    }
    return {};
}

result<void> domain::clear_failed() {
    const u64 now = current_;
    result<void> written;
    const auto update = [&] {
        written = region_.update_super([&](layout::superblock& s) {
            change_checkpoint_state(s, [now](checkpoint_state& c) {
                c.failed_count = 0;
                c.last_pass_epoch = now;
            });
        });
    };
    if (redo() == nullptr) {
        update();
    } else {  // a boundary must not copy a superblock that is being changed
        with_world_stopped([&](lane&) { update(); });
    }
    if (!written) return written;
    // Readers that still hold the old horizon look into the old set, so it changes with the world
    // stopped.
    with_world_stopped([this](lane&) {
        failed_.clear();
        horizon_ = 0;
    });
    return {};
}

bool domain::restamp_due() const noexcept {
    constexpr unsigned shift = 33;  // an eighth of the range of compact epochs
    return options_.durable && (current_epoch() >> shift) !=
                                   (checkpoint_state_of(region_.super()).last_pass_epoch >> shift);
}

// --------------------------------------------------------------------------------------- the gate

void domain::wait_at_gate() {
    u32 seen = state_.load(std::memory_order_acquire);
    if (seen == state_due && close_gate()) {
        // Another epoch may have been ended since this one was found due: then it goes on, rather
        // than wait for the disk behind a closed gate.
        if (may_end_epoch()) {
            lead_boundary();
        } else {
            open_gate();
        }
        return;
    }
    const unsigned spins = spins_at_gate();
    for (unsigned tries = 0;; ++tries) {
        seen = state_.load(std::memory_order_acquire);
        if (seen != state_closed) return;
        help_write_back();
        if (tries < spins) {
            cpu_relax();
        } else {
            state_.wait(state_closed, std::memory_order_acquire);
        }
    }
}

// Where threads outnumber processors, who spins keeps the leader from its work.
unsigned domain::spins_at_gate() const noexcept {
    static const unsigned processors = std::thread::hardware_concurrency();
    return lanes_used_.load(std::memory_order_relaxed) > 2 * processors + 2 ? 16 : 4096;
}

bool domain::close_gate() {
    u32 seen = state_.load(std::memory_order_relaxed);
    do {
        if (seen == state_closed) return false;
    } while (!state_.compare_exchange_weak(seen, state_closed, std::memory_order_acq_rel));
    heavy_fence();
    const u32 used = lanes_used_.load(std::memory_order_acquire);
    for (u32 i = 0; i < used; ++i) {
        backoff pause;
        while (lanes_[i] && lanes_[i]->inside.load(std::memory_order_acquire) != 0) pause.wait();
    }
    return true;
}

void domain::open_gate() {
    state_.store(state_open, std::memory_order_release);
    state_.notify_all();
}

void domain::with_world_stopped(const std::function<void(lane&)>& work) {
    while (!close_gate()) wait_at_gate();
    lane& system = *lanes_[0];
    system.epoch = current_;
    work(system);
    open_gate();
}

// ----------------------------------------------------------------------------------- the boundary

void domain::lead_boundary() {
    const u64 start = now_ns();
    const u64 ending = current_.load(std::memory_order_relaxed);
    const bool captures = options_.durable && redo() != nullptr;
    if (captures) {
        capture(ending);
    } else if (options_.durable) {
        make_durable(ending);
    }
    const u32 used = lanes_used_.load(std::memory_order_acquire);
    for (u32 i = 0; i < used; ++i) {
        if (lanes_[i]) lanes_[i]->reset_lists();
    }
    current_.store(ending + 1, std::memory_order_release);
    if (!captures) announce(ending);
    const u64 end = now_ns();
    last_boundary_ns_.store(end, std::memory_order_relaxed);
    // Before the gate opens: the next leader begins another capture.
    if (captures) redo()->submit();
    open_gate();
    if (!captures) commits_.call(ending);
    last_pause_.store(end - start, std::memory_order_relaxed);
    const std::lock_guard guard(pause_mutex_);
    pauses_.add(end - start);
}

void domain::make_durable(u64 ending) {
#if !defined(HF_MUTATION_boundary_flush)  // a seeded bug, for the tests of the tests
    write_back_all();
#endif
    HF_PERSIST_POINT("checkpoint E1: every dirty line durable before the epoch is counted");
    layout::epoch_record_store(region_.header().epoch, ending + 1);
    region_.med().persist(&region_.header().epoch, sizeof(layout::epoch_record));
    HF_PERSIST_POINT("checkpoint E2: epoch counted before it is announced");
}

// The lists of the lanes join the set, then what is in the set is copied, by all threads at hand.
void domain::capture(u64 ending) {
    layout::epoch_record_store(region_.header().epoch, ending + 1);
    journal_->dirty()->note(&region_.header().epoch, sizeof(layout::epoch_record));
    gather_chunks();
    for (const chunk& c : chunks_) journal_->dirty()->collect({c.lines, c.count});
    page_tracker* const pages = tracker();
    if (pages != nullptr) {
        const u64 applied = redo()->numbers().applied_epoch();
        journal_->dirty()->collect(pages->collect(region_.size(), applied));
    }
    journal::capture& copy = redo()->begin();
    copy.begin(ending, *journal_->dirty());
    if (pages != nullptr) pages->captured(copy.as_record().lines, ending);
    journal_->copies()->begin_if_needed(region_.size(), ending);
    chunks_.clear();
    for (std::size_t at = 0; at < copy.size(); at += lines_per_chunk) {
        chunks_.push_back(
            {copy.as_record().lines.data() + at, std::min(lines_per_chunk, copy.size() - at)});
    }
    capturing_ = &copy;
    work_on_chunks();
    capturing_ = nullptr;
    give_memory_back();
}

void domain::give_memory_back() {
    private_pages& copies = *journal_->copies();
    copies.drop();
    if (copies.wants_room()) redo()->ask_to_apply();
}

// A little beyond the budget writers are slowed, so that readers and they get on together; far
// beyond, and with an epoch that is far too large, they stop.
void domain::wait_for_memory() const {
    constexpr auto moment = std::chrono::milliseconds(1);
    const private_pages& copies = *journal_->copies();
    if (options_.epoch.count() == 0) return;
    do {
        std::this_thread::sleep_for(moment);
    } while ((is_overfull() || copies.is_far_over_budget()) && redo() != nullptr &&
             !redo()->is_refusing());
}

void domain::announce(u64 epoch) {
    commits_.announce(epoch);
    trace::announced(epoch);
}

void domain::gather_chunks() {
    chunks_.clear();
    const u32 used = lanes_used_.load(std::memory_order_acquire);
    for (u32 i = 0; i < used; ++i) {
        lane* l = lanes_[i].get();
        if (l == nullptr || !l->track) continue;
        for (const std::span<const u64> lines : {l->once(), std::span<const u64>(l->sticky())}) {
            for (std::size_t at = 0; at < lines.size(); at += lines_per_chunk) {
                chunks_.push_back(
                    {lines.data() + at, std::min(lines_per_chunk, lines.size() - at)});
            }
        }
    }
}

void domain::work_on_chunks() {
    HF_CHECK(chunks_.size() < (u64{1} << 20), "too many dirty lines in one epoch");
    ++phase_;
    work_done_.store(0, std::memory_order_relaxed);
    work_.store((phase_ << 40) | (static_cast<u64>(chunks_.size()) << 20),
                std::memory_order_release);
    help_write_back();
    backoff pause;
    while (work_done_.load(std::memory_order_acquire) != chunks_.size()) pause.wait();
}

void domain::write_back_all() {
    gather_chunks();
    work_on_chunks();
}

void domain::write_back(const u64* lines, std::size_t count) {
    if (capturing_ != nullptr) {
        const auto first = static_cast<std::size_t>(lines - capturing_->as_record().lines.data());
        capturing_->copy(region_.base(), first, count);
        if (journal_->copies()->is_tracking()) {
            journal_->copies()->captured({lines, count}, capturing_->epoch());
        }
        return;
    }
    region_.med().flush_lines(region_.base(), lines, count);
    region_.med().fence();
}

void domain::help_write_back() {
    constexpr u64 mask = (u64{1} << 20) - 1;
    u64 seen = work_.load(std::memory_order_acquire);
    while ((seen & mask) < ((seen >> 20) & mask)) {
        if (!work_.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) continue;
        const chunk& c = chunks_[seen & mask];
        write_back(c.lines, c.count);
        work_done_.fetch_add(1, std::memory_order_acq_rel);
        seen = work_.load(std::memory_order_acquire);
    }
}

// Outside of the gate: nobody else is kept waiting.
bool domain::wait_for_journal() { return redo() == nullptr || redo()->wait_ready(); }

result<void> domain::accepts_writes() const {
    if (redo() == nullptr || !redo()->is_refusing()) [[likely]]
        return {};
    const auto why = redo()->refusal();
    if (!why) return {};
    return failure({errc::no_space, "make epochs durable (" + why->what + ")", why->where, why->why,
                    "free space on its file system: it goes on by itself then"});
}

/// Whether the epoch should end before its time: it has many dirty lines, or memory is to be given
/// back, which happens at boundaries only.
bool domain::under_pressure(std::chrono::microseconds elapsed) const {
    if (journal_ == nullptr) return false;
    return journal_->dirty()->pressure() || (tracker() != nullptr && tracker()->pressure()) ||
           (elapsed >= shortest_epoch && journal_->copies()->is_over_budget());
}

std::chrono::microseconds domain::longest_nap() const {
    return journal_ != nullptr ? std::chrono::milliseconds(2) : longest_epoch;
}

/// Whether an epoch could be ended now without waiting for the disk.
bool domain::may_end_epoch() const { return redo() == nullptr || redo()->is_ready(); }

void domain::end_epoch() { end_epoch(current_epoch()); }

void domain::end_epoch(u64 ending) {
    while (current_.load(std::memory_order_acquire) == ending) {
        if (!wait_for_journal()) return;
        if (close_gate()) {
            // Another leader may have been quicker: then this would end an epoch nobody asked to
            // end.
            if (current_.load(std::memory_order_relaxed) == ending) {
                lead_boundary();
            } else {
                open_gate();
            }
        } else {
            wait_at_gate();
        }
    }
}

result<void> domain::wait_durable(u64 t) {
    while (durable_epoch() < t) {
        const u32 calls = commits_.calls(t);  // before anything that is called for (G3)
        if (auto ok = accepts_writes(); !ok) return ok;
        if (current_epoch() <= t && commits_.promise(t)) {
            end_as_promised(t);
        } else if (durable_epoch() < t) {
            commits_.sleep(t, calls);
        }
    }
    return {};
}

/// Not before the disk is free, so that others who wait gather meanwhile. With writers who do not,
/// and a clock, it may never be: but then the clock ends the epoch.
void domain::end_as_promised(u64 t) {
    if (redo() != nullptr) {
        redo()->wait_idle([&] { return current_epoch() > t; });
    } else {
        const u64 since = now_ns() - last_boundary_ns_.load(std::memory_order_relaxed);
        if (since < shortest_gap_ns) {
            std::this_thread::sleep_for(std::chrono::nanoseconds(shortest_gap_ns - since));
        }
    }
    for (u64 e = current_epoch(); e <= t && accepts_writes(); e = current_epoch()) end_epoch(e);
    if (current_epoch() <= t) commits_.withdraw(t);
}

bool domain::anything_written() const noexcept {
    if (journal_ != nullptr && (!journal_->dirty()->empty() || journal_->copies()->wants_room())) {
        return true;  // memory is given back at boundaries only
    }
    const u32 used = lanes_used_.load(std::memory_order_acquire);
    for (u32 i = 0; i < used; ++i) {
        if (lanes_[i] && lanes_[i]->wrote.load(std::memory_order_relaxed)) return true;
    }
    return false;
}

// Where each boundary captures what is not applied yet anew, the base would never have the newest
// of it while boundaries go on: each would hold all of it, and no memory could be given back. So
// once that is much they wait for the base.
bool domain::must_apply_first() const {
    const page_tracker* const pages = tracker();
    if (pages == nullptr || pages->how() == page_tracker::way::written) return false;
    if ((!journal_->copies()->is_over_budget() && !pages->repeats_itself()) ||
        redo()->numbers().applied_epoch() + 1 >= current_epoch()) {
        return false;
    }
    redo()->ask_to_apply();
    return true;
}

void domain::wait_for_base() const {
    while (must_apply_first() && !redo()->is_refusing()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

// Nobody tells how much an epoch holds where pages are tracked. A look takes the longer the larger
// the region is: a twentieth of the clock's time at most.
void domain::look_at_pages() {
    constexpr u64 shortest_pause_ns = 5'000'000;
    const u64 start = now_ns();
    if (tracker() == nullptr || start < next_look_ns_) return;
    tracker()->look(region_.size());
    const u64 end = now_ns();
    next_look_ns_ = end + std::max(shortest_pause_ns, 20 * (end - start));
}

void domain::run_clock() {
    std::unique_lock lock(clock_mutex_);
    while (!stopping_) {
        look_at_pages();
        const u64 since = now_ns() - last_boundary_ns_.load(std::memory_order_relaxed);
        const auto elapsed =
            std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::nanoseconds(since));
        if (elapsed < options_.epoch && !under_pressure(elapsed)) {
            clock_wake_.wait_for(lock, std::min(options_.epoch - elapsed, longest_nap()));
            continue;
        }
        if (!may_end_epoch() || must_apply_first()) {  // the disk is behind: the epoch grows
            late_ns_.fetch_add(nap_for_disk_ns, std::memory_order_relaxed);
            clock_wake_.wait_for(lock, std::chrono::nanoseconds(nap_for_disk_ns));
            continue;
        }
        lock.unlock();
        if (anything_written()) {
            const u64 ending = current_epoch();
            u32 expected = state_open;
            state_.compare_exchange_strong(expected, state_due);
            std::this_thread::sleep_for(grace_for_workers);
            if (current_epoch() == ending) end_epoch();
        } else {
            last_boundary_ns_.store(now_ns(),
                                    std::memory_order_relaxed);  // idle: nothing to make durable
        }
        lock.lock();
    }
}

histogram domain::pauses() const {
    const std::lock_guard guard(pause_mutex_);
    return pauses_;
}

}  // namespace hf
