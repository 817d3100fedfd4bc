#include "epoch/capture.hpp"

#include "base/check.hpp"
#include "base/clock.hpp"
#include "epoch/options.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace hf {

u64 capture::most_under_way() noexcept { return journal::redo_journal::most_under_way; }

capture::~capture() {
    if (captures()) journal_.redo()->set_listener({});
}

// ------------------------------------------------------------------------------------- a session

bool capture::captures() const noexcept { return journal_.redo() != nullptr; }

result<void> capture::start(u64 durable, announcer tell) {
    if (auto ok = journal_.start_journal(region_.super(), durable); !ok) return ok;
    journal_.redo()->set_listener(std::move(tell));
    return {};
}

result<void> capture::settle() { return journal_.redo()->apply_all(); }

result<void> capture::finish() { return journal_.retire_journal(); }

// --------------------------------------------------------------------------------- an epoch's end

// The lines that the lanes have recorded join the set, and those that the tracker finds.
void capture::collect_lines() {
    gather(lanes_, chunks_);
    for (const line_chunk& c : chunks_) journal_.dirty()->collect({c.lines, c.count});
    if (page_tracker* const tracker = journal_.tracker()) {
        const u64 applied = journal_.redo()->numbers().applied_epoch();
        journal_.dirty()->collect(tracker->collect(region_.size(), applied));
    }
}

void capture::end_epoch(u64 ending) {
    HF_CHECK(captures(), "an epoch ends before its journal was started");
    HF_ASSERT(!begun_, "K1: a capture is begun before the last was submitted");
    begun_ = true;
    layout::epoch_record_store(region_.header().epoch, ending + 1);
    journal_.dirty()->note(&region_.header().epoch, sizeof(layout::epoch_record));
    collect_lines();
    journal::capture& copy = journal_.redo()->begin();
    copy.begin(ending, *journal_.dirty());
    if (journal_.tracker() != nullptr) journal_.tracker()->captured(copy.as_record().lines, ending);
    journal_.copies()->begin_if_needed(region_.size(), ending);
    const auto lines = copy.as_record().lines.first(copy.size());
    chunks_.clear();
    cut(lines, chunks_);
    work_.run(chunks_.size(), [&](std::size_t i) {
        const line_chunk& c = chunks_[i];
        copy.copy(region_.base(), static_cast<std::size_t>(c.lines - lines.data()), c.count);
        if (journal_.copies()->is_tracking()) {
            journal_.copies()->captured({c.lines, c.count}, ending);
        }
    });
    give_memory_back();
    journal_.set_dirty_limit();
}

bool capture::submit(bool waits) {
    HF_ASSERT(begun_, "K1: a capture is submitted that was not begun");
    begun_ = false;
    if (waits) return journal_.redo()->submit_to_write();
    journal_.redo()->submit();
    return false;
}

void capture::write_submitted() { journal_.redo()->write(); }

void capture::give_memory_back() {
    private_pages& copies = *journal_.copies();
    copies.drop();
    if (copies.wants_room()) journal_.redo()->ask_to_apply();
}

// ------------------------------------------------------------------------------------------- pace

bool capture::is_ready() const { return !captures() || journal_.redo()->is_ready(); }

bool capture::wait_ready() { return !captures() || journal_.redo()->wait_ready(); }

void capture::let_gather(const std::function<bool()>& enough, std::chrono::nanoseconds since) {
    if (!captures()) return boundary::let_gather(enough, since);
    journal_.redo()->wait_idle(enough);
}

bool capture::is_refusing() const noexcept { return captures() && journal_.redo()->is_refusing(); }

result<void> capture::accepts_writes() const {
    if (is_refusing()) [[unlikely]] {
        // Perhaps no longer.
        if (const auto why = journal_.redo()->refusal()) {
            return failure({errc::no_space, "make epochs durable (" + why->what + ")", why->where,
                            why->why, "free space on its file system: it goes on by itself then"});
        }
    }
    return {};
}

// Memory is given back at boundaries only.
bool capture::has_work() const {
    return !journal_.dirty()->empty() || journal_.copies()->wants_room();
}

bool capture::wants_early_end(std::chrono::microseconds age) const {
    return journal_.dirty()->pressure() ||
           (journal_.tracker() != nullptr && journal_.tracker()->pressure()) ||
           (age >= shortest_epoch && journal_.copies()->is_over_budget());
}

std::optional<std::chrono::microseconds> capture::longest_nap() const {
    return std::chrono::milliseconds(2);
}

// Where pages are tracked, the size of an epoch is not counted. Finding it takes time in proportion
// to the region: at most a twentieth of the clock's time.
void capture::look() {
    constexpr u64 shortest_pause_ns = 5'000'000;
    const u64 start = now_ns();
    if (journal_.tracker() == nullptr || start < next_look_ns_) return;
    journal_.tracker()->look(region_.size());
    const u64 end = now_ns();
    next_look_ns_ = end + std::max(shortest_pause_ns, 20 * (end - start));
}

// Where each boundary captures again what is not applied yet, the base would never have the newest
// of it while boundaries go on: each would hold all of it, and no memory could be given back. So
// once that is much they wait for the base.
bool capture::must_settle_first(u64 current) const {
    const page_tracker* const tracker = journal_.tracker();
    if (tracker == nullptr || tracker->how() == page_tracker::way::written) return false;
    if ((!journal_.copies()->is_over_budget() && !tracker->repeats_itself()) ||
        journal_.redo()->numbers().applied_epoch() + 1 >= current) {
        return false;
    }
    journal_.redo()->ask_to_apply();
    return true;
}

// ---------------------------------------------------------------------------------------- writers

bool capture::is_overfull() const noexcept {
    return journal_.dirty()->is_overfull() ||
           (journal_.tracker() != nullptr && journal_.tracker()->is_overfull());
}

bool capture::writers_are_ahead() const noexcept {
    return is_overfull() || journal_.copies()->is_over_budget();
}

void capture::hold_writer(u64 deadline_ns) const {
    constexpr auto moment = std::chrono::milliseconds(1);
    do {
        std::this_thread::sleep_for(moment);
    } while ((is_overfull() || journal_.copies()->is_far_over_budget()) && captures() &&
             !is_refusing() && now_ns() < deadline_ns);
}

journal_statistics capture::numbers() const {
    journal_statistics s;
    if (!captures()) return s;
    const journal::redo_journal& j = *journal_.redo();
    const auto& n = j.numbers();
    s.records = n.records();
    s.record_bytes = n.journal_bytes();
    s.base_bytes = n.base_bytes();
    s.syncs = n.syncs();
    s.last_commit_ns = j.last_commit_ns();
    s.bytes = n.segments() * n.segment_bytes();
    s.used_bytes = n.used() * n.segment_bytes();
    s.private_bytes = journal_.copies()->bytes();
    s.given_back_bytes = journal_.copies()->dropped_bytes();
    if (const auto why = j.refusal()) s.refusal = why->to_string();
    return s;
}

}  // namespace hf
