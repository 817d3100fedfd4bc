// Random lock-based programs, crashed after each step, with the manager at random moments.
#include "section/graph/program_runner.hpp"
#include "support/effort.hpp"

#include <gtest/gtest.h>

namespace hf::test {
namespace {

class graph_mode_under_random_programs : public on_tmpfs,
                                         public ::testing::WithParamInterface<bool> {
   protected:
    void run(u64 seed) {
        xoshiro256ss random(seed);
        const auto steps = litmus::random_program({}, random);
        auto options = program_runner::default_options();
        options.elide_outside = GetParam();
        std::filesystem::remove(file);
        program_runner program(file, options);
        for (std::size_t i = 0; i < steps.size(); ++i) {
            program.take(steps[i]);
            if (random.below(4) == 0) static_cast<void>(program.mode().step());
            const values found = program.after_crash();
            ASSERT_TRUE(litmus::allowed_states(steps, i + 1).contains(found))
                << "seed " << seed << ", after" << litmus::to_string(steps, i + 1) << "\nfound "
                << testing::PrintToString(found);
        }
        for (unsigned t = 0; t < 3; ++t) {
            ASSERT_TRUE(
                program.mode().wait_stable(program.lane(t), std::chrono::milliseconds(1000)));
        }
        ASSERT_EQ(program.after_crash(), litmus::final_state(steps, steps.size()))
            << "seed " << seed;
    }
};

TEST_P(graph_mode_under_random_programs, leaves_an_allowed_state_at_every_step) {
    const u64 programs = test::effort<u64>(60, 10);
    for (u64 seed = 1; seed <= programs && !HasFatalFailure(); ++seed) run(seed);
}

INSTANTIATE_TEST_SUITE_P(with_and_without_elision, graph_mode_under_random_programs,
                         ::testing::Bool());

}  // namespace
}  // namespace hf::test
