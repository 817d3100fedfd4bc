// The audit of any policy: what it makes of books that say what a test likes.
#include "alloc/audit.hpp"

#include "support/must.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace hf {
namespace {

using test::must;

/// A page of which nothing is said is a free one.
class made_up_books final : public audit_view {
   public:
    std::map<u64, bounds> limits;  ///< of a segment, by its offset; none: all of its pages
    std::set<u64> closed;          ///< segments in which nothing is to be walked
    std::map<u64, page_run> runs;  ///< by the page's offset
    std::optional<own_room> own;
    std::vector<std::pair<u64, bool>> looked_at;
    int finished = 0;

    std::optional<bounds> look_at(const segment& s, bool first, audit_report&) override {
        looked_at.emplace_back(s.offset, first);
        if (closed.contains(s.offset)) return std::nullopt;
        const auto it = limits.find(s.offset);
        const bounds in = it == limits.end() ? bounds{0, s.pages} : it->second;
        pages_counted_ += in.first;
        return in;
    }
    u64 descriptor_of(const segment& s, u64 page) const override { return s.offset + 8 * page; }
    page_run run_at(const segment& s, u64 page) const override {
        const auto it = runs.find(s.offset + page * page_size);
        return it == runs.end() ? page_run{} : it->second;
    }
    void check_run(const segment&, u64, const page_run& run, audit_report& report) override {
        pages_counted_ += run.pages;
        const heap_figures& h = report.heap;
        EXPECT_EQ(h.slab_pages + h.extent_pages + h.free_pages + h.system_pages, pages_counted_);
    }
    std::optional<own_room> founding() const override { return own; }
    void read_free(heap_audit&) override {}
    void read_counters(heap_audit&) override {}
    void finish(heap_audit&) override { ++finished; }
    const char* name_of(block_state s) const override {
        return s == block_state::free ? "free, say the books" : "fresh, say the books";
    }

   private:
    u64 pages_counted_ = 0;
};

/// Segments of 8 and 40 pages, and one that is no heap's between them.
class audit_test : public ::testing::Test {
   protected:
    void SetUp() override {
        region_ = must(region::create_volatile(9 * page_size, region_options{}));
        static_cast<void>(must(region_->grow(segment_kind::log, 3, 0)));
        static_cast<void>(must(region_->grow(segment_kind::heap, 40, 0)));
        one_ = region_->segments().front().offset;
        two_ = region_->segments().back().offset;
    }
    u64 at(u64 segment, u64 page) const { return segment + page * page_size; }
    void put(u64 offset, page_use use, u32 size_class, u64 pages) {
        books_.runs[offset] = {use, size_class, pages};
    }
    void slab(u64 offset, u32 c) { put(offset, page_use::slab, c, slab_pages(c)); }
    void extent(u64 offset, u64 pages) { put(offset, page_use::extent, 0, pages); }
    heap_audit& read() {
        audit_ = std::make_unique<heap_audit>(*region_, books_, report_);
        audit_->read_runs();
        return *audit_;
    }
    void start_again() {
        books_ = {};
        report_ = {};
    }
    /// A bit of everything; free where nothing is said.
    void put_all_sorts() {
        slab(at(one_, 0), 0);
        extent(at(one_, 1), 3);
        slab(at(one_, 4), class_of_block(160));  // its blocks leave some bytes over
        extent(at(one_, 6), 1);
        put(at(two_, 0), page_use::system, 0, 2);
        slab(at(two_, 2), class_of_block(64 * 1024));
        slab(at(two_, 20), class_of_block(40 * 1024));
        extent(at(two_, 38), 2);
        books_.own = {at(two_, 1) + 256, 300};
    }

    std::unique_ptr<region> region_;
    u64 one_ = 0;
    u64 two_ = 0;
    made_up_books books_;
    audit_report report_;
    std::unique_ptr<heap_audit> audit_;
};

TEST(audit_report, keeps_a_thousand_violations_and_counts_the_others) {
    for (const u64 n : {999, 1000, 1001, 1003}) {
        audit_report report;
        EXPECT_TRUE(report.ok());
        for (u64 i = 0; i < n; ++i) report.add(i, "wrong");
        EXPECT_FALSE(report.ok());
        EXPECT_EQ(report.violation_count(), n);
        EXPECT_EQ(report.violations().size(), std::min<u64>(n, 1000));
        const std::string more = "and " + std::to_string(n - std::min<u64>(n, 1000)) + " more\n";
        EXPECT_EQ(report.to_string().ends_with(more), n > 1000) << n;
        EXPECT_EQ(report.to_string().find("more") == std::string::npos, n <= 1000) << n;
    }
}

TEST(audit_report, sums_up_all_classes_and_nothing_else) {
    heap_figures f;
    f.segments = f.pages = f.system_pages = 1'000'000;
    f.extent_pages_handed_out = 7;
    f.slab_pages = 1'000'000;
    u64 bytes = 0;
    for (u32 c = 0; c < block_classes; ++c) {
        f.classes[c].handed_out = c + 1;
        bytes += u64{c + 1} * block_size(c);
    }
    EXPECT_EQ(f.handed_out_bytes(), 7 * page_size + bytes);
    EXPECT_EQ(f.idle_slab_bytes(), 1'000'000 * page_size - bytes);
    f.slab_pages = 1;
    EXPECT_EQ(f.idle_slab_bytes(), 0U);  // counters may be damaged
}

TEST_F(audit_test, counts_what_the_books_say) {
    put_all_sorts();
    books_.limits[two_] = {0, 37};
    read();
    EXPECT_TRUE(report_.ok() && report_.complete()) << report_.to_string();
    EXPECT_EQ(books_.looked_at, (std::vector<std::pair<u64, bool>>{{one_, true}, {two_, false}}));
    const heap_figures& h = report_.heap;
    EXPECT_EQ(h.segments, 2U);
    EXPECT_EQ(h.pages, 48U);
    EXPECT_EQ(h.system_pages, 2U);
    EXPECT_EQ(h.slab_pages, 1U + 1 + 16 + 10);
    EXPECT_EQ(h.extents, 2U);
    EXPECT_EQ(h.extent_pages, 4U);
    EXPECT_EQ(h.free_pages, 2U + 2 + 7);
    EXPECT_EQ(h.free_runs, h.free_pages);
    EXPECT_EQ(h.largest_free_run, 1U);
    EXPECT_EQ(h.untouched_pages, 3U);
    for (const u32 size : {32, 160, 40 * 1024, 64 * 1024}) {
        const u32 c = class_of_block(size);
        EXPECT_EQ(h.classes[c].slabs, 1U);
        EXPECT_EQ(h.classes[c].blocks, slab_blocks(c));
    }
}

TEST_F(audit_test, a_region_without_a_heap_segment_is_no_heap) {
    region_ = must(region::create_volatile(page_size, region_options{}));
    static_cast<void>(must(region_->grow(segment_kind::log, 3, 0)));
    heap_audit& audit = read();
    EXPECT_EQ(report_.to_string(), "offset 0: the region has no heap segment\n");
    EXPECT_TRUE(books_.looked_at.empty());
    EXPECT_FALSE(audit.locate(page_size, 0));
    EXPECT_FALSE(audit.locate(0, 0));
}

TEST_F(audit_test, refuses_runs_that_cannot_be_and_takes_those_that_just_can) {
    constexpr u32 unknown = block_classes;
    const struct {
        u64 page;
        page_run run;
        std::string_view why;  ///< empty: it is possible
    } cases[] = {
        {0, {page_use::extent, 0, 40}, ""},
        {0, {page_use::extent, 0, 41}, "claims 41 pages, more than there are"},
        {39, {page_use::free, 0, 1}, ""},
        {39, {page_use::free, 0, 2}, "claims 2 pages, more than there are"},
        {3, {page_use::system, 0, 37}, ""},
        {3, {static_cast<page_use>(4), 0, 1}, "has the unknown use 4"},
        {3, {static_cast<page_use>(15), 0, 1}, "has the unknown use 15"},
        {3, {page_use::slab, class_of_block(largest_block), 16}, ""},
        {3, {page_use::slab, unknown, 1}, "has the unknown size class 87"},
        {3, {page_use::slab, 0, 1}, ""},
        {3, {page_use::slab, 0, 2}, "says that a slab of 32-byte blocks has 2 pages"},
        {3, {page_use::extent, 60, 1}, ""},
    };
    for (const auto& c : cases) {
        start_again();
        books_.runs[at(two_, c.page)] = c.run;
        read();
        EXPECT_EQ(report_.complete(), c.why.empty());
        ASSERT_EQ(report_.violation_count(), c.why.empty() ? 0U : 1U) << report_.to_string();
        if (c.why.empty()) continue;
        EXPECT_NE(report_.to_string().find(c.why), std::string::npos) << c.why;
        EXPECT_EQ(report_.violations().front().offset, two_ + 8 * c.page);
        EXPECT_EQ(report_.heap.free_runs, 8 + c.page);
    }
}

TEST_F(audit_test, a_closed_segment_is_counted_and_not_walked) {
    books_.closed = {two_};
    extent(at(two_, 0), 1000);
    read();
    EXPECT_TRUE(report_.ok() && report_.complete()) << report_.to_string();
    EXPECT_EQ(report_.heap.pages, 48U);
    EXPECT_EQ(report_.heap.free_pages, 8U);
    EXPECT_FALSE(audit_->locate(at(two_, 0), 0));
}

TEST_F(audit_test, unknown_is_what_a_walk_did_not_get_to) {
    for (const u64 damaged : {0, 3, 4, 10, 37}) {
        const bool is_damaged = damaged != 0;
        start_again();
        books_.limits[one_] = {2, 6};
        books_.limits[two_] = {3, 38};
        if (is_damaged) extent(at(two_, damaged), 36);
        read();
        for (u64 offset = 0; offset < region_->size() + 2 * page_size; offset += page_size / 2) {
            const bool in_one = offset >= at(one_, 6) && offset < at(one_, 8);
            const bool in_two = offset >= at(two_, damaged) && offset < at(two_, 40);
            ASSERT_EQ(audit_->is_unknown(offset), is_damaged && (in_one || in_two)) << offset;
        }
    }
}

TEST_F(audit_test, locates_the_beginnings_of_blocks_and_nothing_else) {
    put_all_sorts();
    heap_audit& audit = read();
    for (const u64 header : {0, 16}) {
        std::map<u64, heap_audit::place> there;
        for (const auto& [offset, run] : books_.runs) {
            const bool is_slab = run.use == page_use::slab;
            if (run.use == page_use::system) continue;
            const u64 size = is_slab ? block_size(run.size_class) : run.pages * page_size;
            for (u32 i = 0; i < (is_slab ? slab_blocks(run.size_class) : 1); ++i) {
                const u64 payload = offset + i * size + header;
                there[payload] = {payload, size - header, 0, i, 0, !is_slab};
            }
        }
        there[books_.own->offset + header] = {
            books_.own->offset + header, 300 - header, 0, 0, 0, false};
        for (u64 offset = 0; offset < region_->size() + page_size; offset += 8) {
            const auto found = audit.locate(offset, header);
            const auto expected = there.find(offset);
            ASSERT_EQ(found.has_value(), expected != there.end()) << offset << " " << header;
            if (!found) continue;
            EXPECT_EQ(found->payload, offset);
            EXPECT_EQ(found->room, expected->second.room);
            EXPECT_EQ(found->block, expected->second.block);
            EXPECT_EQ(found->extent, expected->second.extent);
        }
        books_.own.reset();
        EXPECT_FALSE(audit.locate(at(two_, 1) + 256 + header, header));
        put_all_sorts();
    }
}

TEST_F(audit_test, a_payload_fits_where_the_heap_would_have_put_it) {
    put_all_sorts();
    heap_audit& audit = read();
    const u64 slabs[] = {at(one_, 0), at(one_, 4), at(two_, 2), at(two_, 20)};
    const u64 extents[] = {at(one_, 6), at(two_, 38), at(one_, 1)};
    for (const u64 header : {0, 16}) {
        const auto fits = [&](u64 offset, u64 bytes) {
            return audit.fits(*audit.locate(offset + header, header), bytes - header, header);
        };
        for (u64 bytes = 16; bytes < 4 * page_size; ++bytes) {
            for (const u64 offset : slabs) {
                const u32 c = books_.runs[offset].size_class;
                const bool is_best = bytes <= largest_block && class_of_block(bytes) == c;
                ASSERT_EQ(fits(offset, bytes), is_best) << bytes;
            }
            for (u64 i = 0; i < 3; ++i) {
                const bool is_best =
                    bytes > largest_block && bytes <= (i + 1) * page_size && bytes > i * page_size;
                ASSERT_EQ(fits(extents[i], bytes), is_best) << bytes;
            }
        }
        const auto own = *audit.locate(books_.own->offset + header, header);
        for (u64 n = 0; n < 400; ++n) {
            ASSERT_EQ(audit.fits(own, n, header), n + header <= 300);
        }
    }
}

TEST_F(audit_test, a_claim_says_whether_it_is_the_first_and_what_is_wrong_with_it) {
    put_all_sorts();
    heap_audit& audit = read();
    const auto violation_of = [&](u64 offset) {
        return "offset 5: it at offset " + std::to_string(offset) + " is referred to, but it is ";
    };
    std::string expected;
    for (const block_state before : {block_state::unseen, block_state::free, block_state::fresh}) {
        auto place = *audit.locate(at(one_, 0) + 32 * static_cast<u64>(before), 0);
        audit.set_free(place, before);
        EXPECT_EQ(audit.state_of(place), before);
        EXPECT_TRUE(audit.claim(place, "it", 5));
        EXPECT_EQ(audit.state_of(place), block_state::claimed);
        EXPECT_FALSE(audit.claim(place, "it", 5));
        const std::string here = violation_of(place.payload);
        if (before != block_state::unseen) {
            expected += here + (before == block_state::free ? "free" : "fresh");
            expected += ", say the books\n";
        }
        expected += here + "owned by another reference\n";
    }
    EXPECT_EQ(report_.to_string(), expected);
    EXPECT_EQ(report_.heap.classes[0].claimed, 3U);
    EXPECT_EQ(report_.heap.extents_claimed, 0U);
    for (const bool is_first : {true, false}) {
        EXPECT_EQ(audit.claim(*audit.locate(at(one_, 1), 0), "it", 5), is_first);
        EXPECT_EQ(audit.claim(*audit.locate(books_.own->offset, 0), "it", 5), is_first);
    }
    EXPECT_EQ(report_.heap.extents_claimed, 1U);
    EXPECT_EQ(report_.heap.classes[0].claimed, 3U);
}

TEST_F(audit_test, finds_what_nobody_refers_to_and_nothing_that_somebody_does) {
    put_all_sorts();
    heap_audit& audit = read();
    std::string expected;
    bool is_first = true;
    for (const auto& [offset, run] : books_.runs) {
        if (run.use == page_use::system) continue;
        const auto each = [&](u32 i) {
            return *audit.locate(offset + u64{i} * block_size(run.size_class), 0);
        };
        if (run.use == page_use::extent) {
            if (std::exchange(is_first, false)) {
                expected += "offset " + std::to_string(offset) + ": an extent of " +
                            std::to_string(run.pages) +
                            " pages is handed out, but nothing refers to it\n";
            } else {
                audit.claim(*audit.locate(offset, 0), "it", 0);
            }
            continue;
        }
        const u32 blocks = slab_blocks(run.size_class);
        const bool is_whole = run.size_class == 0;
        for (u32 i = 0; i < blocks; ++i) {
            if (is_whole || (i != 3 && i != blocks - 1)) audit.claim(each(i), "it", 0);
        }
        if (is_whole) continue;
        expected += "offset " + std::to_string(offset + u64{3} * block_size(run.size_class)) +
                    ": 2 of the " + std::to_string(blocks) + " " +
                    std::to_string(block_size(run.size_class)) +
                    "-byte blocks of the slab at offset " + std::to_string(offset) +
                    " are neither free nor referred to, the first of them here\n";
    }
    audit.finish();
    EXPECT_EQ(report_.to_string(), expected);
    EXPECT_EQ(report_.heap.classes[0].leaked, 0U);
    EXPECT_EQ(report_.heap.classes[class_of_block(160)].leaked, 2U);
    EXPECT_EQ(books_.finished, 1);
}

TEST_F(audit_test, a_heap_of_which_part_is_unread_sums_up_what_is_lost) {
    const u32 big = class_of_block(64 * 1024);
    // The contents of the second segment: slabs (s), extents (e), in capitals if they are claimed.
    for (const std::string_view what : {"ee", "se", "es", "ss", "Ess", "See", "SE", "", "eSs"}) {
        start_again();
        u64 page = 0;
        u64 lost = 0;
        u64 first = 0;
        std::map<u64, u32> claimed;
        for (const char c : what) {
            const bool is_slab = c == 's' || c == 'S';
            is_slab ? slab(at(two_, page), big) : extent(at(two_, page), 1);
            const u32 blocks = is_slab ? slab_blocks(big) : 1;
            if (c == 'S' || c == 'E') {
                claimed[at(two_, page)] = blocks;
            } else {
                if (lost == 0) first = at(two_, page);
                lost += blocks;
            }
            page += is_slab ? slab_pages(big) : 1;
        }
        extent(at(two_, page), 1000);
        heap_audit& audit = read();
        for (const auto& [offset, blocks] : claimed) {
            for (u32 i = 0; i < blocks; ++i) {
                audit.claim(*audit.locate(offset + u64{i} * block_size(big), 0), "it", 0);
            }
        }
        audit.finish();
        EXPECT_EQ(books_.finished, 0);
        ASSERT_EQ(report_.violation_count(), lost == 0 ? 1U : 2U) << report_.to_string();
        if (lost == 0) continue;
        EXPECT_EQ(report_.violations().back().offset, first) << what;
        const std::string text = report_.violations().back().text;
        EXPECT_TRUE(text.starts_with(std::to_string(lost) + " blocks cannot be")) << text;
    }
}

}  // namespace
}  // namespace hf
