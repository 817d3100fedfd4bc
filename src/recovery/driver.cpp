#include "recovery/driver.hpp"

#include "base/check.hpp"
#include "base/clock.hpp"

#include <utility>

namespace hf {

const char* to_string(recovery_phase phase) noexcept {
    constexpr const char* names[] = {"header",       "journal", "upgrade",   "epochs",
                                     "format",       "logs",    "allocator", "discipline",
                                     "verification", "service"};
    return names[static_cast<unsigned>(phase)];
}

void recovery_driver::add(recovery_phase phase, std::string name,
                          std::function<result<void>()> step) {
    HF_CHECK(!has_failed_, "a recovery step was added after one had failed");
    HF_CHECK(phase >= reached_, "the phases of a recovery don't go backwards");
    reached_ = phase;
    steps_.push_back({phase, std::move(name), std::move(step)});
}

result<void> recovery_driver::run() {
    HF_CHECK(!has_failed_, "a recovery goes on after a step had failed");
    const auto added = std::exchange(steps_, {});
    for (const named_step& step : added) {
        const u64 start = now_ns();
        auto done = step.run();
        times_.push_back({step.name, now_ns() - start});
        if (!done) {
            has_failed_ = true;
            error e = std::move(done.error());
            if (step.phase >= recovery_phase::epochs) {
                e.what += " (recovery step \"" + step.name + "\")";
            }
            return failure(std::move(e));
        }
    }
    return {};
}

u64 recovery_driver::total_ns() const noexcept {
    u64 sum = 0;
    for (const step_time& t : times_) sum += t.ns;
    return sum;
}

}  // namespace hf
