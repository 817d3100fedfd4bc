// Scanning a journal while records are appended to it: the result has no gap, and includes all
// records that were complete before.
#include "crashlab/disk/model_disk.hpp"
#include "journal/core.hpp"
#include "journal/scan.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace hf::test {
namespace {

using lab::bytes;

constexpr u64 scanned_lines = 1024;
constexpr journal::geometry small_segments{4 * journal::page, 6};

/// Calls a hook before each read, to simulate another process.
class observed_disk final : public journal::block_file {
   public:
    observed_disk(journal::block_file& under, std::function<void()> before_read)
        : under_(under), before_read_(std::move(before_read)) {}
    using block_file::write;
    result<void> write(u64 offset, std::span<const std::span<const std::byte>> pieces) override {
        return under_.write(offset, pieces);
    }
    result<void> read(u64 offset, std::span<std::byte> into) override {
        before_read_();
        return under_.read(offset, into);
    }
    result<void> sync() override { return under_.sync(); }
    result<void> extend(u64 length) override { return under_.extend(length); }
    result<u64> size() override { return under_.size(); }
    [[nodiscard]] std::string name() const override { return under_.name(); }

   private:
    journal::block_file& under_;
    std::function<void()> before_read_;
};

class live_scan : public ::testing::Test {
   protected:
    /// A journal whose free segments are not in the order of the file.
    void SetUp() override {
        base.now().resize(scanned_lines * line_size);
        core = std::move(*journal::core::start(disk, base, {{7}, 3}, 0, small_segments));
        for (int i = 0; i < 30; ++i) {
            while (core->used() > 3) ASSERT_TRUE(core->apply_some(2));
            ASSERT_TRUE(commit());
        }
        while (core->used() > 2) ASSERT_TRUE(core->apply_some(1));
    }
    result<void> commit() {
        std::vector<u64> lines;
        for (u64 l = epoch % 50; l < epoch % 50 + 60; ++l) lines.push_back(l);
        const bytes data(lines.size() * line_size, std::byte{1});
        return core->commit({++epoch, lines, data.data()});
    }

    lab::model_disk disk;
    lab::model_disk base;
    std::unique_ptr<journal::core> core;
    u64 epoch = 0;
};

TEST_F(live_scan, finds_what_was_complete_whenever_records_are_appended) {  // X4
    int misled = 0;
    for (int at = 0; at < 200; ++at) {
        for (const bool live : {false, true}) {
            while (core->used() > 2) ASSERT_TRUE(core->apply_some(1));
            const u64 before = epoch;
            int reads = 0;
            observed_disk observed(disk, [&] {
                if (++reads < at || epoch >= before + 6) return;
                ASSERT_TRUE(commit());
            });
            const auto found = live ? journal::scan_live(observed) : journal::scan(observed);
            if (!live) {
                misled += found ? 0 : 1;
                continue;
            }
            ASSERT_TRUE(found) << found.error().to_string();
            EXPECT_GE(found->last_epoch, before);
            EXPECT_LE(found->last_epoch, epoch);
        }
    }
    EXPECT_GT(misled, 0) << "a single look was never misled: the test shows nothing";
}

TEST_F(live_scan, notices_damage_all_the_same) {
    const auto whole = journal::scan(disk);
    ASSERT_TRUE(whole);
    ASSERT_GT(whole->chunks.size(), 2U);
    disk.now()[whole->chunks[0].offset + 100] ^= std::byte{1};
    const auto found = journal::scan_live(disk);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, errc::corrupt);
}

}  // namespace
}  // namespace hf::test
