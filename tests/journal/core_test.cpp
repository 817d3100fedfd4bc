// What a journal holds after commits and applications, and what its scan makes of damage.
#include <gtest/gtest.h>

#include <memory>

#include "journal/apply.hpp"
#include "journal/core.hpp"
#include "journal/scan.hpp"
#include "memory_disk.hpp"

namespace hf::test {
namespace {

using bytes = std::vector<std::byte>;

constexpr u64 base_lines = 1024;
constexpr journal::geometry small{4 * journal::page, 4};

class journal_core : public ::testing::Test {
   protected:
    void SetUp() override {
        base.now().resize(base_lines * line_size);
        auto started = journal::core::start(disk, base, who, 0, small);
        ASSERT_TRUE(started);
        core = std::move(*started);
    }

    result<void> commit(std::vector<u64> lines, u8 value) {
        const bytes data(lines.size() * line_size, std::byte{value});
        return core->commit({++epoch, lines, data.data()});
    }

    journal::identity who{{7}, 3};
    memory_disk disk;
    memory_disk base;
    std::unique_ptr<journal::core> core;
    u64 epoch = 0;
};

}  // namespace

TEST_F(journal_core, a_record_is_found_again) {
    ASSERT_TRUE(commit({3, 4, 5, 9}, 1));
    const auto found = journal::scan(disk);
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_EQ(found->last_epoch, 1U);
    ASSERT_EQ(found->chunks.size(), 1U);
    EXPECT_EQ(found->chunks[0].runs, 2U);
    EXPECT_EQ(found->chunks[0].lines, 4U);
}

}  // namespace hf::test
