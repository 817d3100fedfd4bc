// Images of regions: of closed ones, of what a crash left, and of those in use; which
// process is refused, which is waited for, and for how long.
#include "base/byte_lock.hpp"
#include "image/copy.hpp"
#include "journal/copy_gate.hpp"
#include "recovery/journal_beside.hpp"
#include "recovery/opening.hpp"
#include "region/copy_pause.hpp"
#include "region/header.hpp"
#include "support/kernel.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

namespace hf::test {
namespace {

namespace fs = std::filesystem;
using kernel::answer;
using kernel::answered;
using kernel::call;

class image : public journal_beside {
   protected:
    fs::path to = dir / "copy.hf";
    fs::path to_journal = dir / "copy.hf.journal";

    result<detail::image_facts> copy() {
        told.clear();
        return detail::copy_image(file, to,
                                  [this](u64 done, u64 total) { told.emplace_back(done, total); });
    }
    void closed(discipline kind = discipline::incll, u64 pages = 4) {
        fs::remove(file);
        region_options o = small_options();
        o.kind = kind;
        o.initial_size = pages * page_size;
        o.first_epoch = 12;
        const auto r = must_open(file, o);
        std::memset(r->base() + page_size, 0x5A, 1000);
    }
    void make_sessions_journal(const std::vector<std::vector<u64>>& records) {
        make_journal(records, 5, true);
    }
    [[nodiscard]] static u8 byte_of(const fs::path& path, u64 offset) {
        region_options inspect;
        inspect.mode = open_mode::inspect;
        return *must(open_region(path, inspect)).file->at<u8>(offset);
    }
    std::vector<std::pair<u64, u64>> told;
};

TEST_F(image, of_a_closed_region_is_that_file) {
    for (const auto kind :
         {discipline::transient, discipline::logged, discipline::incll, discipline::snapshot}) {
        fs::remove(to);
        closed(kind);
        const auto before = fingerprint_of(file);
        const auto facts = must(copy());
        EXPECT_EQ(facts.bytes, 4 * page_size);
        EXPECT_EQ(facts.epoch, 11U);
        EXPECT_FALSE(facts.in_use);
        EXPECT_FALSE(facts.shares_blocks) << "not on tmpfs";
        EXPECT_EQ(facts.held_ns, 0U);
        EXPECT_EQ(facts.kind, kind);
        EXPECT_EQ(fingerprint_of(file), before);
        EXPECT_EQ(fingerprint_of(to), before);
        ASSERT_FALSE(told.empty());
        EXPECT_EQ(told.back(), (std::pair<u64, u64>{4 * page_size, 4 * page_size}));
        EXPECT_EQ(dir.names(), (std::vector<std::string>{"copy.hf", "store.hf"}));
    }
    EXPECT_EQ(copy().error().code, errc::usage) << "the name is taken";
}

TEST_F(image, of_what_a_crash_left_is_complete_and_has_a_journal_without_records) {
    make_base();
    make_sessions_journal({{2000, 2001}, {2001, 2002}, {2500}});
    const auto before = fingerprint_of(file);
    const auto journal_before = fingerprint_of(journal_file);
    const auto facts = must(copy());
    EXPECT_EQ(facts.bytes, 4 * page_size);
    EXPECT_EQ(facts.epoch, 8U);
    EXPECT_FALSE(facts.in_use);
    EXPECT_EQ(facts.held_ns, 0U);
    EXPECT_EQ(fingerprint_of(file), before);
    EXPECT_EQ(fingerprint_of(journal_file), journal_before);
    EXPECT_EQ(fs::file_size(to_journal), journal::first_segment);
    const auto bytes = read_file(to);
    for (const auto& [line, number] :
         {std::pair<u64, int>{2000, 1}, {2001, 2}, {2002, 2}, {2500, 3}, {2003, 0}}) {
        for (u64 i = 0; i < line_size; ++i) {
            ASSERT_EQ(bytes[line * line_size + i], static_cast<std::byte>(number)) << line;
        }
    }
    {
        const auto h = detail::blank_header();
        std::memcpy(static_cast<void*>(h.get()), bytes.data(), sizeof *h);
        const auto redo = must(detail::pending_redo::find(to, *h, false));
        ASSERT_TRUE(redo);
        EXPECT_EQ(redo->records(), 0U);
        EXPECT_EQ(redo->emptied().base_epoch, 8U);
        EXPECT_EQ(redo->emptied().oldest.record, 4U);
    }
    region_options o = small_options();
    EXPECT_EQ(must(open_region(to, o)).recovered_records, 0U);
}

TEST_F(image, has_no_tail_of_a_growth_that_is_not_in_it) {
    make_base();
    make_sessions_journal({{2000}});
    fs::resize_file(file, 6 * page_size);
    EXPECT_EQ(must(copy()).bytes, 4 * page_size);
    EXPECT_EQ(fs::file_size(to), 4 * page_size);
}

TEST_F(image, of_what_an_opening_would_refuse_is_refused) {
    EXPECT_EQ(copy().error().code, errc::not_found);
    make_base();
    EXPECT_EQ(copy().error().code, errc::corrupt) << "its journal is missing";
    make_sessions_journal({{2000}, {1'000'000}});
    EXPECT_EQ(copy().error().code, errc::corrupt) << "lines behind the region's end";
    write_file(journal_file, std::vector<std::byte>(100'000));
    EXPECT_EQ(copy().error().code, errc::corrupt) << "that is no journal";
    fs::remove(journal_file);
    write_file(file, std::vector<std::byte>(100'000));
    EXPECT_EQ(copy().error().code, errc::corrupt);
    write_file(file, std::vector<std::byte>(100));
    EXPECT_EQ(copy().error().code, errc::corrupt);
    fs::remove(file);
    fs::create_symlink(dir / "nowhere", file);
    EXPECT_EQ(copy().error().code, errc::unsafe_file);
    EXPECT_EQ(dir.names(), std::vector<std::string>{"store.hf"});
}

TEST_F(image, on_a_file_system_that_is_no_medium_is_not_made) {
    closed();
    const answered script([](const call& c) -> answer { return {.is_lie = c.name == "fstatfs"}; });
    EXPECT_EQ(copy().error().code, errc::medium);
    EXPECT_EQ(dir.names(), std::vector<std::string>{"store.hf"});
}

TEST_F(image, that_the_disk_refuses_has_no_name) {
    make_base();
    make_sessions_journal({{2000}});
    for (const char* const refused : {"fallocate", "openat", "pwrite", "fsync", "linkat"}) {
        for (u64 good = 0; good < 3; ++good) {
            const answered script([refused, left = good](const kernel::call& c) mutable {
                if (!c.name.starts_with(refused)) return kernel::answer{};  // pwritev, too
                if (left != 0) return --left, kernel::answer{};
                return kernel::answer{ENOSPC};
            });
            const auto made = copy();
            if (!made) {
                EXPECT_FALSE(fs::exists(to) && good == 0) << refused;
            }
            EXPECT_TRUE(made || good < 3);
            if (good == 0) {
                EXPECT_FALSE(made) << refused;
            }
            fs::remove(to);
            fs::remove(to_journal);
        }
    }
}

// ---------------------------------------------------------------- in use

class used_image : public image {
   protected:
    /// As the session of another process has them.
    void use() {
        used_file.emplace(must(detail::open_file(file, true)));
        if (fs::exists(journal_file))
            used_journal.emplace(must(detail::open_file(journal_file, true)));
    }
    void let_go() {
        used_file.reset();
        used_journal.reset();
    }
    /// Copies; the process that uses it lets go after `naps` naps of ours.
    result<detail::image_facts> copy_while(u64 naps) {
        const answered script([&](const call& c) -> answer {
            if (c.name != "nanosleep") return {};
            EXPECT_LE(c.size, 100'000'000U) << "it is asked again soon";
            if (++slept == naps) let_go();
            return {.is_lie = true};
        });
        slept = 0;
        return copy();
    }
    std::optional<detail::file_handle> used_file;
    std::optional<detail::file_handle> used_journal;
    u64 slept = 0;
};

TEST_F(used_image, on_the_medium_file_is_made_of_both_files_while_the_gate_is_held) {
    make_base();
    make_sessions_journal({{2000}, {2001}});
    use();
    bool was_shut = false;
    const auto made = detail::copy_image(file, to, [&](u64, u64) {
        struct flock byte{};
        byte.l_type = F_WRLCK;
        byte.l_start = static_cast<off_t>(journal::gate_offset);
        byte.l_len = 1;
        EXPECT_EQ(::fcntl(used_journal->get(), F_OFD_GETLK, &byte), 0);
        was_shut = byte.l_type == F_RDLCK;
    });
    ASSERT_TRUE(made) << made.error().to_string();
    EXPECT_TRUE(was_shut) << "nothing could be applied meanwhile";
    EXPECT_TRUE(made->in_use);
    EXPECT_GT(made->held_ns, 0U);
    EXPECT_EQ(byte_of(to, 2000 * line_size), 1U);
    EXPECT_EQ(byte_of(to, 2001 * line_size), 2U);
    // And it was let go of.
    must(journal::copy_gate(used_journal->get()).shut());
}

// Whose memory is the file's own, and changes outside of epochs, is refused as soon as one of its
// superblocks says so.
TEST_F(used_image, that_cannot_keep_still_is_refused_and_that_is_opened_or_closed_waited_for) {
    for (const auto medium :
         {medium_kind::dax, medium_kind::eadr, medium_kind::shm, medium_kind::file}) {
        for (const bool is_clean : {false, true}) {
            for (const unsigned damaged : {0U, 1U, 2U, 3U}) {
                closed();
                change_superblocks(file, [&](layout::superblock& s) {
                    s.medium = medium;
                    s.kind = damaged == 0 ? discipline::snapshot : discipline::eager;
                    s.clean = is_clean ? 1 : 0;
                });
                for (unsigned i = 0; i < 2; ++i) {
                    if ((damaged >> i & 1U) != 0) flip_bit(file, u64{4096} * 8 * (i + 1) - 1);
                }
                use();
                const bool is_refused = medium != medium_kind::file && !is_clean && damaged != 3;
                const auto made = copy_while(3);
                EXPECT_EQ(slept, is_refused ? 0U : 3U)
                    << to_string(medium) << (is_clean ? ", clean" : "") << ", damaged " << damaged;
                if (is_refused) {
                    ASSERT_FALSE(made);
                    EXPECT_EQ(made.error().code, errc::busy);
                    EXPECT_NE(made.error().why.find(to_string(medium)), std::string::npos);
                }
                let_go();
                fs::remove(to);
            }
        }
    }
}

class image_in_memory : public used_image {
   protected:
    void use(medium_kind medium, discipline kind = discipline::incll) {
        closed();
        change_superblocks(file, [&](layout::superblock& s) {
            s.medium = medium;
            s.clean = 0;
            s.kind = kind;
        });
        used_image::use();
    }
    [[nodiscard]] detail::copy_pause user() const { return detail::copy_pause(used_file->get()); }
    void be_still(bool on) {
        ASSERT_EQ(set_byte_lock(used_file->get(), detail::copy_pause::still_offset,
                                on ? byte_lock::exclusive : byte_lock::none, false),
                  0);
    }
    /// Copies. The process that uses it keeps still as soon as the copy requests it and waits.
    result<detail::image_facts> copy_asking(const detail::copy_progress& progress = {}) {
        slept = 0;
        const answered script([&](const call& c) -> answer {
            if (c.name != "nanosleep") return {};
            ++slept;
            be_still(true);
            return {.is_lie = true};
        });
        return detail::copy_image(file, to, progress);
    }
};

TEST_F(image_in_memory, is_made_while_who_uses_it_keeps_still) {
    for (const auto medium : {medium_kind::dax, medium_kind::eadr, medium_kind::shm}) {
        use(medium, medium == medium_kind::dax ? discipline::logged : discipline::incll);
        EXPECT_FALSE(user().is_asked());
        bool was_asked = false;
        const auto made = copy_asking([&](u64, u64) { was_asked = user().is_asked(); });
        ASSERT_TRUE(made) << made.error().to_string();
        EXPECT_TRUE(was_asked) << "it may not go on meanwhile";
        EXPECT_FALSE(user().is_asked());
        EXPECT_TRUE(made->in_use);
        EXPECT_GT(made->held_ns, 0U);
        EXPECT_EQ(slept, 1U);
        let_go();
        fs::remove(to);
    }
}

TEST_F(image_in_memory, that_did_not_keep_still_is_made_again) {
    for (const bool is_other_session : {false, true}) {
        use(medium_kind::shm);
        bool is_first = true;
        const auto made = copy_asking([&](u64, u64) {
            if (!std::exchange(is_first, false)) return;
            if (!is_other_session) return be_still(false);
            change_superblocks(file, [](layout::superblock& s) { ++s.generation; });
        });
        ASSERT_TRUE(made) << made.error().to_string();
        EXPECT_EQ(slept, 2U) << "once more";
        let_go();
        fs::remove(to);
    }
}

TEST_F(image_in_memory, that_nobody_stops_is_refused_after_longer_than_an_epoch) {
    use(medium_kind::shm);
    const auto made = copy_while(~u64{0});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, errc::busy);
    EXPECT_NE(made.error().why.find("did not keep still"), std::string::npos);
    EXPECT_GT(slept, 10'000U) << "milliseconds";
    EXPECT_FALSE(user().is_asked());
    used_file.reset();
    EXPECT_TRUE(copy_while(1)) << "nobody uses it any more";
}

TEST_F(image_in_memory, keeps_still_until_the_last_copy_has_ended) {
    use(medium_kind::shm);
    std::array<detail::file_handle, 2> copies{must(detail::open_unlocked(file)),
                                              must(detail::open_unlocked(file))};
    for (const auto& c : copies) must(detail::copy_pause(c.get()).ask());
    std::thread other([this] { user().keep_still(); });
    for (const auto& c : copies) {
        const detail::copy_pause copy(c.get());
        while (!copy.is_still()) std::this_thread::yield();
        copy.release();
    }
    other.join();
    EXPECT_FALSE(detail::copy_pause(copies[0].get()).is_still());
    EXPECT_FALSE(user().is_asked());
}

TEST_F(used_image, is_waited_for_some_seconds_and_no_longer) {
    closed();
    use();
    for (const u64 nap_ns : {u64{1'000'000'000}, u64{2'500'000'000}, u64{5'000'000'001}}) {
        u64 now = 77;
        u64 naps = 0;
        const answered script([&](const call& c) -> answer {
            if (c.name == "clock_gettime") return {.value = now, .is_lie = true};
            if (c.name != "nanosleep") return {};
            now += nap_ns;
            EXPECT_LT(++naps, 100U);
            if (naps == 100) let_go();
            return {.is_lie = true};
        });
        const auto made = copy();
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().code, errc::busy);
        EXPECT_EQ(made.error().where, file.string());
        EXPECT_EQ(naps, 5'000'000'000 / nap_ns + 1) << "five seconds";
    }
}

TEST_F(used_image, whose_journal_is_exchanged_while_we_wait_for_its_gate_is_looked_at_again) {
    for (const bool is_base : {false, true}) {
        make_base();
        make_sessions_journal({{2000}});
        use();
        int waits = 0;
        std::optional<answered> script;
        script.emplace([&](const call& c) -> answer {
            if (c.name == "nanosleep") return {.is_lie = true};
            if (c.name != "fcntl" || c.option != F_OFD_SETLKW || ++waits != 1) return {};
            const fs::path& moved = is_base ? file : journal_file;
            const auto bytes = read_file(moved);
            fs::rename(moved, dir / "old");
            write_file(moved, bytes);
            if (is_base) used_file.emplace(must(detail::open_file(file, true)));
            return {};
        });
        const auto made = copy();
        script.reset();
        ASSERT_TRUE(made) << made.error().to_string();
        EXPECT_EQ(waits, 2);
        EXPECT_TRUE(made->in_use);
        EXPECT_EQ(byte_of(to, 2000 * line_size), 1U);
        let_go();
        fs::remove(to);
        fs::remove(to_journal);
        fs::remove(dir / "old");
    }
}

TEST_F(used_image, with_a_journal_of_an_earlier_session_is_waited_for) {
    make_base();
    make_sessions_journal({{2000}});
    change_superblocks(file, [](layout::superblock& s) { ++s.generation; });
    use();
    const auto made = copy_while(2);
    EXPECT_EQ(slept, 2U);
    EXPECT_FALSE(made) << "its journal is missing";
}

TEST_F(used_image, with_a_journal_that_is_unsafe_is_refused) {
    make_base();
    used_file.emplace(must(detail::open_file(file, true)));
    fs::create_symlink(dir / "nowhere", journal_file);
    EXPECT_EQ(copy_while(1).error().code, errc::unsafe_file);
    EXPECT_EQ(slept, 0U);
}

TEST_F(used_image, whose_gate_cannot_be_held_is_refused) {
    make_base();
    make_sessions_journal({{2000}});
    use();
    const answered script([](const call& c) -> answer {
        return {c.name == "fcntl" && c.option == F_OFD_SETLKW ? ENOLCK : 0};
    });
    EXPECT_EQ(copy().error().code, errc::io);
}

// ---------------------------------------------------------------- another identity

TEST_F(image, gets_a_uuid_of_its_own_and_keeps_all_else) {
    closed();
    const auto before = read_file(file);
    must(detail::renew_identity(file));
    const auto after = read_file(file);
    layout::superblock old{};
    std::memcpy(&old, before.data(), sizeof old);
    for (int copy_of = 0; copy_of < 2; ++copy_of) {
        layout::superblock s{};
        std::memcpy(&s, after.data() + sizeof s * static_cast<unsigned>(copy_of), sizeof s);
        EXPECT_EQ(s.checksum, layout::superblock_checksum(s));
        EXPECT_NE(std::memcmp(s.uuid, old.uuid, sizeof s.uuid), 0);
        std::memcpy(s.uuid, old.uuid, sizeof s.uuid);
        s.checksum = old.checksum;
        EXPECT_EQ(std::memcmp(&s, &old, sizeof s), 0);
    }
    EXPECT_EQ(std::memcmp(after.data(), after.data() + 4096, 4096), 0);
    EXPECT_TRUE(std::equal(after.begin() + 8192, after.end(), before.begin() + 8192, before.end()));
    for (const char* const refused : {"open", "pread", "getrandom", "pwrite", "fsync"}) {
        const answered script(kernel::failing(refused, EIO));
        const auto ok = detail::renew_identity(file);
        ASSERT_FALSE(ok) << refused;
        EXPECT_EQ(ok.error().code, errc::io);
    }
    const auto used = must(detail::open_file(file, false));
    EXPECT_EQ(detail::renew_identity(file).error().code, errc::busy);
}

}  // namespace
}  // namespace hf::test
