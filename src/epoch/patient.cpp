// The epoch manager with a time-out at the gate: the gate is closed by attempts, led by the clock's
// thread or by an explicit caller.
#include "base/clock.hpp"
#include "epoch/epoch_manager.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <thread>

namespace hf {

using outcome = close_attempt::outcome;

close_attempt epoch_manager::try_close_gate() {
    if (attempts_.wait().count() > 0) return {outcome::owed};
    const u64 start = now_ns();
    const close_attempt tried = gate_.try_close(attempts_.patience());
    attempts_.ended(tried, start);
    if (tried.how == outcome::closed) closing_since_ns_ = start;
    if (tried.how == outcome::in_the_way) note_pause(now_ns() - start);
    return tried;
}

close_attempt epoch_manager::try_end_epoch() {
    HF_CHECK(is_patient(), "an attempt to end an epoch without a patience");
    if (!boundary_->is_ready()) return {outcome::taken};
    const close_attempt tried = try_close_gate();
    if (tried.how == outcome::closed && lead_boundary(false)) boundary_->write_submitted();
    return tried;
}

result<void> epoch_manager::end_epoch_by_attempts() {
    const u64 ending = current_epoch();
    const u64 deadline = tries_until();
    while (current_epoch() == ending) {
        if (auto ok = accepts_writes(); !ok) return ok;
        if (!boundary_->wait_ready() || try_end_epoch().how == outcome::closed) continue;
        if (now_ns() >= deadline) return failure(in_the_way("end the epoch"));
        std::this_thread::sleep_for(attempts_.wait());
    }
    return {};
}

result<void> epoch_manager::stop_world(const std::function<void(lane&)>& work, u64 deadline_ns) {
    while (!close_gate()) {
        if (is_patient() && now_ns() >= deadline_ns)
            return failure(in_the_way("stop all sections"));
    }
    work_in_closed_gate(work);
    return {};
}

error epoch_manager::in_the_way(const char* what) const {
    const gate_statistics n = attempts_.numbers();
    char place[96];
    std::snprintf(place, sizeof place, "a section that began at 0x%" PRIx64 " (lane %u)",
                  n.last.where, n.last.lane);
    return {errc::busy, what, region_.path().string(),
            std::string(place) + " did not end within " +
                std::to_string(options_.patience.tries.count() / 1'000'000) + " ms; " +
                std::to_string(n.failures) + " of " + std::to_string(n.attempts) +
                " attempts failed",
            "let the program's sections end first"};
}

u64 epoch_manager::tries_until() const noexcept {
    return now_ns() + static_cast<u64>(options_.patience.tries.count());
}

u64 epoch_manager::hold_until() const noexcept {
    if (!is_patient()) return ~u64{0};
    return now_ns() + static_cast<u64>(options_.patience.limit.count());
}

void epoch_manager::ask_clock_for(u64 epoch) {
    u64 asked = asked_for_.load();
    while (asked < epoch && !asked_for_.compare_exchange_weak(asked, epoch)) {
    }
    clock_.wake();
}

/// Returns how long the clock is to sleep before it looks again.
std::chrono::nanoseconds epoch_manager::end_due_epoch_patiently() {
    if (is_asked_for()) boundary_->let_gather([] { return false; }, since_boundary());
    if (try_end_epoch().how == outcome::closed) return {};
    return std::max<std::chrono::nanoseconds>(attempts_.wait(), attempts::owed_pause);
}

// A copy waits for the next tick where an attempt fails.
void epoch_manager::keep_still_patiently() {
    if (try_end_epoch().how != outcome::closed) return;
    if (try_close_gate().how != outcome::closed) return;
    work_in_closed_gate([this](lane&) { region_.copies().keep_still(); });
}

}  // namespace hf
