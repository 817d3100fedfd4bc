// The judge of one connection, with states that it must accept and states that it must reject.
#include "history.hpp"

#include <gtest/gtest.h>

namespace hf::power_test {

namespace {

using kind = found_record::kind;

/// Ten keys of one version each, followed by the test's writes.
class power_history : public testing::Test {
   protected:
    power_history() {
        for (int i = 0; i < 10; ++i) past_.sent(past_.next(0));
        for (u64 v = 1; v <= 10; ++v) found_.push_back({kind::exact, v});
        past_.settle(found_);
    }

    void put(u32 key, u64 version) { past_.sent({key, version, false}); }
    void remove(u32 key, u64 version) { past_.sent({key, version, true}); }
    void found(u32 key, u64 version) { found_[key] = {kind::exact, version}; }
    void gone(u32 key) { found_[key] = {}; }

    history past_;
    std::vector<found_record> found_;
};

TEST_F(power_history, what_was_settled_must_stay) {
    EXPECT_EQ(past_.judge(found_).broken(), 0U);
    gone(3);
    EXPECT_EQ(past_.judge(found_).lost, 1U);
}

TEST_F(power_history, a_promised_write_that_is_missing_is_lost) {
    put(2, 11);
    past_.set_durable(1);
    EXPECT_EQ(past_.judge(found_).lost, 1U);
    found(2, 11);
    EXPECT_EQ(past_.judge(found_).broken(), 0U);
}

TEST_F(power_history, a_write_that_was_not_promised_may_be_there_or_not) {
    put(2, 11);
    const verdict without = past_.judge(found_);
    EXPECT_EQ(without.broken(), 0U);
    EXPECT_EQ(without.undone, 1U);
    found(2, 11);
    const verdict with = past_.judge(found_);
    EXPECT_EQ(with.broken(), 0U);
    EXPECT_EQ(with.kept, 1U);
}

TEST_F(power_history, a_newer_write_in_the_place_of_a_promised_one_is_right) {
    put(2, 11);
    put(2, 12);
    past_.set_durable(1);
    found(2, 12);
    EXPECT_EQ(past_.judge(found_).broken(), 0U);
}

TEST_F(power_history, a_hole_in_the_order_of_writes_is_accused) {
    put(2, 11);
    put(5, 12);
    found(5, 12);
    EXPECT_EQ(past_.judge(found_).holes, 1U);
}

TEST_F(power_history, a_promised_removal_that_was_undone_is_lost) {
    remove(4, 11);
    past_.set_durable(1);
    EXPECT_EQ(past_.judge(found_).lost, 1U);
    gone(4);
    EXPECT_EQ(past_.judge(found_).broken(), 0U);
}

TEST_F(power_history, other_bytes_are_altered_and_not_just_lost) {
    found_[7] = {kind::altered, 0};
    const verdict v = past_.judge(found_);
    EXPECT_EQ(v.altered, 1U);
    EXPECT_EQ(v.lost, 0U);
}

TEST_F(power_history, a_write_that_an_earlier_cut_took_must_not_come_back) {
    put(2, 11);
    past_.settle(found_);  // it is missing
    found(2, 11);
    EXPECT_EQ(past_.judge(found_).strangers, 1U);
}

TEST_F(power_history, versions_are_never_used_twice) {
    const write one = past_.next(0);
    past_.sent(one);
    past_.settle([&] {
        auto found = found_;
        found.push_back({});
        return found;
    }());
    EXPECT_GT(past_.next(0).version, one.version);
}

TEST_F(power_history, durable_records_count_what_removals_leave) {
    remove(4, 11);
    put(4, 12);
    remove(5, 13);
    past_.set_durable(3);
    EXPECT_EQ(past_.durable_keys(), 9U);
}

}  // namespace

}  // namespace hf::power_test
