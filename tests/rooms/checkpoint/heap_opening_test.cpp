// A heap as a crash or a damage left it: read before it is opened, opened, or refused.
#include "damaged_heap.hpp"

#include <cstring>

namespace hf {
namespace {

using test::usable_of_eight;

class heap_opening_test : public test::damaged_heap {};

TEST_F(heap_opening_test, a_crashed_heap_is_read_as_recovery_will_leave_it) {
    xoshiro256ss r(3);
    for (int life = 0; life < 8; ++life) {
        SCOPED_TRACE(life);
        open();
        use(r, 300 + static_cast<unsigned>(r.below(1500)));
        up_.epochs().end_epoch();
        const std::vector<owned> durable = mine_;
        for (unsigned i = 0; i < 150; ++i) {
            r.below(2) != 0 || mine_.empty()
                ? (void)allocate(r.below(20) == 0 ? 300'000 : 1 + r.below(500))
                : release(r.below(mine_.size()));
        }
        mine_ = durable;
        close();
        const auto seen = test::must(checkpointed_region::look_at(file));
        ASSERT_TRUE(seen.checkpoint().needs_recovery());
        const audit_report report =
            look(seen.file(), seen.checkpoint().failed(), seen.epochs().current_epoch());
        ASSERT_TRUE(report.ok()) << report.to_string();
        ASSERT_TRUE(report.complete());
    }
}

TEST_F(heap_opening_test, an_opening_refuses_what_it_cannot_use) {
    open();
    allocate(100);
    const segment s = add_segment();
    const u64 root = heap_->pages().root_offset();
    lay_out(s, 4);
    up_.epochs().end_epoch();
    constexpr u64 magic = offsetof(heap_segment, magic);
    constexpr u64 usable = offsetof(heap_segment, first_usable);
    constexpr u64 frontier = offsetof(heap_segment, frontier);
    struct damage {
        u64 at;
        u64 value;
        bool possible;
    };
    const u64 first = layout::page_size;
    const u64 pages = (u64{16} << 20) / page_size - 1;
    for (const damage& d : {damage{first + magic, 0, false},
                            {first + magic, 1, false},
                            {first + usable, 2, false},
                            {first + usable, 0, false},
                            {first + frontier, 0, false},
                            {first + frontier, pages + 1, false},
                            {first + frontier, pages, true},
                            {s.offset + magic, 1, false},
                            {s.offset + usable, usable_of_eight + 1, false},
                            {s.offset + frontier, usable_of_eight - 1, false},
                            {s.offset + frontier, usable_of_eight, true},
                            {s.offset + frontier, 8, true},
                            {s.offset + frontier, 9, false},
                            {root, 0, false},
                            {s.offset + magic, 0, true}}) {
        SCOPED_TRACE(std::to_string(d.at) + " := " + std::to_string(d.value));
        close();
        u64 was = 0;
        std::memcpy(&was, test::read_file(file).data() + d.at, sizeof was);
        test::patch(file, d.at, &d.value, sizeof d.value);
        const auto opened = try_to_open();
        EXPECT_EQ(opened.has_value(), d.possible) << (opened ? "" : opened.error().to_string());
        if (!opened) {
            EXPECT_EQ(opened.error().code, errc::corrupt);
        }
        close();
        test::patch(file, d.at, &was, sizeof was);
    }
    open();
    expect_ok();
}

TEST_F(heap_opening_test, an_opening_lays_out_a_segment_that_a_crash_left_without_header) {
    open();
    const segment s = add_segment();
    open();
    EXPECT_EQ(segment_at(s.offset).magic, heap_segment::magic_value);
    EXPECT_EQ(segment_at(s.offset).first_usable, usable_of_eight);
    EXPECT_EQ(segment_at(s.offset).frontier.get(0), usable_of_eight);
    EXPECT_EQ(allocate(7 * page_size - block_header_size),
              s.offset + page_size + block_header_size);
    expect_ok();
}

TEST_F(heap_opening_test, a_region_that_is_too_small_for_a_heap_is_refused) {
    constexpr u64 least = 2;  // descriptors, and a root with few sets of lists
    for (const u64 pages : {u64{0}, least - 1, least}) {
        SCOPED_TRACE(pages);
        close();
        std::filesystem::remove(file);
        initial_size_ = (1 + pages) * page_size;
        const auto opened = try_to_open();
        EXPECT_EQ(opened.has_value(), pages == least);
        if (opened) {
            allocate(100);
            expect_ok();
        } else {
            EXPECT_NE(opened.error().to_string().find("the region is too small"),
                      std::string::npos);
        }
    }
}

}  // namespace
}  // namespace hf
