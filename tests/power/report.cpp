// The part of the campaign that talks.
#include <csignal>
#include <cstdio>

#include <unistd.h>

#include "campaign.hpp"
#include "tools/machine/disk_image.hpp"

namespace hf::power_test {

namespace {

volatile std::sig_atomic_t interrupts = 0;

void count_interrupt(int) { interrupts = interrupts + 1; }

unsigned long long number(u64 n) { return n; }

}  // namespace

bool interrupted() {
    static const bool ready = [] {
        struct sigaction action{};
        action.sa_handler = count_interrupt;
        (void)sigaction(SIGINT, &action, nullptr);
        (void)sigaction(SIGTERM, &action, nullptr);
        return true;
    }();
    return ready && interrupts != 0;
}

void campaign::report_cycle(const verdict& v, u64 cut_ms) const {
    std::printf("  %-13s cycle %3llu of %llu  ", where_.name().c_str(), number(out_.cycles),
                number(where_.cycles));
    if (v.checked != 0) {
        std::printf("%6llu keys compared, %llu lost; %llu writes undone, %llu beyond the promise; ",
                    number(v.checked), number(v.broken()), number(v.undone), number(v.kept));
    }
    if (cut_ms != 0) {
        std::printf("%5llu writes (%s), power cut after %llu ms", number(crowd_.answered()),
                    to_string(ack_), number(cut_ms));
    } else {
        std::printf("the end");
    }
    std::printf("\n");
    (void)std::fflush(stdout);
    if (v.broken() != 0) {
        std::printf("LOST: %llu older than promised, %llu altered, %llu never sent, %llu holes\n",
                    number(v.lost), number(v.altered), number(v.strangers), number(v.holes));
    }
}

void campaign::complain(const error& why) {
    ++out_.failures;
    std::printf("FAILED: %s: %s\n", where_.name().c_str(), why.to_string().c_str());
    if (machine_ != nullptr) {
        std::printf("  the server said: %s\n", machine_->guest().server_output().c_str());
    }
    machine_.reset();
    const auto kept = options_.kept / ("failed-" + std::to_string(options_.seed) + ".img");
    const auto image = options_.directory / (is_dax() ? "persistent_memory" : "disk");
    if (auto copied = machine::copy_disk(image, kept); copied) {
        std::printf("  the image is kept: %s\n", kept.c_str());
    }
    (void)std::fflush(stdout);
}

}  // namespace hf::power_test
