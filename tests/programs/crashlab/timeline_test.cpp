#include "crashlab/report/timeline.hpp"

#include "crashlab/report/summary.hpp"
#include "trace_maker.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

namespace hf::lab {
namespace {

const std::vector<std::byte>& memory() {
    static const std::vector<std::byte> zeros(64 * line_size);
    return zeros;
}

crash_model model() { return {memory().data(), persistence::pcso, memory().size(), true}; }

source_places places() {
    source_places p;
    p.add(1, {{"store", "src/persist/ordered.hpp", 20}, {"put", "src/a/b.cpp", 25}});
    return p;
}

/// A crash at the end of the trace, with this content of the line.
timeline_stage drawn(const trace_maker& t, u64 line, u32 chosen) {
    const told_stage s{t.events, model(), {static_cast<u32>(t.events.size()), {{line, chosen, 0}}}};
    finding f;
    f.what = "the key a has <nothing>";
    f.stages.push_back(s.crash);
    return make_timeline("a test", f, {s}, places()).stages.at(0);
}

std::vector<fate> fates(const timeline_stage& s, u64 line) {
    std::vector<fate> all;
    for (const timeline_row& r : s.rows) {
        const bool is_store = r.what.kind == event_kind::store;
        if (is_store && r.what.where / line_size == line) all.push_back(r.became);
    }
    return all;
}

TEST(timeline, tells_sure_reached_and_lost_stores_apart) {
    const auto s = drawn(
        trace_maker().store(64, 1).flush(64).fence().store(64, 2).store(72, 3).store(80, 4), 1, 2);
    EXPECT_EQ(fates(s, 1), (std::vector{fate::sure, fate::reached, fate::reached, fate::lost}));
    ASSERT_EQ(s.held.size(), 1U);
    EXPECT_EQ(s.held[0].on_way, 3U);
    EXPECT_EQ(s.held[0].reached, 2U);
    EXPECT_EQ(s.held[0].content.bytes[8], 3);
    EXPECT_EQ(s.held[0].content.bytes[16], 0);
}

TEST(timeline, knows_which_pieces_of_a_store_arrived) {
    const auto t = trace_maker()
                       .store(64, 1, 1, store_kind::stream)
                       .store(72, 2, 1, store_kind::stream)
                       .store(80, 3, 1, store_kind::stream);
    crash_model m = model();
    for (const event& e : t.events) m.advance(e);
    bool complete = true;
    const auto all = m.find(1)->versions(1, complete);
    ASSERT_EQ(all.size(), 8U);
    for (u32 i = 0; i < all.size(); ++i) {
        const auto told = fates(drawn(t, 1, i), 1);
        for (std::size_t k = 0; k < 3; ++k) {
            const bool arrived = all[i].content.bytes[8 * k] != 0;
            EXPECT_EQ(told.at(k), arrived ? fate::reached : fate::lost);
        }
    }
}

TEST(timeline, shows_lines_that_stayed_old) {
    const auto s = drawn(trace_maker().store(64, 1).store(128, 2), 1, 1);
    EXPECT_EQ(fates(s, 1), std::vector{fate::reached});
    EXPECT_EQ(fates(s, 2), std::vector{fate::lost});
}

TEST(timeline, leaves_out_lines_that_were_sure) {
    const auto s = drawn(trace_maker().store(640, 9).flush(640).fence().store(64, 1), 1, 1);
    EXPECT_TRUE(fates(s, 10).empty());
}

TEST(timeline, leaves_out_lines_that_nothing_changed) {
    EXPECT_TRUE(fates(drawn(trace_maker().store(640, 0).store(64, 1), 1, 1), 10).empty());
}

TEST(timeline, ends_at_the_crash) {
    const auto t = trace_maker().store(64, 1).store(64, 2);
    const told_stage s{t.events, model(), {1, {}}};
    EXPECT_EQ(make_timeline("", {}, {s}, places()).stages.at(0).rows.size(), 1U);
}

TEST(timeline, numbers_the_events_of_each_crash_anew) {
    const auto first = trace_maker().store(640, 1).store(640, 2);
    crash_model later = model();
    for (const event& e : first.events) later.advance(e);
    const auto t = trace_maker().store(64, 1).store(64, 2);
    const told_stage s{t.events, later, {2, {{1, 1, 0}}}};
    const auto drawn_later = make_timeline("", {}, {s}, places()).stages.at(0);
    EXPECT_EQ(fates(drawn_later, 1), (std::vector{fate::reached, fate::lost}));
}

TEST(timeline, says_what_became_of_the_file) {
    const auto t = trace_maker().length(8192);
    const told_stage lost{t.events, model(), {1, {}}};
    EXPECT_NE(make_timeline("", {}, {lost}, places()).stages.at(0).file.find("was lost"),
              std::string::npos);
    const told_stage kept{t.events, model(), {1, {{choice_of_length, 1, 2}}}};
    EXPECT_NE(make_timeline("", {}, {kept}, places()).stages.at(0).file.find("8192 bytes"),
              std::string::npos);
}

TEST(timeline, elides_long_stretches) {
    std::vector<timeline_row> rows(1000);
    for (timeline_row& r : rows) r.what.kind = event_kind::fence;
    rows[500].what.kind = event_kind::store;
    rows[500].became = fate::lost;
    const auto e = detail::excerpt_of(rows, 10);
    EXPECT_EQ(e.gaps, (std::vector<std::size_t>{490, 489}));
    EXPECT_EQ(e.rows.size(), 23U);
    EXPECT_NE(std::find(e.rows.begin(), e.rows.end(), 500U), e.rows.end());
}

timeline sample() {
    trace_maker t;
    t.store(64, 0x1234)
        .noted(64, 8)
        .flush(64)
        .point(
            "a <point> with a name that is longer than "
            "what a terminal has room for, by far, yes");
    for (u64 i = 0; i < 200; ++i) t.store(64 + 8 * (i % 3), i).fence();
    finding f;
    f.what = "the key a has <nothing>";
    f.stages.push_back({static_cast<u32>(t.events.size()), {{1, 3, 0}}});
    return make_timeline("a & b", f, {{t.events, model(), f.stages[0]}}, places());
}

TEST(timeline_text, fits_into_a_terminal_and_says_everything) {
    const std::string text = to_text(sample());
    std::istringstream in(text);
    std::size_t lines = 0;
    for (std::string line; std::getline(in, line); ++lines) EXPECT_LE(line.size(), 120U) << line;
    EXPECT_LT(lines, 150U);
    for (const char* part : {"a & b", "0000000000001234 release", "src/a/b.cpp:25", "more", "crash",
                             "1+00", "LOST", "the key a has <nothing>"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
    }
}

TEST(timeline_svg, is_one_whole_element_with_escaped_text) {
    const std::string svg = to_svg(sample());
    EXPECT_TRUE(svg.starts_with("<svg "));
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
    EXPECT_NE(svg.find("a &amp; b"), std::string::npos);
    EXPECT_NE(svg.find("has &lt;nothing&gt;"), std::string::npos);
    EXPECT_EQ(svg.find("<nothing>"), std::string::npos);
    EXPECT_NE(svg.find("class=\"crash\""), std::string::npos);
}

TEST(source_places, show_the_innermost_caller_of_the_persist_layer) {
    source_places p;
    p.add(5, {{"store", "/usr/include/c++/12/bits/atomic_base.h", 464},
              {"flush", "src/persist/medium.hpp", 60},
              {"put", "src/a/b.cpp", 7},
              {"main", "src/a/c.cpp", 8}});
    p.add(6, {{"write", "src/a/d.cpp", 0}});
    EXPECT_EQ(p.text(5), "src/a/b.cpp:7");
    EXPECT_EQ(p.text(6), "src/a/d.cpp, write()");
    EXPECT_EQ(p.text(0), "");
    EXPECT_EQ(p.text(0xabc), "0xabc");
}

TEST(source_places, finds_this_file_in_this_program) {
    const auto t = trace_maker().store(0, 0, reinterpret_cast<u64>(&sample) + 2);
    source_places p;
    p.resolve(t.events);
    const std::string place = p.text(t.events[0].pc);
    EXPECT_TRUE(place.starts_with("tests/programs/crashlab/timeline_test.cpp") ||
                place.starts_with("0x"))
        << place;
}

TEST(source_places, names_are_cut_to_their_last_part) {
    EXPECT_EQ(short_name("hf::lane::note_once(void const*, unsigned long)"), "note_once");
    EXPECT_EQ(short_name("take"), "take");
}

campaign_report sample_report() {
    const trace_maker numbered = trace_maker().point("point X").point("point Y");
    target_description d;
    d.name = "leaf.insert";
    d.room = "masstree";
    d.points = {"point X", "point Y"};
    counts c;
    c.states = 1000;
    c.crash_points = 7;
    c.points.insert(numbered.events[0].value);
    campaign_report r;
    r.environment = this_environment();
    r.targets.push_back(target_summary_of(d, c, 3, 0.5));
    r.targets[0].findings.push_back({"lost <a>", "./dev crash --replay '1:2=3'", "point X"});
    return r;
}

TEST(campaign_report, counts_what_was_missed) {
    const auto all = sample_report().totals();
    EXPECT_EQ(all.states, 1000U);
    EXPECT_EQ(all.findings, 1U);
    EXPECT_EQ(all.points_reached, 1U);
    EXPECT_EQ(all.points_missed, std::vector<std::string>{"point Y"});
}

TEST(campaign_report, is_readable_as_json) {
    const auto json = nlohmann::json::parse(to_json(sample_report()));
    EXPECT_EQ(json["targets"][0]["states_per_second"], 2000.0);
    EXPECT_EQ(json["targets"][0]["findings"][0]["what"], "lost <a>");
    EXPECT_EQ(json["totals"]["points_missed"][0], "point Y");
    EXPECT_FALSE(json["environment"]["compiler"].get<std::string>().empty());
}

TEST(campaign_report, has_a_page_with_every_outcome) {
    const std::string html = to_html(sample_report());
    for (const char* part : {"lost &lt;a&gt;", "o violation", "o missed", "masstree", "</html>"}) {
        EXPECT_NE(html.find(part), std::string::npos) << part;
    }
}

TEST(campaign_report, has_a_table_for_the_terminal) {
    const std::string text = to_text(sample_report());
    EXPECT_NE(text.find("VIOLATION"), std::string::npos);
    EXPECT_NE(text.find("not reached: point Y"), std::string::npos);
}

TEST(campaign_report, knows_the_point_of_a_finding) {
    const auto t = trace_maker().store(64, 1).point("point X");
    finding f;
    f.stages.push_back({1, {}});
    EXPECT_EQ(point_of(f, t.events), "point X");
    f.stages[0].event = 0;
    EXPECT_EQ(point_of(f, t.events), "");
}

}  // namespace
}  // namespace hf::lab
