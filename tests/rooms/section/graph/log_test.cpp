// A lane's log: bounds, waiting for room, what is counted, sessions, media.
#include "recovery/opening.hpp"
#include "section/graph/program_runner.hpp"
#include "support/must.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace hf::test {
namespace {

using graph::access;
using graph::graph_mode;

class section_log : public on_tmpfs {
   protected:
    char lock = 0;

    void section(program_runner& p, u64 value) {
        p.mode().begin(p.lane(0));
        p.mode().acquired(p.lane(0), &lock, access::exclusive);
        p.mode().before_store(p.lane(0), p.variable(0), 8);
        *p.variable(0) = value;
        p.mode().releasing(p.lane(0), &lock, access::exclusive);
        p.mode().end(p.lane(0));
    }
};

TEST_F(section_log, is_bounded_while_sections_go_on_for_many_laps) {
    program_runner p(file);
    const u64 pages = p.file().size();
    for (u64 n = 1; n <= 5000; ++n) {
        section(p, n);
        ASSERT_LE(p.lane(0).log.used(), p.lane(0).log.capacity() / 2 + 3);
    }
    EXPECT_EQ(p.file().size(), pages + layout::page_size) << "a lane's log is made once";
    EXPECT_GT(p.mode().stats().waits, 0U);
    EXPECT_GT(p.mode().stats().entries, p.lane(0).log.capacity()) << "no lap was completed";
    EXPECT_EQ(p.after_crash()[0], 5000U);
}

TEST_F(section_log, takes_one_entry_for_stores_to_the_same_bytes_in_a_section) {
    program_runner p(file);
    p.mode().begin(p.lane(0));
    const u64 before = p.lane(0).log.next();
    for (u64 n = 1; n <= 100; ++n) {
        p.mode().before_store(p.lane(0), p.variable(0), 8);
        *p.variable(0) = n;
    }
    EXPECT_EQ(p.lane(0).log.next(), before + 1);
    EXPECT_EQ(p.after_crash()[0], 0U);
    p.mode().end(p.lane(0));
    EXPECT_EQ(p.after_crash()[0], 100U);
}

TEST_F(section_log, restores_ranges_of_any_alignment_and_nothing_beside_them) {
    for (u64 at = 0; at < 12; ++at) {
        for (u64 n = 1; n <= 24; ++n) {
            std::filesystem::remove(file);
            program_runner p(file);
            auto* const bytes = reinterpret_cast<unsigned char*>(p.variable(0));
            p.mode().begin(p.lane(0));
            p.mode().before_store(p.lane(0), bytes + at, n);
            std::memset(bytes + at, 0xEE, n);
            // A neighbour's bytes, kept.
            p.mode().begin(p.lane(1));
            p.mode().before_store(p.lane(1), bytes + at + n, 1);
            bytes[at + n] = 0x77;
            p.mode().end(p.lane(1));
            const values found = p.after_crash();
            p.mode().end(p.lane(0));
            const auto* const after = reinterpret_cast<const unsigned char*>(found.data());
            // Variables 0 and 1 are neighbours in memory; beyond 16 bytes nothing is returned.
            for (u64 i = 0; i < 16; ++i) {
                ASSERT_EQ(after[i], i == at + n ? 0x77 : 0) << at << " " << n << " " << i;
            }
        }
    }
}

TEST_F(section_log, of_an_earlier_session_undoes_nothing) {
    {
        program_runner p(file);
        section(p, 7);
        ASSERT_TRUE(p.mode().wait_stable(p.lane(0), std::chrono::seconds(1)));
        p.mode().begin(p.lane(0));
        p.mode().before_store(p.lane(0), p.variable(1), 8);
        *p.variable(1) = 8;
        std::filesystem::copy_file(file, dir / "crashed");
        p.mode().end(p.lane(0));
    }
    region_options o;
    auto r = must(region::open(dir / "crashed", o));
    auto* const x = r->at<u64>(layout::page_size);
    {
        const auto first = must(graph_mode::open(*r, program_runner::default_options()));
        EXPECT_EQ(first->recovery().session, 1U);
        EXPECT_EQ(first->recovery().sections_undone, 1U);
        EXPECT_EQ(x[0], 7U);
        EXPECT_EQ(x[1], 0U);
        x[1] = 9;  // the old entry must not undo this
    }
    const auto second = must(graph_mode::open(*r, program_runner::default_options()));
    EXPECT_EQ(second->recovery().session, 2U);
    EXPECT_EQ(second->recovery().sections_undone, 0U);
    EXPECT_EQ(x[1], 9U);
}

TEST_F(section_log, elides_stores_outside_of_sections_only_while_nothing_can_be_undone) {
    program_runner p(file);
    p.take({0, action::store, 0, 1});
    EXPECT_EQ(p.mode().stats().elided_stores, 1U);
    section(p, 2);
    p.take({0, action::store, 0, 3});
    EXPECT_EQ(p.mode().stats().elided_stores, 1U) << "the section before it may be undone";
    ASSERT_TRUE(p.mode().wait_stable(p.lane(0), std::chrono::seconds(1)));
    p.take({0, action::store, 0, 4});
    EXPECT_EQ(p.mode().stats().elided_stores, 2U);
}

// The words evict each other from what the lane remembers as logged, so each store takes an entry.
TEST_F(section_log, ends_a_gap_in_time_though_its_stores_stay_in_two_lines) {
    for (const bool elide : {false, true}) {
        std::filesystem::remove(file);
        auto o = program_runner::default_options();
        o.elide_outside = elide;
        program_runner p(file, o);
        p.mode().begin(p.lane(0));
        p.mode().end(p.lane(0));  // it may be undone, so what follows needs entries
        const u64 stores = 2 * p.lane(0).log.capacity();
        for (u64 n = 1; n <= stores; ++n) {
            u64* const word = p.variable(0) + (n % 2) * 1024;
            p.mode().before_store(p.lane(0), word, 8);
            *word = n;
        }
        EXPECT_GE(p.mode().stats().sections, stores / 64) << elide;
        EXPECT_GE(p.lane(0).log.next(), stores) << "the words were remembered";
    }
}

TEST_F(section_log, ends_a_gap_after_64_stores_to_one_word) {
    auto o = program_runner::default_options();
    o.elide_outside = false;
    program_runner p(file, o);
    for (u64 n = 1; n <= 640; ++n) p.take({0, action::store, 0, n});
    EXPECT_EQ(p.mode().stats().sections, 9U) << "the tenth is open";
}

// G7: of two lines either may reach the medium first, so both are durable before the next store.
TEST_F(section_log, writes_lines_back_that_one_store_has_met_before_the_next_store) {
    program_runner p(file);
    auto& l = p.lane(0);
    const u64 first = p.file().offset_of(p.variable(0)) / line_size;
    using lines = std::vector<u64>;
    const auto store = [&](u64 word, u64 n) { p.mode().before_store(l, p.variable(0) + word, n); };
    store(7, 16);
    EXPECT_EQ(l.lines, (lines{first, first + 1}));
    store(8, 8);
    EXPECT_EQ(l.lines, lines{first + 1}) << "the second line could be evicted before the first";
    store(9, 8);
    EXPECT_EQ(l.lines, lines{first + 1});
    store(7, 16);
    EXPECT_EQ(l.lines, (lines{first, first + 1})) << "in their order";
    store(7, 8);
    EXPECT_EQ(l.lines, lines{first}) << "the older store to the second line is durable";
}

TEST_F(section_log, makes_stability_wait_for_a_section_that_is_depended_on) {
    program_runner p(file);
    p.mode().begin(p.lane(1));
    p.mode().acquired(p.lane(1), &lock, access::exclusive);
    p.mode().releasing(p.lane(1), &lock, access::exclusive);
    section(p, 1);
    const auto waited = p.mode().wait_stable(p.lane(0), std::chrono::milliseconds(20));
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().code, errc::busy);
    p.mode().end(p.lane(1));
    EXPECT_TRUE(p.mode().wait_stable(p.lane(0), std::chrono::seconds(1)));
}

TEST_F(section_log, is_refused_on_a_disk) {
    region_options o;
    o.medium = medium_kind::file;
    const auto on_disk = must(open_region(file, {.file = o}));
    const auto opened = graph_mode::open(*on_disk.file, {});
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, errc::medium);
}

}  // namespace
}  // namespace hf::test
