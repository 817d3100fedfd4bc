#include "epoch/attempts.hpp"

#include "base/clock.hpp"

#include <algorithm>

namespace hf {

attempts::attempts(const gate_patience& rule) noexcept
    : first_ns_(static_cast<u64>(rule.first.count())),
      limit_ns_(std::max(first_ns_, static_cast<u64>(rule.limit.count()))) {
    numbers_.patience_ns = first_ns_;
}

std::chrono::nanoseconds attempts::patience() const {
    const std::lock_guard guard(mutex_);
    return std::chrono::nanoseconds(numbers_.patience_ns);
}

std::chrono::nanoseconds attempts::wait() const {
    const std::lock_guard guard(mutex_);
    const u64 now = now_ns();
    return std::chrono::nanoseconds(not_before_ns_ > now ? not_before_ns_ - now : 0);
}

void attempts::ended(const close_attempt& attempt, u64 start_ns) {
    using outcome = close_attempt::outcome;
    const u64 end = now_ns();
    const std::lock_guard guard(mutex_);
    switch (attempt.how) {
        case outcome::taken:
            return;
        case outcome::owed:
            not_before_ns_ =
                std::max<u64>(not_before_ns_, end + std::chrono::nanoseconds(owed_pause).count());
            return;
        case outcome::closed:
            return succeeded(end - start_ns);
        case outcome::in_the_way:
            return failed(attempt, end - start_ns, end);
    }
}

void attempts::succeeded(u64 stall_ns) {
    ++numbers_.attempts;
    numbers_.failures_in_a_row = 0;
    if (stall_ns < numbers_.patience_ns / 4) {
        numbers_.patience_ns = std::max(first_ns_, numbers_.patience_ns / 2);
    }
}

void attempts::failed(const close_attempt& attempt, u64 stall_ns, u64 end_ns) {
    ++numbers_.attempts;
    ++numbers_.failures;
    ++numbers_.failures_in_a_row;
    numbers_.failed_ns += stall_ns;
    numbers_.longest_failure_ns = std::max(numbers_.longest_failure_ns, stall_ns);
    numbers_.patience_ns = std::min(limit_ns_, 2 * numbers_.patience_ns);
    not_before_ns_ = std::max(not_before_ns_, end_ns + pause_factor * stall_ns);
    // The place's own row, or the row that was in the way least often.
    auto row = std::ranges::find_if(places_, [&](const place_in_the_way& p) {
        return p.times != 0 && p.where == attempt.where;
    });
    if (row == places_.end()) {
        row = std::ranges::min_element(places_, {}, &place_in_the_way::times);
        *row = {};
    }
    *row = {attempt.where, attempt.lane, row->times + 1};
    numbers_.last = *row;
}

gate_statistics attempts::numbers() const {
    const std::lock_guard guard(mutex_);
    gate_statistics all = numbers_;
    all.worst = *std::ranges::max_element(places_, {}, &place_in_the_way::times);
    return all;
}

}  // namespace hf
