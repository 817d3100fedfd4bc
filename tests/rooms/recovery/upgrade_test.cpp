// A region of a made-up room, "counter", in its older versions: upgraded when it is opened.
//
// Version 1 has its number in the first word of the first segment. Version 2 has twice the number
// in the second word, version 3 has a sum of both in the third.
#include "recovery/upgrade.hpp"

#include "persist/persist_point.hpp"
#include "recovery/opening.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

namespace hf {
namespace {

using layout::room_format;
using test::must;

constexpr room_format version_1[] = {{"counter", 1}};
constexpr room_format version_2[] = {{"counter", 2}};
constexpr room_format version_3[] = {{"counter", 3}};
constexpr room_format of_others[] = {{"others", 1}};
constexpr room_format both[] = {{"counter", 2}, {"others", 1}};

u64* words(const region& r) { return r.at<u64>(layout::page_size); }

unsigned runs = 0;

result<void> to_2(region& r) {
    ++runs;
    words(r)[1] = 2 * words(r)[0];
    r.med().flush(words(r) + 1, 8);
    return {};
}
result<void> to_3(region& r) {
    ++runs;
    words(r)[2] = words(r)[0] + words(r)[1];
    r.med().flush(words(r) + 2, 8);
    return {};
}
const upgrade_step steps[] = {{"counter", 1, 2, to_2}, {"counter", 2, 3, to_3}};

class upgraded : public test::on_tmpfs {
   protected:
    test::nothing_lost check;
    void SetUp() override { runs = 0; }
    opening_options options(std::span<const room_format> rooms,
                            std::span<const upgrade_step> upgrades = {}) const {
        opening_options o{.file = test::small_options(), .rooms = rooms, .upgrades = upgrades};
        o.file.medium = medium_;
        return o;
    }
    /// Of version 1, closed in order.
    void make() {
        const auto r = must(open_region(file, options(version_1)));
        words(*r.file)[0] = 21;
    }
    error refused(const opening_options& o) {
        const auto before = test::fingerprint_of(file);
        const auto r = open_region(file, o);
        EXPECT_FALSE(r);
        EXPECT_EQ(test::fingerprint_of(file), before) << "a refusal changes nothing";
        return r ? error{} : r.error();
    }
    void expect_version_3() {
        const auto r = must(open_region(file, options(version_3, steps)));
        EXPECT_EQ(version_of(r.file->super(), "counter"), 3U);
        EXPECT_EQ(words(*r.file)[1], 42U);
        EXPECT_EQ(words(*r.file)[2], 63U);
        EXPECT_TRUE(r.file->was_clean());
    }

    std::optional<medium_kind> medium_;
};

TEST_F(upgraded, step_by_step_once) {
    make();
    expect_version_3();
    EXPECT_EQ(runs, 2U);
    expect_version_3();
    EXPECT_EQ(runs, 2U) << "what is of this version is left alone";
}

TEST_F(upgraded, by_the_longest_step_that_does_not_lead_too_far) {
    make();
    unsigned long_way = 0;
    const upgrade_step all[] = {{"counter", 1, 2, to_2},
                                {"counter", 1, 3, [&](region&) -> result<void> {
                                     ++long_way;
                                     return {};
                                 }}};
    {
        const auto r = must(open_region(file, options(version_3, all)));
        EXPECT_EQ(version_of(r.file->super(), "counter"), 3U);
    }
    EXPECT_EQ(long_way, 1U);
    EXPECT_EQ(runs, 0U);
}

// A room's steps are its own; of those that begin where it is, the longest one that does not lead
// too far is taken, and of two such the first: in every order, and to every version.
TEST_F(upgraded, by_each_rooms_own_steps) {
    constexpr room_format made[] = {{"counter", 1}, {"others", 2}};
    std::string ran;
    const auto step = [&ran](std::string_view room, u32 from, u32 to, char mark) {
        return upgrade_step{room, from, to, [&ran, mark](region&) -> result<void> {
                                ran += mark;
                                return {};
                            }};
    };
    std::vector<upgrade_step> all{
        step("counter", 1, 2, 'a'), step("counter", 1, 4, 'b'), step("counter", 2, 3, 'c'),
        step("counter", 1, 3, 'd'), step("counter", 3, 4, 'e'), step("others", 1, 9, 'f'),
        step("others", 2, 3, 'g'),  step("others", 3, 5, 'h'),  step("others", 2, 4, 'i'),
        step("others", 0, 1, 'j'),  step("counter", 0, 9, 'k')};
    const std::map<std::pair<u32, u32>, std::string> expected{
        {{1, 2}, ""},  {{2, 2}, "a"},  {{3, 2}, "d"},      {{4, 2}, "b"}, {{5, 2}, "no way"},
        {{1, 3}, "g"}, {{2, 4}, "ai"}, {{3, 5}, "no way"}, {{4, 3}, "bg"}};
    for (int turn = 0; turn < 2; ++turn) {
        for (const auto& [versions, steps_taken] : expected) {
            {
                const auto r = must(open_region(file, options(made)));
                ASSERT_EQ(version_of(r.file->super(), "counter"), 1U);
            }
            const room_format wanted[] = {{"counter", versions.first}, {"others", versions.second}};
            ran.clear();
            const auto r = open_region(file, options(wanted, all));
            EXPECT_EQ(r ? ran : "no way", steps_taken) << versions.first << ", " << versions.second;
            if (r) {
                EXPECT_EQ(version_of(r->file->super(), "counter"), versions.first);
                EXPECT_EQ(version_of(r->file->super(), "others"), versions.second);
            } else {
                EXPECT_EQ(ran, "") << "nothing is changed";
            }
            std::filesystem::remove(file);
        }
        std::reverse(all.begin(), all.end());
    }
    const upgrade_step twice[] = {step("counter", 1, 2, 'x'), step("counter", 1, 2, 'y')};
    make();
    ran.clear();
    must(open_region(file, options(version_2, twice)));
    EXPECT_EQ(ran, "x");
}

#ifdef HF_PERSIST_POINTS
TEST_F(upgraded, cut_short_at_each_persist_point_and_opened_again) {
    for (const std::string point : {"recovery U1", "recovery U2", "region S1", "region S2"}) {
        for (const int nth : {1, 2}) {
            make();
            static std::string wanted;
            static int left;
            wanted = point;
            left = nth;
            const int code = test::in_child([this] {
                set_persist_point_hook([](const char* name) {
                    if (std::string_view(name).starts_with(wanted) && --left == 0) ::_exit(7);
                });
                (void)open_region(file, options(version_3, steps));
                return 0;
            });
            EXPECT_EQ(code, 7) << point << " was not reached " << nth << " times";
            expect_version_3();
            std::filesystem::remove(file);
        }
    }
}
#endif

TEST_F(upgraded, a_step_that_fails_leaves_the_version_as_it_was) {
    make();
    const upgrade_step failing[] = {{"counter", 1, 2, [](region& r) -> result<void> {
                                         words(r)[1] = 5;
                                         return failure({errc::no_space, "", "", "", ""});
                                     }}};
    const auto r = open_region(file, options(version_2, failing));
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, errc::no_space);
    EXPECT_EQ(version_of(must(open_region(file, options(version_1))).file->super(), "counter"), 1U);
    expect_version_3();
}

TEST_F(upgraded, not_where_it_is_only_looked_at) {
    make();
    const auto before = test::fingerprint_of(file);
    auto look = options(version_3, steps);
    look.file.mode = open_mode::inspect;
    {
        const auto r = must(open_region(file, look));
        EXPECT_EQ(words(*r.file)[2], 63U) << "who looks sees it as of today";
    }
    EXPECT_EQ(test::fingerprint_of(file), before);
}

TEST_F(upgraded, on_the_medium_file_nothing_reaches_the_disk_before_the_first_epoch) {
    medium_ = medium_kind::file;
    make();  // the stores are lost with the memory: there was no epoch
    const auto before = test::fingerprint_of(file);
    {
        const auto r = must(open_region(file, options(version_3, steps)));
        EXPECT_EQ(version_of(r.file->super(), "counter"), 3U);
        EXPECT_FALSE(r.journal->dirty()->empty()) << "the first epoch has it";
    }
    EXPECT_EQ(test::fingerprint_of(file), before);
}

TEST_F(upgraded, never_a_newer_room_or_an_unknown_one) {
    {
        const auto r = must(open_region(file, options(version_3)));
    }
    error e = refused(options(version_2, steps));
    EXPECT_EQ(e.code, errc::incompatible);
    EXPECT_NE(e.why.find("version 3 of counter"), std::string::npos) << e.to_string();
    EXPECT_NE(e.why.find("knows versions up to 2"), std::string::npos) << e.to_string();
    EXPECT_EQ(e.next, "use the Holdfast that wrote it, or a newer one");
    e = refused(options(of_others, steps));
    EXPECT_EQ(e.code, errc::incompatible);
    EXPECT_NE(e.why.find("does not know"), std::string::npos) << e.to_string();
}

TEST_F(upgraded, never_without_a_way_there) {
    make();
    const error e = refused(options(version_3, std::span(steps).first(1)));
    EXPECT_EQ(e.code, errc::incompatible);
    EXPECT_NE(e.next.find("dump"), std::string::npos) << e.to_string();
    EXPECT_EQ(runs, 0U);
}

TEST_F(upgraded, never_what_was_not_closed_in_order) {
    make();
    test::change_superblocks(file, [](layout::superblock& s) { s.clean = 0; });
    const error e = refused(options(version_2, steps));
    EXPECT_EQ(e.code, errc::incompatible);
    EXPECT_NE(e.why.find("not closed in order"), std::string::npos) << e.to_string();
    EXPECT_EQ(runs, 0U);
    EXPECT_TRUE(open_region(file, options(version_1, steps)));
}

TEST_F(upgraded, where_a_room_that_has_nothing_there_needs_nothing_unless_a_step_begins_it) {
    make();
    {
        const auto r = must(open_region(file, options(both, steps)));
        EXPECT_EQ(version_of(r.file->super(), "others"), 0U);
    }
    const upgrade_step begin[] = {{"others", 0, 1, [](region&) -> result<void> { return {}; }}};
    const auto r = must(open_region(file, options(both, begin)));
    EXPECT_EQ(version_of(r.file->super(), "others"), 1U);
    EXPECT_EQ(version_of(r.file->super(), "counter"), 2U);
}

TEST_F(upgraded, only_by_those_who_read_rooms) {
    make();
    const auto r = must(open_region(file, options({})));
    EXPECT_EQ(version_of(r.file->super(), "counter"), 1U);
}

}  // namespace
}  // namespace hf
