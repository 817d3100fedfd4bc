// The recovery driver.
#include "recovery/driver.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace hf {
namespace {

TEST(recovery, runs_the_steps_in_their_order_and_reports_each) {
    recovery_driver driver;
    std::string order;
    for (const char* name : {"superblock", "log", "allocator"}) {
        driver.add(recovery_phase::logs, name, [&order, name]() -> result<void> {
            order += std::string(name) + " ";
            return {};
        });
    }
    ASSERT_TRUE(driver.run());
    EXPECT_EQ(order, "superblock log allocator ");
    ASSERT_EQ(driver.report().size(), 3U);
    EXPECT_EQ(driver.report()[1].name, "log");
    u64 sum = 0;
    for (const step_time& t : driver.report()) sum += t.ns;
    EXPECT_EQ(driver.total_ns(), sum);
}

TEST(recovery, stops_at_the_first_error_and_names_its_step) {
    recovery_driver driver;
    bool reached = false;
    driver.add(recovery_phase::header, "superblock", []() -> result<void> { return {}; });
    driver.add(recovery_phase::logs, "log", []() -> result<void> {
        return failure({errc::corrupt, "apply the log", "a.hf at offset 7", "torn", "restore"});
    });
    driver.add(recovery_phase::allocator, "allocator", [&reached]() -> result<void> {
        reached = true;
        return {};
    });
    const auto done = driver.run();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, errc::corrupt);
    EXPECT_EQ(done.error().to_string(),
              "cannot apply the log (recovery step \"log\") (a.hf at offset 7): torn; restore");
    EXPECT_FALSE(reached);
    EXPECT_EQ(driver.report().size(), 2U);
}

TEST(recovery, without_steps_is_done) {
    recovery_driver driver;
    EXPECT_TRUE(driver.run());
    EXPECT_EQ(driver.total_ns(), 0U);
}

// A region's first phases run before the rooms above know it; theirs follow in the same driver.
TEST(recovery, goes_on_with_the_steps_that_were_added_since) {
    recovery_driver driver;
    std::string order;
    const auto add = [&](recovery_phase phase, const char* name) {
        driver.add(phase, name, [&order, name]() -> result<void> {
            order += std::string(name) + " ";
            return {};
        });
    };
    add(recovery_phase::header, "region");
    ASSERT_TRUE(driver.run());
    EXPECT_EQ(order, "region ");
    recovery_driver moved = std::move(driver);
    order.clear();
    moved.add(recovery_phase::epochs, "epochs", [&order]() -> result<void> {
        order += "epochs ";
        return {};
    });
    ASSERT_TRUE(moved.run());
    EXPECT_EQ(order, "epochs ");
    EXPECT_EQ(moved.report().size(), 2U);
}

// Such an error names the file and what is wrong with it; the step would tell a user nothing.
TEST(recovery, names_no_step_of_the_phases_before_epochs) {
    recovery_driver driver;
    driver.add(recovery_phase::upgrade, "upgrade", []() -> result<void> {
        return failure({errc::corrupt, "open the region", "a.hf", "torn", "restore"});
    });
    const auto done = driver.run();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().to_string(), "cannot open the region (a.hf): torn; restore");
}

TEST(recovery_death, ends_with_a_step_that_failed) {
    recovery_driver driver;
    driver.add(recovery_phase::logs, "log", []() -> result<void> {
        return failure({errc::corrupt, "apply the log", "a.hf", "torn", "restore"});
    });
    ASSERT_FALSE(driver.run());
    EXPECT_DEATH((void)driver.run(), "after a step had failed");
    EXPECT_DEATH(driver.add(recovery_phase::service, "late", [] { return result<void>{}; }),
                 "after one had failed");
}

TEST(recovery_death, refuses_a_step_of_an_earlier_phase_after_a_run) {
    recovery_driver driver;
    driver.add(recovery_phase::logs, "log", [] { return result<void>{}; });
    ASSERT_TRUE(driver.run());
    EXPECT_DEATH(driver.add(recovery_phase::epochs, "epochs", [] { return result<void>{}; }),
                 "don't go backwards");
}

TEST(recovery_death, refuses_a_step_of_an_earlier_phase_than_the_one_before) {
    recovery_driver driver;
    const auto nothing = []() -> result<void> { return {}; };
    driver.add(recovery_phase::allocator, "heap", nothing);
    driver.add(recovery_phase::allocator, "lists", nothing);
    EXPECT_DEATH(driver.add(recovery_phase::logs, "log", nothing), "don't go backwards");
}

TEST(recovery, names_every_phase) {
    const std::pair<recovery_phase, const char*> all[] = {
        {recovery_phase::header, "header"},
        {recovery_phase::journal, "journal"},
        {recovery_phase::upgrade, "upgrade"},
        {recovery_phase::epochs, "epochs"},
        {recovery_phase::format, "format"},
        {recovery_phase::logs, "logs"},
        {recovery_phase::allocator, "allocator"},
        {recovery_phase::discipline, "discipline"},
        {recovery_phase::verification, "verification"},
        {recovery_phase::service, "service"}};
    for (const auto& [phase, name] : all) EXPECT_STREQ(to_string(phase), name);
}

}  // namespace
}  // namespace hf
