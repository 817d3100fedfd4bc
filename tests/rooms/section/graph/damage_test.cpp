// Damaged logs are noticed, and nothing is restored from them.
#include "section/graph/program_runner.hpp"
#include "support/must.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace hf::test {
namespace {

using graph::lane_log_view;

/// A region that was left by a crash inside of a section with three stores.
class damaged_section_log : public on_tmpfs {
   protected:
    void SetUp() override {
        program_runner p(file);
        p.take({0, action::lock, 0});
        for (unsigned n = 0; n < 3; ++n) p.take({0, action::store, n, n + 1});
        std::filesystem::copy_file(file, crashed);
        p.take({0, action::unlock, 0});
    }
    void open() {
        region_ = must(region::open(crashed, {}));
        for (const segment& s : region_->segments()) {
            if (s.kind != segment_kind::section_log) continue;
            (s.owner == graph::control_owner ? control_ : lane_) = s;
        }
    }
    [[nodiscard]] lane_log_view view() const { return {*region_, lane_}; }
    errc code() {
        const u64 before[2] = {*region_->at<u64>(layout::page_size),
                               *region_->at<u64>(layout::page_size + 8)};
        const auto recovered = graph::recover(*region_);
        if (recovered) return errc::violation;
        EXPECT_EQ(*region_->at<u64>(layout::page_size), before[0]) << "something was restored";
        EXPECT_EQ(*region_->at<u64>(layout::page_size + 8), before[1]);
        return recovered.error().code;
    }

    const std::filesystem::path crashed = dir / "crashed";
    std::unique_ptr<region> region_;
    segment control_;
    segment lane_;
};

TEST_F(damaged_section_log, that_is_whole_is_recovered) {
    open();
    const auto recovered = must(graph::recover(*region_));
    EXPECT_EQ(recovered.sections_undone, 1U);
    EXPECT_EQ(recovered.bytes_restored, 24U);
    EXPECT_EQ(*region_->at<u64>(layout::page_size), 0U);
}

TEST_F(damaged_section_log, is_corrupt_for_each_flipped_bit_of_a_durable_entry) {
    open();
    // Entries: begin, three stores. The last may be torn by a crash, so it is not judged.
    for (u64 bit = 0; bit < 3 * graph::entry_bytes * 8; ++bit) {
        auto* const byte = reinterpret_cast<unsigned char*>(&view().at(0)) + bit / 8;
        *byte ^= static_cast<unsigned char>(1U << (bit % 8));
        EXPECT_EQ(code(), errc::corrupt) << "bit " << bit;
        *byte ^= static_cast<unsigned char>(1U << (bit % 8));
    }
    EXPECT_TRUE(graph::recover(*region_));
}

TEST_F(damaged_section_log, is_corrupt_for_each_flipped_bit_of_the_head_and_the_session) {
    open();
    for (u64 bit = 0; bit < 128; ++bit) {
        auto* const byte = reinterpret_cast<unsigned char*>(&view().head()) + bit / 8;
        *byte ^= static_cast<unsigned char>(1U << (bit % 8));
        EXPECT_EQ(code(), errc::corrupt) << "bit " << bit << " of the head";
        *byte ^= static_cast<unsigned char>(1U << (bit % 8));
    }
    for (u64 bit = 0; bit < 64; ++bit) {
        auto& word = *region_->at<u64>(control_.offset);
        word ^= u64{1} << bit;
        EXPECT_EQ(code(), errc::corrupt) << "bit " << bit << " of the session";
        word ^= u64{1} << bit;
    }
    *region_->at<u64>(control_.offset) = 0;
    EXPECT_EQ(code(), errc::corrupt) << "a session of zeros";
}

TEST_F(damaged_section_log, with_right_checks_and_impossible_contents_is_corrupt) {
    open();
    const graph::log_identity of{graph::region_seed(*region_), 1, 1};
    const graph::log_entry good = view().at(1);
    const auto with = [&](auto change) {
        graph::log_entry e = good;
        change(e);
        e.check = graph::entry_check(e, of, 1);
        view().at(1) = e;
        const errc found = code();
        view().at(1) = good;
        return found;
    };
    ASSERT_EQ(with([](auto&) {}), errc::violation) << "the identity of the log is another";
    static_cast<void>(must(graph::recover(*region_)));
    EXPECT_EQ(with([](auto& e) { e.a = 0; }), errc::corrupt);
    EXPECT_EQ(with([&](auto& e) { e.a = region_->size() - 4; }), errc::corrupt);
    EXPECT_EQ(with([](auto& e) { e.a = ~u64{0}; }), errc::corrupt);
    EXPECT_EQ(with([&](auto& e) { e.a = lane_.offset + 64; }), errc::corrupt);
    EXPECT_EQ(with([](auto& e) { e.size = 9; }), errc::corrupt);
    EXPECT_EQ(with([](auto& e) { e.size = 0; }), errc::corrupt);
    EXPECT_EQ(with([](auto& e) { e = {.kind = graph::entry_kind::begin, .a = 5}; }), errc::corrupt);
}

TEST_F(damaged_section_log, ends_at_a_torn_entry_that_no_fence_had_covered) {
    open();
    view().at(3).check ^= 1;  // the newest
    const auto recovered = must(graph::recover(*region_));
    EXPECT_EQ(recovered.bytes_restored, 16U);
}

}  // namespace
}  // namespace hf::test
