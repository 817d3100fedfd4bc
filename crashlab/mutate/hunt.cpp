// mutate/hunt.cpp: lets the lab loose on the mutant that HF_MUTANT names.
//
//   hf_hunt SECONDS SEED TARGET...
//
// Every target is explored in turn, first within small limits, so that each crash point is looked
// at, then in larger ones with further seeds, until something is found (exit status 1) or the time
// is over (0). Each line of its output says what it is at, so that who started it knows that too
// when it dies.
#include "base/clock.hpp"
#include "crashlab/laboratory.hpp"
#include "mutant.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

namespace {

int number_from_environment() {
    const char* text = std::getenv("HF_MUTANT");
    return text == nullptr ? 0 : std::atoi(text);
}

hf::lab::limits limits_of_pass(unsigned pass) {
    // Many a mutant needs the right workload, not a deep search: so the first passes are shallow.
    constexpr hf::lab::limits shallow{
        .openings = 6, .states = 24, .random_states = 8, .whole = 4, .nested = 0, .depth = 0};
    constexpr hf::lab::limits passes[] = {
        shallow,
        shallow,
        {.openings = 6,
         .states = 16,
         .random_states = 4,
         .whole = 2,
         .nested = 1,
         .depth = 1,
         .nested_points = 6},
        {.openings = 2, .states = 4, .random_states = 2, .whole = 60, .nested = 0, .depth = 0},
        shallow,
        {.openings = 16,
         .states = 100,
         .random_states = 40,
         .whole = 3,
         .nested = 1,
         .depth = 1,
         .nested_points = 12},
        {.openings = 24,
         .states = 200,
         .random_states = 80,
         .whole = 6,
         .nested = 1,
         .depth = 2,
         .nested_points = 6},
    };
    return passes[std::min<std::size_t>(pass, std::size(passes) - 1)];
}

const hf::lab::target_description* target_called(const std::string& name) {
    for (const auto& d : hf::lab::all_targets()) {
        if (d.name == name) return &d;
    }
    return nullptr;
}

}  // namespace

namespace hf {
extern const int mutant_number = number_from_environment();
}

int main(int argc, char** argv) {
    using hf::u64;
    if (argc == 2 && std::string(argv[1]) == "--list") {
        for (const auto& d : hf::lab::all_targets()) {
            std::printf("%s %s\n", std::string(d.room).c_str(), std::string(d.name).c_str());
        }
        return 0;
    }
    if (argc < 4) {
        std::fprintf(stderr, "usage: hf_hunt SECONDS SEED TARGET... | hf_hunt --list\n");
        return 2;
    }
    const auto begin = hf::now_ns();
    const auto end = begin + static_cast<u64>(std::atof(argv[1]) * 1e9);
    const u64 first_seed = std::strtoull(argv[2], nullptr, 10);
    const auto seconds = [&] { return static_cast<double>(hf::now_ns() - begin) * 1e-9; };
    hf::lab::laboratory lab;
    for (unsigned pass = 0; hf::now_ns() < end; ++pass) {
        for (int i = 3; i < argc && hf::now_ns() < end; ++i) {
            const auto* d = target_called(argv[i]);
            if (d == nullptr) {
                std::fprintf(stderr, "hf_hunt: there is no target %s\n", argv[i]);
                return 2;
            }
            std::printf("at %s seed %lu pass %u, %.2f s\n", argv[i], first_seed + pass, pass,
                        seconds());
            std::fflush(stdout);
            // No target may keep the others from their turn.
            const u64 slice = std::max<u64>((end - begin) / 40, 250'000'000);
            const u64 stop = std::min(end, hf::now_ns() + slice);
            std::string what;
            try {
                hf::lab::counts counted;
                auto t = lab.record(*d, first_seed + pass);
                const auto f =
                    lab.explore(*t, limits_of_pass(pass), counted, first_seed + pass,
                                hf::lab::persistence::pcso, [&] { return hf::now_ns() > stop; });
                if (!f) continue;
                what = f->what;
            } catch (const std::exception& e) {
                what = e.what();
            }
            std::replace(what.begin(), what.end(), '\n', ' ');
            std::printf("found %.2f s %s\n", seconds(), what.c_str());
            return 1;
        }
    }
    std::printf("nothing %.2f s\n", seconds());
    return 0;
}
