// The campaign's output.
#include "campaign.hpp"

#include <cstdio>

namespace hf::power_test {

namespace {

unsigned long long number(u64 n) { return n; }

}  // namespace

void campaign::report_creation() const {
    std::printf("  %-13s opens after a power cut while it was made\n", where_.name().c_str());
    (void)std::fflush(stdout);
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
    station_.keep_evidence();
}

}  // namespace hf::power_test
