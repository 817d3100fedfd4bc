#include "epoch/capture.hpp"

#include "base/check.hpp"
#include "base/clock.hpp"
#include "epoch/options.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace hf {

bool capture::is_for(const region& file) noexcept { return file.dirty() != nullptr; }

u64 capture::most_under_way() noexcept { return journal::redo_journal::most_under_way; }

result<void> capture::drop_old_journal(region& file) { return file.drop_old_journal(); }

capture::~capture() {
    if (captures()) region_.redo()->set_listener({});
}

// ------------------------------------------------------------------------------------- a session

bool capture::captures() const noexcept { return region_.redo() != nullptr; }

result<void> capture::start(u64 durable, announcer tell) {
    if (auto ok = region_.start_journal(durable); !ok) return ok;
    region_.redo()->set_listener(std::move(tell));
    return {};
}

result<void> capture::settle() { return region_.redo()->apply_all(); }

result<void> capture::finish() { return region_.retire_journal(); }

// --------------------------------------------------------------------------------- an epoch's end

// What the lanes have noted joins the set, and what the tracker finds.
void capture::collect_lines() {
    gather(lanes_, chunks_);
    for (const line_chunk& c : chunks_) region_.dirty()->collect({c.lines, c.count});
    if (page_tracker* const tracker = region_.tracker()) {
        const u64 applied = region_.redo()->numbers().applied_epoch();
        region_.dirty()->collect(tracker->collect(region_.size(), applied));
    }
}

void capture::end_epoch(u64 ending) {
    HF_CHECK(captures(), "an epoch ends before its journal was started");
    HF_ASSERT(!begun_, "K1: a capture is begun before the last was submitted");
    begun_ = true;
    layout::epoch_record_store(region_.header().epoch, ending + 1);
    region_.dirty()->note(&region_.header().epoch, sizeof(layout::epoch_record));
    collect_lines();
    journal::capture& copy = region_.redo()->begin();
    copy.begin(ending, *region_.dirty());
    if (region_.tracker() != nullptr) region_.tracker()->captured(copy.as_record().lines, ending);
    region_.copies()->begin_if_needed(region_.size(), ending);
    const auto lines = copy.as_record().lines.first(copy.size());
    chunks_.clear();
    cut(lines, chunks_);
    work_.run(chunks_.size(), [&](std::size_t i) {
        const line_chunk& c = chunks_[i];
        copy.copy(region_.base(), static_cast<std::size_t>(c.lines - lines.data()), c.count);
        if (region_.copies()->is_tracking()) {
            region_.copies()->captured({c.lines, c.count}, ending);
        }
    });
    give_memory_back();
}

void capture::submit() {
    HF_ASSERT(begun_, "K1: a capture is submitted that was not begun");
    begun_ = false;
    region_.redo()->submit();
}

void capture::give_memory_back() {
    private_pages& copies = *region_.copies();
    copies.drop();
    if (copies.wants_room()) region_.redo()->ask_to_apply();
}

// ------------------------------------------------------------------------------------------- pace

bool capture::is_ready() const { return !captures() || region_.redo()->is_ready(); }

bool capture::wait_ready() { return !captures() || region_.redo()->wait_ready(); }

void capture::let_gather(const std::function<bool()>& enough, std::chrono::nanoseconds since) {
    if (!captures()) return boundary::let_gather(enough, since);
    region_.redo()->wait_idle(enough);
}

bool capture::is_refusing() const noexcept { return captures() && region_.redo()->is_refusing(); }

result<void> capture::accepts_writes() const {
    if (!is_refusing()) [[likely]]
        return {};
    const auto why = region_.redo()->refusal();
    if (!why) return {};
    return failure({errc::no_space, "make epochs durable (" + why->what + ")", why->where, why->why,
                    "free space on its file system: it goes on by itself then"});
}

// Memory is given back at boundaries only.
bool capture::has_work() const {
    return !region_.dirty()->empty() || region_.copies()->wants_room();
}

bool capture::wants_early_end(std::chrono::microseconds age) const {
    return region_.dirty()->pressure() ||
           (region_.tracker() != nullptr && region_.tracker()->pressure()) ||
           (age >= shortest_epoch && region_.copies()->is_over_budget());
}

std::optional<std::chrono::microseconds> capture::longest_nap() const {
    return std::chrono::milliseconds(2);
}

// Nobody tells how much an epoch holds where pages are tracked. A look takes the longer the larger
// the region is: a twentieth of the clock's time at most.
void capture::look() {
    constexpr u64 shortest_pause_ns = 5'000'000;
    const u64 start = now_ns();
    if (region_.tracker() == nullptr || start < next_look_ns_) return;
    region_.tracker()->look(region_.size());
    const u64 end = now_ns();
    next_look_ns_ = end + std::max(shortest_pause_ns, 20 * (end - start));
}

// Where each boundary captures what is not applied yet anew, the base would never have the newest
// of it while boundaries go on: each would hold all of it, and no memory could be given back. So
// once that is much they wait for the base.
bool capture::must_settle_first(u64 current) const {
    const page_tracker* const tracker = region_.tracker();
    if (tracker == nullptr || tracker->how() == page_tracker::way::written) return false;
    if ((!region_.copies()->is_over_budget() && !tracker->repeats_itself()) ||
        region_.redo()->numbers().applied_epoch() + 1 >= current) {
        return false;
    }
    region_.redo()->ask_to_apply();
    return true;
}

// ---------------------------------------------------------------------------------------- writers

bool capture::is_overfull() const noexcept {
    return region_.dirty()->is_overfull() ||
           (region_.tracker() != nullptr && region_.tracker()->is_overfull());
}

bool capture::writers_are_ahead() const noexcept {
    return is_overfull() || region_.copies()->is_over_budget();
}

void capture::hold_writer() const {
    constexpr auto moment = std::chrono::milliseconds(1);
    do {
        std::this_thread::sleep_for(moment);
    } while ((is_overfull() || region_.copies()->is_far_over_budget()) && captures() &&
             !is_refusing());
}

journal_statistics capture::numbers() const {
    journal_statistics s;
    if (!captures()) return s;
    const journal::redo_journal& j = *region_.redo();
    const auto& n = j.numbers();
    s.records = n.records();
    s.record_bytes = n.journal_bytes();
    s.base_bytes = n.base_bytes();
    s.syncs = n.syncs();
    s.last_commit_ns = j.last_commit_ns();
    s.bytes = n.segments() * n.segment_bytes();
    s.used_bytes = n.used() * n.segment_bytes();
    s.private_bytes = region_.copies()->bytes();
    s.given_back_bytes = region_.copies()->dropped_bytes();
    if (const auto why = j.refusal()) s.refusal = why->to_string();
    return s;
}

}  // namespace hf
