// The backing between a journalled image and its file, on a disk and on tmpfs, from recovery after
// a crash to the closing in order.
#include "recovery/journalled_file.hpp"

#include "journal/copy_gate.hpp"
#include "journal_beside.hpp"
#include "persist/persist_point.hpp"
#include "recovery/opening.hpp"
#include "support/kernel.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace hf::test {
namespace {

namespace fs = std::filesystem;
using kernel::answer;
using kernel::answered;
using kernel::call;
using kernel::failing;

constexpr u64 page_size = layout::page_size;
constexpr u64 megabyte = u64{1} << 20;

class journalled : public journal_beside, public ::testing::WithParamInterface<medium_kind> {
   protected:
    opening_options options(image_kind image = image_kind::journalled) const {
        opening_options o;
        o.file.initial_size = 4 * page_size;
        o.file.medium = image == image_kind::shared ? medium_kind::shm : GetParam();
        o.file.image = image;
        o.file.memory = megabyte;
        o.journal.shape = small;
        return o;
    }
    opened_region open() const { return must(open_region(file, options())); }
    /// As a session begins: in use, and of the next generation.
    static void begin(opened_region& r, u64 base_epoch) {
        must(r.file->update_super([](layout::superblock& s) {
            s.clean = 0;
            ++s.generation;
        }));
        must(r.journal->start_journal(r.file->super(), base_epoch));
    }
    /// All that is dirty becomes durable as the state of the end of this epoch.
    static void checkpoint(opened_region& r, u64 epoch) {
        layout::epoch_record_store(r.file->header().epoch, epoch + 1);
        r.file->med().persist(&r.file->header().epoch, sizeof(layout::epoch_record));
        journal::redo_journal& redo = *r.journal->redo();
        journal::capture& c = redo.begin();
        c.begin(epoch, *r.journal->dirty());
        c.copy(r.file->base(), 0, c.size());
        redo.submit();
        redo.wait_idle([] { return false; });
    }
    static void store(opened_region& r, u64 offset, u8 value) {
        u8* const at = r.file->at<u8>(page_size + offset);
        *at = value;
        r.file->med().persist(at, 1);
    }
    /// Closed in order.
    static void close(opened_region& r, u64 epoch) {
        must(r.file->update_super([](layout::superblock& s) { s.clean = 1; }));
        checkpoint(r, epoch);
        must(r.journal->retire_journal());
    }
    [[nodiscard]] u8 byte_of_file(u64 offset) const {
        return static_cast<u8>(read_file(file).at(page_size + offset));
    }
};

// ---------------------------------------------------------------- what it has

TEST_P(journalled, has_a_dirty_set_and_copies_where_a_session_writes_by_a_journal) {
    const detail::file_handle handle(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    for (const auto image : {image_kind::automatic, image_kind::shared, image_kind::journalled}) {
        for (const auto mode : {open_mode::open_or_create, open_mode::open_existing,
                                open_mode::create_new, open_mode::inspect}) {
            for (const bool tracks : {false, true}) {
                const medium_kind kind = GetParam();
                if (kind == medium_kind::file && image == image_kind::shared) continue;
                const auto place = must(window::take());
                region_options o;
                o.mode = mode;
                o.image = image;
                o.fence_latency_ns = 7;
                journal_options j;
                if (tracks) j.track = page_tracker::way::all;
                const backing_place at{file, handle, place.base(), 16 * page_size, kind, o};
                journalled_file f(at, j);
                const bool is_private =
                    kind == medium_kind::file || image == image_kind::journalled;
                const bool writes = is_private && mode != open_mode::inspect;
                EXPECT_EQ(f.is_in_use(), writes);
                EXPECT_EQ(f.is_private(), writes);
                EXPECT_EQ(f.dirty() != nullptr, writes);
                EXPECT_EQ(f.copies() != nullptr, writes);
                EXPECT_EQ(f.tracker() != nullptr, writes && tracks);
                EXPECT_EQ(f.redo(), nullptr);
                EXPECT_EQ(f.recovered_records(), 0U);
                const medium m = f.make_medium();
                EXPECT_EQ(m.kind(), kind);
                EXPECT_EQ(m.is_atomic(), writes);
                EXPECT_EQ(m.fence_latency_ns(), writes ? 0U : 7U);
                EXPECT_EQ(f.map_growth(page_size, 2 * page_size), writes && !tracks);
            }
        }
    }
}

// On tmpfs the journal is written by stores: system calls are made only when a length changes.
TEST_P(journalled, an_epoch_is_made_durable_as_the_medium_does_it) {
    opened_region r = open();
    begin(r, 0);
    store(r, 100, 1);
    checkpoint(r, 1);
    const answered script([](const call&) -> answer { return {}; });
    store(r, 100, 2);
    checkpoint(r, 2);
    const bool is_disk = GetParam() == medium_kind::file;
    EXPECT_EQ(script.count("fdatasync"), is_disk ? 1U : 0U);
    EXPECT_EQ(script.count("pwritev"), is_disk ? 1U : 0U);
}

TEST_P(journalled, says_in_its_superblocks_that_it_needs_a_journal_until_it_is_shared) {
    {
        opened_region r = open();
        begin(r, 0);
        store(r, 100, 1);
        checkpoint(r, 1);
        EXPECT_TRUE(layout::is_journalled(r.file->super()));
        EXPECT_EQ(r.file->super().medium, GetParam());
        const bool is_disk = GetParam() == medium_kind::file;
        EXPECT_EQ(r.file->super().features, is_disk ? 0U : layout::feature_journalled);
    }
    EXPECT_EQ(open().recovered_records, 1U);
    const fs::path aside = file.string() + ".aside";
    fs::rename(journal_file, aside);
    for (const auto image : {image_kind::shared, image_kind::journalled}) {
        const auto refused = open_region(file, options(image));
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, errc::corrupt) << "its journal is missing";
    }
    fs::rename(aside, journal_file);
    const opened_region r = must(open_region(file, options(image_kind::shared)));
    EXPECT_EQ(*r.file->at<u8>(page_size + 100), 1);
    must(r.file->update_super([](layout::superblock& s) { s.clean = 1; }));
    EXPECT_FALSE(layout::is_journalled(r.file->super()));
    EXPECT_FALSE(fs::exists(journal_file));
}

// A killed process may have left words of the header in the caches only.
TEST_P(journalled, the_header_that_a_shared_session_left_is_in_the_first_record) {
    {
        opening_options o = options(image_kind::shared);
        const auto r = must(open_region(file, o));
        must(r.file->update_super([](layout::superblock& s) { s.clean = 0; }));
    }
    opened_region r = open();
    EXPECT_EQ(r.journal->dirty()->size(), page_size / line_size);
    must(r.file->update_super([](layout::superblock&) {}));
    std::vector<u64> lines;
    r.journal->dirty()->take(lines);
    r = {};
    const opened_region again = open();
    EXPECT_EQ(again.journal->dirty()->size(), page_size / line_size) << "until it is durable";
}

TEST_P(journalled, memory_is_the_files_again_after_a_checkpoint_was_applied_and_not_before) {
    opened_region r = open();
    EXPECT_EQ(r.journal->recovered_records(), 0U);
    begin(r, 0);
    EXPECT_TRUE(fs::exists(journal_file));
    store(r, 100, 1);
    EXPECT_EQ(byte_of_file(100), 0U) << "memory is the process's own";
    EXPECT_EQ(r.journal->dirty()->size(), 1U + 2 * 64);
    checkpoint(r, 1);
    EXPECT_EQ(byte_of_file(100), 0U) << "durable, and in the journal";
    store(r, 200, 2);
    close(r, 2);
    EXPECT_EQ(byte_of_file(100), 1U);
    EXPECT_EQ(byte_of_file(200), 2U);
    EXPECT_EQ(r.journal->redo(), nullptr);
    EXPECT_FALSE(fs::exists(journal_file));
    r = {};
    const opened_region again = open();
    EXPECT_TRUE(again.file->was_clean());
    EXPECT_EQ(again.recovered_records, 0U);
}

// ---------------------------------------------------------------- opening what a crash left

TEST_P(journalled, takes_from_the_journal_what_the_base_lacks_and_keeps_it_for_the_session) {
    {
        opened_region r = open();
        begin(r, 0);
        for (u8 epoch = 1; epoch <= 3; ++epoch) {
            store(r, u64{64} * epoch, epoch);
            checkpoint(r, epoch);
        }
        store(r, 0, 9);  // of an epoch that did not end
        EXPECT_EQ(read_file(file).at(page_size + 64), std::byte{0});
    }
    for (const bool again : {false, true}) {
        opened_region r = open();
        EXPECT_EQ(r.recovered_records, 3U) << "as long as the journal is not begun anew";
        EXPECT_EQ(r.journal->recovered_records(), 3U);
        EXPECT_FALSE(r.file->was_clean());
        for (u8 epoch = 1; epoch <= 3; ++epoch) {
            EXPECT_EQ(*r.file->at<u8>(page_size + u64{64} * epoch), epoch);
            EXPECT_EQ(byte_of_file(u64{64} * epoch), epoch);
        }
        EXPECT_EQ(byte_of_file(0), 0U);
        EXPECT_EQ(detail::open_file(journal_file, true).error().code, errc::busy)
            << "it stays locked";
        if (!again) continue;
        begin(r, 3);
        EXPECT_TRUE(fs::exists(journal_file));
        close(r, 4);
    }
    EXPECT_EQ(open().recovered_records, 0U);
}

TEST_P(journalled, of_an_earlier_session_is_left_alone_and_replaced_by_the_next) {
    make_base();
    make_journal({{1600}});
    change_superblocks(file, [](layout::superblock& s) {
        s.generation += 1;
        s.clean = 1;
    });
    const auto before = fingerprint_of(file);
    opened_region r = open();
    EXPECT_EQ(r.recovered_records, 0U);
    EXPECT_EQ(fingerprint_of(file), before);
    begin(r, 5);
    EXPECT_EQ(fs::file_size(journal_file),
              journal::first_segment + small.segments * small.segment_bytes);
    r = {};
    EXPECT_EQ(must(open_region(file, options())).recovered_records, 0U);
}

// K4: the superblocks say so, durably, before the old journal goes.
TEST_P(journalled, with_a_shared_image_the_old_journal_goes_once_the_superblocks_say_so) {
    make_base();
    make_journal({{1600}, {1601}});
    region_options inspect;
    inspect.mode = open_mode::inspect;
    {
        const auto r = must(open_region(file, inspect));
        must(r.file->update_super([](layout::superblock&) {}));
        EXPECT_TRUE(fs::exists(journal_file)) << "who looks removes nothing";
    }
    opened_region r = must(open_region(file, options(image_kind::shared)));
    EXPECT_EQ(r.journal, nullptr);
    EXPECT_EQ(r.recovered_records, 2U);
    EXPECT_TRUE(fs::exists(journal_file));
    must(r.file->update_super([](layout::superblock&) {}));
    EXPECT_FALSE(fs::exists(journal_file));
    EXPECT_EQ(r.file->super().medium, medium_kind::shm);
    EXPECT_FALSE(layout::is_journalled(r.file->super()));
    write_file(journal_file, {});  // of another process
    must(r.file->update_super([](layout::superblock&) {}));
    EXPECT_TRUE(fs::exists(journal_file)) << "it goes once";
}

TEST_P(journalled, with_a_shared_image_an_upgrade_ends_where_the_old_journal_does_not_go) {
    constexpr layout::room_format rooms[] = {{"room", 2}};
    const upgrade_step steps[] = {{"room", 0, 1, [](region&) -> result<void> { return {}; }},
                                  {"room", 1, 2, [](region&) -> result<void> {
                                       ADD_FAILURE() << "the step before had failed";
                                       return {};
                                   }}};
    make_base();
    make_journal({});
    change_superblocks(file, [](layout::superblock& s) { s.clean = 1; });
    opening_options o = options(image_kind::shared);
    o.rooms = rooms;
    o.upgrades = steps;
    const answered script(failing("unlink", EACCES));
    const auto refused = open_region(file, o);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::denied);
    EXPECT_EQ(refused.error().where, journal_file.string());
}

TEST_P(journalled, on_the_same_medium_the_old_journal_stays_when_superblocks_change) {
    make_base();
    make_journal({{1600}});
    opened_region r = open();
    must(r.file->update_super([](layout::superblock&) {}));
    EXPECT_TRUE(fs::exists(journal_file));
}

// ---------------------------------------------------------------- the session's journal

TEST_P(journalled, the_journal_is_of_this_region_and_this_session) {
    for (const bool after_a_crash : {false, true}) {
        opened_region r = open();
        const u64 base_epoch = after_a_crash ? 8 : 7;
        begin(r, base_epoch);
        const auto held = must(detail::open_unlocked(journal_file));
        journal::posix_file disk(held.get(), "journal");
        const auto h = must(journal::read_header(disk));
        const layout::superblock& s = r.file->super();
        EXPECT_EQ(std::memcmp(h.who.region.data(), s.uuid, sizeof s.uuid), 0);
        EXPECT_EQ(h.who.generation, s.generation);
        EXPECT_EQ(h.base_epoch, base_epoch);
        EXPECT_EQ(h.segment_bytes, small.segment_bytes);
        EXPECT_EQ(s.generation, after_a_crash ? 2U : 1U);
        must(journal::copy_gate(held.get()).hold());  // nothing is being applied
        journal::copy_gate(held.get()).release();
        checkpoint(r, base_epoch + 1);
        EXPECT_EQ(detail::open_file(journal_file, true).error().code, errc::busy);
    }
}

#ifdef HF_PERSIST_POINTS
// K2, K3: killed there, the region is whole.
TEST_P(journalled, is_whole_wherever_its_session_begins_or_ends) {
    static const char* wanted;
    for (const std::string point : {"journal K2", "journal K3"}) {
        fs::remove(file);
        fs::remove(journal_file);
        wanted = point.c_str();
        const int code = in_child([this] {
            opened_region r = open();
            set_persist_point_hook([](const char* name) {
                if (std::string_view(name).starts_with(wanted)) ::_exit(7);
            });
            begin(r, 0);
            store(r, 100, 1);
            close(r, 1);
            return 0;
        });
        ASSERT_EQ(code, 7) << point;
        const bool is_closed = point == "journal K3";
        EXPECT_TRUE(fs::exists(journal_file)) << point;
        EXPECT_EQ(byte_of_file(100), is_closed ? 1U : 0U);
        const opened_region r = open();
        EXPECT_EQ(*r.file->at<u8>(page_size + 100), is_closed ? 1U : 0U);
        EXPECT_EQ(r.file->was_clean(), true);
    }
}
#endif

TEST_P(journalled, whatever_its_beginning_needs_and_does_not_get_is_told) {
    struct {
        const char* call;
        int why;
        errc code;
    } const cases[] = {{"unlink", EACCES, errc::denied},
                       {"openat", ENOSPC, errc::no_space},
                       {"fallocate", ENOSPC, errc::no_space},
                       {"linkat", EACCES, errc::denied}};
    for (const auto& c : cases) {
        fs::remove(file);
        opened_region r = open();
        const answered script(failing(c.call, c.why));
        const auto refused = r.journal->start_journal(r.file->super(), 0);
        ASSERT_FALSE(refused) << c.call;
        EXPECT_EQ(refused.error().code, c.code) << c.call;
        EXPECT_FALSE(fs::exists(journal_file));
    }
}

// ---------------------------------------------------------------- how much may be dirty

/// From how many lines on the set asks for a checkpoint.
u64 limit_of(dirty_set& set) {
    std::vector<u64> old;
    set.take(old);
    u64 line = 0;
    while (!set.pressure() && line < 100'000) set.collect(std::span(&line, 1)), ++line;
    set.take(old);
    return line - 1;
}

TEST_P(journalled, an_epoch_may_dirty_what_journal_and_memory_can_take) {
    for (const u64 budget : {megabyte, 2 * megabyte, 16 * megabyte}) {
        for (const u64 pages : {u64{4}, u64{16}, u64{17}, u64{32}, u64{33}}) {
            fs::remove(file);
            fs::remove(journal_file);
            opening_options o = options();
            o.file.memory = budget;
            o.file.initial_size = pages * page_size;
            opened_region r = must(open_region(file, o));
            EXPECT_EQ(r.journal->copies()->budget(), budget);
            begin(r, 0);
            const auto wanted = [&](u64 bytes) {
                u64 lines = std::min(r.journal->redo()->comfortable_lines(), budget / 64 / 16);
                if (bytes > budget) lines = std::min(lines, budget / 4096 / 16);
                return lines;
            };
            EXPECT_EQ(limit_of(*r.journal->dirty()), wanted(pages * page_size))
                << budget << " bytes of memory, " << pages << " pages";
            must(r.file->grow(segment_kind::heap, 16, 0));
            EXPECT_EQ(limit_of(*r.journal->dirty()), wanted((pages + 16) * page_size))
                << budget << " bytes of memory, grown from " << pages << " pages";
        }
    }
}

// ---------------------------------------------------------------- growth

TEST_P(journalled, grows_in_memory_of_its_own_and_the_longer_file_is_durable_with_the_epoch) {
    opened_region r = open();
    {
        const answered script([](const call&) -> answer { return {}; });
        must(r.file->grow(segment_kind::heap, 1, 0));
        EXPECT_EQ(script.count("fsync"), 1U) << "at once: there is no journal";
    }
    begin(r, 0);
    {
        const answered script([](const call&) -> answer { return {}; });
        must(r.file->grow(segment_kind::heap, 2, 0));
        EXPECT_EQ(script.count("fsync"), 0U);
    }
    EXPECT_EQ(fs::file_size(file), 7 * page_size);
    store(r, 6 * page_size - 1, 5);
    checkpoint(r, 1);
    r = {};
    r = open();
    EXPECT_EQ(r.file->size(), 7 * page_size);
    EXPECT_EQ(*r.file->at<u8>(7 * page_size - 1), 5);
}

TEST_P(journalled, growth_of_an_epoch_that_did_not_end_is_cut_off) {
    {
        opened_region r = open();
        begin(r, 0);
        checkpoint(r, 1);
        must(r.file->grow(segment_kind::heap, 2, 0));
        EXPECT_EQ(fs::file_size(file), 6 * page_size);
    }
    {
        region_options inspect;
        inspect.mode = open_mode::inspect;
        const auto r = must(open_region(file, inspect));
        EXPECT_EQ(r.file->size(), 4 * page_size);
        EXPECT_EQ(fs::file_size(file), 6 * page_size);
    }
    const opened_region r = open();
    EXPECT_EQ(r.file->size(), 4 * page_size);
    EXPECT_EQ(fs::file_size(file), 4 * page_size);
}

TEST_P(journalled, a_region_that_has_outgrown_its_memory_is_not_read_ahead) {
    opening_options o = options();
    o.file.initial_size = 32 * page_size;  // twice the memory
    opened_region r = must(open_region(file, o));
    begin(r, 0);
    const auto advised = [](const answered& script) {
        return std::count_if(script.calls().begin(), script.calls().end(), [](const call& c) {
            return c.name == "madvise" && c.option == MADV_RANDOM;
        });
    };
    {
        const answered script([](const call&) -> answer { return {}; });
        must(r.file->grow(segment_kind::heap, 1, 0));
        EXPECT_EQ(advised(script), 0) << "its pages are not looked after yet";
    }
    r.journal->copies()->begin_if_needed(r.file->size(), 1);
    ASSERT_TRUE(r.journal->copies()->is_tracking());
    const answered script([](const call&) -> answer { return {}; });
    must(r.file->grow(segment_kind::heap, 1, 0));
    EXPECT_EQ(advised(script), 1);
}

TEST_P(journalled, syncs_the_base_itself_or_by_the_journal) {
    opened_region r = open();
    for (const bool has_journal : {false, true}) {
        if (has_journal) begin(r, 0);
        {
            const answered script(failing(has_journal ? "fdatasync" : "fsync", EIO));
            if (!has_journal) {
                EXPECT_EQ(r.journal->sync().error().code, errc::io);
            }
        }
        EXPECT_TRUE(r.journal->sync());
    }
}

INSTANTIATE_TEST_SUITE_P(on, journalled, ::testing::Values(medium_kind::file, medium_kind::shm),
                         [](const auto& p) { return std::string(to_string(p.param)); });

using journalled_death_test = journalled;
INSTANTIATE_TEST_SUITE_P(on, journalled_death_test,
                         ::testing::Values(medium_kind::file, medium_kind::shm),
                         [](const auto& p) { return std::string(to_string(p.param)); });

TEST_P(journalled_death_test, a_journal_is_started_once_and_for_a_journalled_image_only) {
    opened_region r = open();
    begin(r, 0);
    EXPECT_DEATH((void)r.journal->start_journal(r.file->super(), 0), "started once");
    const auto place = must(window::take());
    const detail::file_handle handle(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    region_options o;
    journalled_file f({file, handle, place.base(), page_size, medium_kind::shm, o}, {});
    EXPECT_DEATH((void)f.start_journal(r.file->super(), 0), "for a journalled image");
}

}  // namespace
}  // namespace hf::test
