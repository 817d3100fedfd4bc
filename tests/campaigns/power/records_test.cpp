// Values that identify their write.
#include "records.hpp"

#include <gtest/gtest.h>

namespace hf::power_test {

namespace {

constexpr author who{7, 3};

TEST(power_records, a_value_tells_its_version) {
    for (u64 version = 1; version < 300; ++version) {
        EXPECT_EQ(version_of(who, 9, value_text(who, 9, version)), version);
    }
}

TEST(power_records, another_keys_or_authors_value_is_not_taken_for_ours) {
    EXPECT_FALSE(version_of(who, 9, value_text(who, 8, 5)));
    EXPECT_FALSE(version_of(who, 9, value_text({7, 2}, 9, 5)));
    EXPECT_FALSE(version_of(who, 9, value_text({6, 3}, 9, 5)));
}

TEST(power_records, every_byte_counts) {
    const std::string right = value_text(who, 9, 5);
    for (std::size_t i = 0; i < right.size(); ++i) {
        std::string wrong = right;
        wrong[i] = static_cast<char>(wrong[i] ^ 1);
        EXPECT_FALSE(version_of(who, 9, wrong)) << i;
    }
    EXPECT_FALSE(version_of(who, 9, right.substr(0, right.size() - 1)));
    EXPECT_FALSE(version_of(who, 9, right + "0"));
    EXPECT_FALSE(version_of(who, 9, ""));
}

}  // namespace

}  // namespace hf::power_test
