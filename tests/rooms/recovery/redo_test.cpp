// A journal beside a region: whether it belongs to it, and what is made of it.
#include "recovery/redo.hpp"

#include "base/random.hpp"
#include "journal_beside.hpp"
#include "recovery/opening.hpp"
#include "support/effort.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <set>

namespace hf::test {
namespace {

namespace fs = std::filesystem;

class redo : public journal_beside {};

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// ---------------------------------------------------------------- whose it is

// The four answers, told apart by what both files say of themselves, in every combination.
TEST_F(redo, is_taken_for_the_regions_own_just_where_its_history_goes_on_from_there) {
    make_base();
    const auto good = header();
    const u64 journals_generation = who.generation;
    constexpr u64 base_epoch = 5;
    struct case_of_journal {
        u64 first_record;  ///< 1: nothing has been applied yet
        u64 last_epoch;
    };
    for (const case_of_journal j : {case_of_journal{1, 0}, {1, 7}, {2, 0}, {2, 7}}) {
        // Up to epoch 7, of which the first may have been applied.
        make_journal(j.last_epoch == 0 ? std::vector<std::vector<u64>>{}
                                       : std::vector<std::vector<u64>>{{1600}, {1601, 1602}});
        change_header([&](journal::header_facts& h) { h.oldest.record = j.first_record; });
        for (unsigned ours = 0; ours < 4; ++ours) {
            for (const u64 first : {2U, 3U, 4U, 5U}) {
                for (const u64 second : {2U, 3U, 4U, 5U}) {
                    for (const u64 epoch :
                         {u64{0}, u64{4}, u64{5}, u64{6}, u64{7}, u64{8}, u64{9}}) {
                        const auto h = detail::blank_header();
                        std::memcpy(static_cast<void*>(h.get()), good.get(), sizeof *h);
                        h->super[0].generation = first;
                        h->super[1].generation = second;
                        if ((ours & 1U) == 0) ++h->super[0].uuid[15];
                        if ((ours & 2U) == 0) ++h->super[1].uuid[0];
                        layout::epoch_record_init(h->epoch, epoch);
                        if (epoch == 0) h->epoch.epoch = 3;  // torn

                        const bool is_ours[2] = {(ours & 1U) != 0, (ours & 2U) != 0};
                        const u64 generations[2] = {first, second};
                        bool all_later = true;
                        bool any_fits = false;
                        for (int i = 0; i < 2; ++i) {
                            all_later &= is_ours[i] && generations[i] > journals_generation;
                            const bool next_session =
                                j.first_record == 1 && generations[i] + 1 == journals_generation;
                            any_fits |= is_ours[i] &&
                                        (generations[i] == journals_generation || next_session);
                        }
                        const u64 last = j.last_epoch != 0 ? j.last_epoch : base_epoch;
                        const bool too_old =
                            epoch != 0 && j.first_record != 1 && epoch <= base_epoch;
                        std::string expected = "found";
                        if (all_later) {
                            expected = "earlier session";
                        } else if (ours == 0) {
                            expected = "another region";
                        } else if (epoch > last + 1) {
                            expected = "older than the region";
                        } else if (!any_fits || too_old) {
                            expected = "newer than the region";
                        }

                        const auto before = detail::blank_header();
                        std::memcpy(static_cast<void*>(before.get()), h.get(), sizeof *h);
                        const auto got = find(*h, false);
                        const std::string what = "copies of ours " + std::to_string(ours) +
                                                 ", generations " + std::to_string(first) +
                                                 " and " + std::to_string(second) + ", epoch " +
                                                 std::to_string(epoch) + ", records from " +
                                                 std::to_string(j.first_record) + " to epoch " +
                                                 std::to_string(j.last_epoch);
                        EXPECT_EQ(
                            std::memcmp(static_cast<const void*>(before.get()), h.get(), sizeof *h),
                            0);
                        if (!got) {
                            EXPECT_EQ(got.error().code, errc::corrupt);
                            EXPECT_EQ(got.error().where, journal_file.string());
                            EXPECT_TRUE(contains(got.error().why, expected))
                                << got.error().why << "; expected: " << expected << "; " << what;
                        } else {
                            EXPECT_EQ(*got ? "found" : "earlier session", expected) << what;
                        }
                    }
                }
            }
        }
    }
}

TEST_F(redo, is_none_without_a_file_and_an_error_of_its_own_where_that_is_no_journal) {
    make_base();
    const auto h = header();
    const auto none = find(*h);
    EXPECT_TRUE(none && !*none);
    EXPECT_EQ(detail::journal_path(file), journal_file);
    write_file(journal_file, std::vector<std::byte>(100'000));
    EXPECT_EQ(find(*h).error().code, errc::corrupt);
    fs::remove(journal_file);
    fs::create_symlink(dir / "nowhere", journal_file);
    EXPECT_EQ(find(*h).error().code, errc::unsafe_file) << "something lies there";
    fs::remove(journal_file);
    make_journal({});
    const auto used = must(detail::open_file(journal_file, true));
    EXPECT_EQ(find(*h, true).error().code, errc::busy);
    EXPECT_EQ(find(*h, false).error().code, errc::busy);
}

TEST_F(redo, of_a_region_that_is_inspected_can_be_read_by_several) {
    make_base();
    make_journal({{1600}});
    const auto a = header();
    const auto b = header();
    const auto one = must(find(*a, false));
    const auto other = must(find(*b, false));
    EXPECT_TRUE(one && other);
    EXPECT_EQ(find(*a, true).error().code, errc::busy);
}

// ---------------------------------------------------------------- what it says

/// Its contents, kept in a map as well.
class random_redo : public redo, public ::testing::WithParamInterface<int> {
   protected:
    /// Lines of 4 pages, of what is reserved in the header too. A record takes one chunk or more.
    void fill(xoshiro256ss& random) {
        make_base();
        const u64 base_lines = 4 * page_size / line_size;
        std::vector<std::vector<u64>> all(random.below(6));
        count = all.size();
        u8 number = 0;
        for (auto& lines : all) {
            ++number;
            std::set<u64> chosen;
            u64 line = offsetof(layout::header, reserved2) / line_size + random.below(400);
            const u64 most = 1 + random.below(700);
            while (chosen.size() < most && line < base_lines) {
                chosen.insert(line);
                expected[line] = number;
                line += 1 + (random.below(3) == 0 ? random.below(40) : 0);
            }
            lines.assign(chosen.begin(), chosen.end());
        }
        make_journal(all);
    }
    /// `content` with what the journal says.
    [[nodiscard]] std::vector<std::byte> overlaid(std::vector<std::byte> content) const {
        for (const auto& [line, number] : expected) {
            for (u64 i = line * line_size; i < (line + 1) * line_size && i < content.size(); ++i) {
                content[i] = std::byte{number};
            }
        }
        return content;
    }

    u64 count = 0;
    std::map<u64, u8> expected;
};

TEST_P(random_redo, is_laid_over_headers_over_memory_and_over_files) {
    xoshiro256ss random(static_cast<u64>(GetParam()));
    fill(random);
    const auto base = read_file(file);
    const auto h = header();
    auto pending = must(find(*h));
    ASSERT_TRUE(pending);
    const auto whole = overlaid(base);
    EXPECT_EQ(std::memcmp(h.get(), whole.data(), sizeof *h), 0) << "the header of both";

    EXPECT_EQ(pending->records(), count);
    const u64 end = expected.empty() ? 0 : (expected.rbegin()->first + 1) * line_size;
    EXPECT_EQ(pending->needed_bytes(), end);
    const auto rest = pending->emptied();
    EXPECT_EQ(rest.segments, 0U);
    EXPECT_EQ(rest.oldest, (journal::position{count + 1, 0}));
    EXPECT_EQ(rest.base_epoch, 5 + count);
    EXPECT_EQ(rest.who, who);

    for (const u64 bytes : {u64{0}, u64{1}, page_size, end / 2 + 7, end - std::min<u64>(end, 1),
                            end, u64{base.size()}}) {
        std::vector<std::byte> memory(base.begin(), base.begin() + static_cast<long>(bytes));
        const auto wanted = overlaid(memory);
        must(pending->overlay(memory));
        EXPECT_TRUE(memory == wanted) << bytes << " bytes of memory";
    }
    {
        write_file(dir / "copy", base);
        const auto to = must(detail::open_file(dir / "copy", true));
        journal::posix_file disk(to.get(), "copy");
        must(pending->merge_into(disk));
    }
    EXPECT_TRUE(read_file(dir / "copy") == whole);
    EXPECT_TRUE(read_file(file) == base) << "nothing has touched the base";
    {
        const auto to = must(detail::open_file(file, true));
        must(pending->apply_to(to, "base"));
    }
    EXPECT_TRUE(read_file(file) == whole);
    const auto journal = pending->take_file();
    EXPECT_TRUE(journal.is_open());
    EXPECT_TRUE(detail::is_at(journal, journal_file));
}

TEST_P(random_redo, is_the_same_for_who_follows_it_and_for_who_inspects) {
    xoshiro256ss random(100 + static_cast<u64>(GetParam()));
    fill(random);
    const auto whole = overlaid(read_file(file));
    {
        const auto h = header();
        auto followed =
            must(detail::pending_redo::follow(must(detail::open_unlocked(journal_file)), file, *h));
        ASSERT_TRUE(followed);
        EXPECT_EQ(followed->records(), count);
        EXPECT_EQ(std::memcmp(h.get(), whole.data(), sizeof *h), 0);
    }
    const auto before = fingerprint_of(file);
    const auto journal_before = fingerprint_of(journal_file);
    region_options o = small_options();
    o.mode = open_mode::inspect;
    for (int i = 0; i < 2; ++i) {
        const auto r = must(open_region(file, o));
        EXPECT_EQ(r.recovered_records, count);
        EXPECT_EQ(r.journal, nullptr);
        EXPECT_EQ(std::memcmp(r.file->base() + page_size, whole.data() + page_size,
                              whole.size() - page_size),
                  0);
    }
    EXPECT_EQ(fingerprint_of(file), before);
    EXPECT_EQ(fingerprint_of(journal_file), journal_before);
}

INSTANTIATE_TEST_SUITE_P(seeds, random_redo, ::testing::Range(1, 1 + effort(12)));

// ---------------------------------------------------------------- with and without

TEST_F(redo, is_needed_by_what_was_not_closed_on_the_medium_file_and_fits_into_it) {
    make_base();
    constexpr u64 last_line = 2500;
    make_journal({{2000, last_line}, {1999}});
    std::optional<detail::pending_redo> there = found();
    const std::optional<detail::pending_redo> none;
    const u64 end = (last_line + 1) * line_size;
    for (const auto medium :
         {medium_kind::dax, medium_kind::eadr, medium_kind::shm, medium_kind::file}) {
        for (const u8 clean : {u8{0}, u8{1}}) {
            layout::superblock s{};
            s.medium = medium;
            s.clean = clean;
            for (const u64 bytes : {end - 1, end, end + 1}) {
                const auto ok = detail::check_journal(s, bytes, there, file.string());
                EXPECT_EQ(ok.has_value(), bytes >= end) << bytes;
                if (!ok) {
                    EXPECT_EQ(ok.error().code, errc::corrupt);
                    EXPECT_EQ(ok.error().where, journal_file.string());
                }
            }
            const auto ok = detail::check_journal(s, end, none, file.string());
            EXPECT_EQ(ok.has_value(), medium != medium_kind::file || clean == 1);
            if (ok) continue;
            EXPECT_EQ(ok.error().code, errc::corrupt);
            EXPECT_EQ(ok.error().where, file.string());
            EXPECT_TRUE(contains(ok.error().why, "one of an earlier session"));
        }
    }
    layout::superblock s{};
    s.medium = medium_kind::file;
    const auto missing = detail::check_journal(s, end, none, (dir / "other").string());
    ASSERT_FALSE(missing);
    EXPECT_TRUE(contains(missing.error().why, "its journal is missing")) << missing.error().why;
}

TEST_F(redo, without_its_region_stands_in_the_way_of_a_new_one) {
    must(detail::check_no_journal(file, "make it"));
    make_base();
    make_journal({{1600}});
    const auto base = read_file(file);
    const auto before = fingerprint_of(journal_file);
    fs::remove(file);
    const auto refused = detail::check_no_journal(file, "make it");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::usage);
    EXPECT_EQ(refused.error().what, "make it");
    EXPECT_EQ(refused.error().where, journal_file.string());
    for (const auto mode : {open_mode::open_or_create, open_mode::create_new}) {
        region_options o = small_options();
        o.mode = mode;
        const auto r = open_region(file, o);
        ASSERT_FALSE(r);
        EXPECT_EQ(r.error().code, errc::usage);
        EXPECT_EQ(r.error().where, journal_file.string());
    }
    for (const auto mode : {open_mode::open_existing, open_mode::inspect}) {
        region_options o = small_options();
        o.mode = mode;
        EXPECT_EQ(open_region(file, o).error().code, errc::not_found);
    }
    EXPECT_EQ(dir.names(), std::vector<std::string>{"store.hf.journal"});
    EXPECT_EQ(fingerprint_of(journal_file), before);
    // Beside its region it is none.
    write_file(file, base);
    region_options o = small_options();
    EXPECT_EQ(must(open_region(file, o)).recovered_records, 1U);
}

}  // namespace
}  // namespace hf::test
