#include "crashlab/laboratory.hpp"
#include "base/clock.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
    using namespace hf::lab;
    laboratory lab;
    const char* only = argc > 1 ? argv[1] : "all";
    const hf::u64 rounds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    counts c;
    for (const auto& d : all_targets()) {
        if (std::strcmp(only, "all") != 0 && d.name != only) continue;
        for (hf::u64 seed = 1; seed <= rounds; ++seed) {
            const auto start = hf::now_ns();
            const auto before = c.states;
            auto t = lab.record(d, seed);
            const auto f = lab.explore(*t, {}, c, seed, persistence::pcso, {});
            const double s = static_cast<double>(hf::now_ns() - start) * 1e-9;
            std::printf("%-16s seed %lu: %zu events, %lu points, %lu openings, %lu states, %lu images, %lu nested, %.2f s, %.0f/s %s\n",
                        std::string(d.name).c_str(), seed, lab.recorded().trace.size(), c.crash_points, c.openings, c.states, c.images.size(), c.nested_traces, s,
                        static_cast<double>(c.states - before) / s, f ? f->what.c_str() : "");
            std::fflush(stdout);
            if (f) {
                for (const auto& st : f->stages) {
                    std::printf("  crash before event %u:", st.event);
                    for (const auto& x : st.contents) std::printf(" %lx=%u/%u", x.what, x.chosen, x.count);
                    std::printf("\n");
                }
                return 1;
            }
        }
    }
}
