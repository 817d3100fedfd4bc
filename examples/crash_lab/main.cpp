// How to explore a structure of one's own: explores the queue for so many seconds (1), prints what
// was seen, and exits with 1 if recovery went wrong. docs/crashlab.md explains what goes on.
#include "base/clock.hpp"
#include "crashlab/laboratory.hpp"
#include "queue_target.hpp"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
    using namespace hf::lab;
    const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
    const hf::u64 start = hf::now_ns();
    const auto is_over = [&] { return static_cast<double>(hf::now_ns() - start) * 1e-9 > seconds; };
    const auto print = [](const char* what, hf::u64 n) {
        std::printf("%12llu %s\n", static_cast<unsigned long long>(n), what);
    };

    laboratory lab;
    counts counted;
    std::optional<finding> found;
    hf::u64 seed = 0;
    do {
        ++seed;
        // A workload runs and is recorded; then everything that a crash at any moment of it could
        // leave behind is recovered and judged.
        const auto victim = lab.record(example::queue_case(), seed);
        found = lab.explore(*victim, limits{}, counted, seed, persistence::pcso, is_over);
    } while (!found && !is_over());

    print("workloads, each from a seed of its own", counted.traces);
    print("crash points", counted.crash_points);
    print("recoveries and questions, each on an image", counted.states);
    print("different images", counted.images.size());
    print("crashes during recovery, explored in the same way", counted.nested_traces);
    if (!found) return 0;
    std::printf("with seed %llu: %s\n", static_cast<unsigned long long>(seed), found->what.c_str());
    // The same crash once more, alone: the place for a debugger.
    const auto victim = lab.record(example::queue_case(), seed);
    const auto again = lab.replay(*victim, *found, persistence::pcso);
    std::printf("and replayed: %s\n", again ? again->c_str() : "nothing is wrong");
    return 1;
}
