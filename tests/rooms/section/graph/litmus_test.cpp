// The figures of the paper and one program for each kind of edge, with a crash after each step.
#include "section/graph/program_runner.hpp"

#include <gtest/gtest.h>

namespace hf::test {
namespace {

using enum litmus::action;

class graph_litmus : public on_tmpfs {
   protected:
    /// Takes all steps. After each of them the region as it is then must recover to an allowed
    /// state; after the last, once everything is stable, to the final one.
    void run(const std::vector<step>& steps) {
        program_runner program(file);
        for (std::size_t i = 0; i < steps.size(); ++i) {
            program.take(steps[i]);
            const values found = program.after_crash();
            ASSERT_TRUE(litmus::allowed_states(steps, i + 1).contains(found))
                << "after" << litmus::to_string(steps, i + 1) << "\nfound "
                << testing::PrintToString(found);
        }
        while (program.mode().step()) {
        }
    }
    /// The variables that a crash after `count` steps leaves.
    values crash_after(const std::vector<step>& steps, std::size_t count, bool stepping = false) {
        std::filesystem::remove(file);
        program_runner program(file);
        for (std::size_t i = 0; i < count; ++i) {
            program.take(steps[i]);
            if (stepping) static_cast<void>(program.mode().step());
        }
        return program.after_crash();
    }
};

// Variables: x = 0, y = 1. Locks: l1 = 0, l2 = 1.
const std::vector<step> figure_2{
    {1, lock, 0},     {1, lock, 1},   {1, store, 1, 1}, {1, unlock, 1}, {0, lock, 1},
    {0, store, 0, 1}, {0, unlock, 1}, {1, store, 1, 2}, {1, unlock, 0},
};

TEST_F(graph_litmus, figure_2_is_allowed_after_each_step) { run(figure_2); }
TEST_F(graph_litmus, figure_2_undoes_the_completed_section_that_depends_on_the_running_one) {
    EXPECT_EQ(crash_after(figure_2, 7), values{});
    EXPECT_EQ(crash_after(figure_2, 7, true), values{});
}
TEST_F(graph_litmus, figure_2_keeps_both_sections_after_their_end) {
    EXPECT_EQ(crash_after(figure_2, 9), (values{1, 2}));
}

// Sections a (thread 0), b and c (thread 1), d (thread 2); c and a hold no persistent store.
const std::vector<step> figure_3{
    {2, lock, 3},     {2, lock, 2},     {2, store, 2, 1}, {2, unlock, 2},  // d begins
    {1, lock, 2},     {1, store, 3, 1}, {1, unlock, 2},  // b, after d's inner release
    {1, store, 0, 1},                                    // x, outside
    {1, lock, 0},     {1, unlock, 0},                    // c: the flag is transient
    {0, lock, 0},     {0, unlock, 0},                    // a
    {0, store, 1, 1},                                    // y, outside
};

TEST_F(graph_litmus, figure_3_is_allowed_after_each_step) { run(figure_3); }
TEST_F(graph_litmus, figure_3_undoes_a_store_that_depends_through_sections_without_stores) {
    EXPECT_EQ(crash_after(figure_3, figure_3.size()), values{});
}

TEST_F(graph_litmus, a_cycle_of_two_sections_is_kept_or_undone_whole) {
    run({{0, lock, 0},
         {0, lock, 1},
         {0, store, 0, 1},
         {0, unlock, 1},
         {1, lock, 2},
         {1, lock, 1},
         {1, store, 1, 2},
         {1, unlock, 1},
         {1, lock, 3},
         {1, store, 2, 3},
         {1, unlock, 3},
         {0, lock, 3},
         {0, store, 3, 4},
         {0, unlock, 3},
         {0, unlock, 0},
         {1, unlock, 2}});
}
TEST_F(graph_litmus, hand_over_hand_locking_is_one_section) {
    run({{0, lock, 0},
         {0, store, 0, 1},
         {0, lock, 1},
         {0, unlock, 0},
         {0, store, 1, 2},
         {0, lock, 2},
         {0, unlock, 1},
         {1, lock, 0},
         {1, store, 0, 3},
         {1, unlock, 0},
         {0, store, 2, 4},
         {0, unlock, 2}});
}
TEST_F(graph_litmus, a_writer_depends_on_readers_and_a_reader_on_the_last_writer) {
    run({{0, lock, 0},
         {0, lock, 1},
         {0, store, 0, 1},
         {0, unlock, 1},
         {1, lock, 2},
         {1, read_lock, 1},
         {1, store, 1, 2},
         {1, read_unlock, 1},
         {2, read_lock, 1},
         {2, store, 2, 3},
         {2, read_unlock, 1},
         {2, lock, 1},
         {2, store, 0, 4},
         {2, unlock, 1},
         {1, unlock, 2},
         {0, unlock, 0}});
}
TEST_F(graph_litmus, a_semaphore_carries_dependences_of_threads_without_locks) {
    run({{0, lock, 0},
         {0, store, 0, 1},
         {0, post, 0},
         {1, wait, 0},
         {1, post, 1},
         {2, wait, 1},
         {2, store, 1, 2},
         {0, store, 2, 3},
         {0, unlock, 0},
         {2, store, 3, 4}});
}
TEST_F(graph_litmus, later_stores_of_other_sections_to_one_variable_are_undone_in_order) {
    run({{0, lock, 0},
         {0, lock, 1},
         {0, store, 0, 1},
         {0, unlock, 1},
         {1, lock, 1},
         {1, store, 0, 2},
         {1, unlock, 1},
         {0, lock, 1},
         {0, store, 0, 3},
         {0, unlock, 1},
         {1, lock, 1},
         {1, store, 0, 4},
         {1, unlock, 1},
         {0, unlock, 0}});
}
TEST_F(graph_litmus, stores_outside_of_sections_follow_the_thread_s_sections) {
    run({{0, store, 0, 1},
         {0, store, 1, 2},
         {0, lock, 0},
         {0, store, 0, 3},
         {0, unlock, 0},
         {0, store, 0, 4},
         {1, lock, 0},
         {1, store, 2, 5},
         {1, unlock, 0}});
}

}  // namespace
}  // namespace hf::test
