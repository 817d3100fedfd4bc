#include "storm/storm.hpp"

#include "storm/crash_fixture.hpp"
#include "support/effort.hpp"

#include <gtest/gtest.h>

namespace hf::test {
namespace {

/// For maps with inlined values (true) and without.
class power_cut : public on_tmpfs, public ::testing::WithParamInterface<bool> {
   protected:
    void storms(storm_options options, unsigned sessions) {
        options.machine.small_values = GetParam();
        storm s(dir.path(), options);
        for (unsigned i = 0; i < sessions; ++i) {
            if (!s.run_session()) break;
        }
        RecordProperty("boundaries", std::to_string(s.boundaries()));
        RecordProperty("writes", std::to_string(s.writes()));
        std::printf("%llu boundaries, %llu writes\n",
                    static_cast<unsigned long long>(s.boundaries()),
                    static_cast<unsigned long long>(s.writes()));
    }
};

/// All kinds of threads at once.
storm_options crowd() {
    storm_options o;
    o.boundaries = 1500;
    return o;
}

/// So few threads that boundaries follow each other at once.
storm_options rush() {
    storm_options o;
    o.keys = 400;
    o.writers = 1;
    o.short_lives = 0;
    o.readers = 0;
    o.scanners = 0;
    o.evictions = false;
    o.boundaries = 50'000;
    return o;
}

TEST_P(power_cut, amid_a_crowd_takes_back_the_running_epoch_and_nothing_else) {
    storms(crowd(), scaled(8));
}

TEST_P(power_cut, amid_a_rush_of_boundaries_takes_back_the_running_epoch_and_nothing_else) {
    storms(rush(), scaled(4));
}

// So few keys that all threads work in the same leaf, whose logs are reused all the time.
TEST_P(power_cut, amid_a_crowd_in_one_leaf_takes_back_the_running_epoch_and_nothing_else) {
    storm_options o;
    o.keys = 32;
    o.writers = 2;
    o.short_lives = 0;
    o.readers = 2;
    o.boundaries = 8000;
    storms(o, scaled(4));
}

// Compact epochs have 36 bits, those of value logs 16, or 29 with inlined values.
TEST_P(power_cut, where_epochs_wrap_around_takes_back_the_running_epoch_and_nothing_else) {
    storm_options o = rush();
    o.machine.first_epoch = (u64{1} << 36) - 20'000;
    o.readers = 1;
    storms(o, scaled(2));
}

INSTANTIATE_TEST_SUITE_P(with, power_cut, ::testing::Bool(), name_of_kind);

}  // namespace
}  // namespace hf::test
