#include "crashlab/report/disk_timeline.hpp"

#include "crashlab/disk/model_disk.hpp"
#include "crashlab/targets/target.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace hf::lab {
namespace {

bytes of(std::size_t n, int value) { return bytes(n, static_cast<std::byte>(value)); }

/// Two sectors are synced, two more are written, one of these is kept; the file has grown.
disk_story sample() {
    disk_story s;
    model_disk d(of(2048, 0));
    d.story = &s;
    d.label = "base";
    EXPECT_TRUE(d.write(0, of(1024, 1)).has_value());
    EXPECT_TRUE(d.sync().has_value());
    EXPECT_TRUE(d.write(1024, of(1024, 2)).has_value());
    EXPECT_TRUE(d.write(0, of(512, 1)).has_value());
    EXPECT_TRUE(d.extend(4096).has_value());
    d.tell_fates([](std::size_t i) { return i == 1; });
    s.title = "a & b";
    s.what = "lost <sector>";
    return s;
}

TEST(disk_story, tells_synced_kept_and_lost_sectors_apart) {
    const disk_story s = sample();
    ASSERT_EQ(s.calls.size(), 5U);
    EXPECT_EQ(s.calls[0].synced, 2U);
    EXPECT_EQ(s.calls[0].lost(), 0U);
    EXPECT_EQ(s.calls[1].act, disk_act::sync);
    EXPECT_EQ(s.calls[2].kept, 1U);
    EXPECT_EQ(s.calls[2].lost(), 1U);
    EXPECT_EQ(s.calls[3].sectors, 0U);  // what is written over itself adds nothing
    EXPECT_TRUE(s.calls[4].is_unsure);
    EXPECT_EQ(s.calls[4].kept, 0U);
}

TEST(disk_story, says_what_the_disk_has_left) {
    disk_story s;
    model_disk d(of(1024, 0));
    d.story = &s;
    ASSERT_TRUE(d.write(0, of(1024, 7)).has_value());
    const auto first_only = [](std::size_t i) { return i == 0; };
    d.tell_fates(first_only);
    const bytes left = d.after_power_cut(first_only);
    EXPECT_EQ(s.calls.at(0).kept, 1U);
    EXPECT_EQ(std::count(left.begin(), left.end(), std::byte{7}), 512);
}

TEST(disk_timeline, says_everything_in_a_terminals_width) {
    const std::string text = to_text(sample());
    for (const char* part : {"a & b", "1024+1024 (2 sectors changed)", "1 reached, 1 LOST", "sync",
                             "of 3 pieces", "1 reached their disk", "lost <sector>"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
    }
    std::size_t length = 0;
    for (const char c : text) {
        length = c == '\n' ? 0 : length + 1;
        EXPECT_LE(length, 120U);
    }
}

TEST(disk_timeline, is_drawn_as_one_whole_element_with_escaped_text) {
    const std::string svg = to_svg(sample());
    EXPECT_TRUE(svg.starts_with("<svg "));
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
    EXPECT_NE(svg.find("lost &lt;sector&gt;"), std::string::npos);
    EXPECT_NE(svg.find("class=\"lost\""), std::string::npos);
    EXPECT_NE(svg.find("class=\"crash\""), std::string::npos);
}

}  // namespace
}  // namespace hf::lab
