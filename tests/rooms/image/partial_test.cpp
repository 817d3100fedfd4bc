// A region in the making: what it may take the place of, what it removes, and what it leaves alone
#include "image/partial.hpp"

#include "journal/format.hpp"
#include "persist/persist_point.hpp"
#include "support/kernel.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>

namespace hf::test {
namespace {

namespace fs = std::filesystem;
using detail::partial_region;
using kernel::answer;
using kernel::answered;
using kernel::call;

using content = std::vector<std::byte>;

content bytes_with(const void* magic, u64 at, u64 length) {
    content c(length, std::byte{'x'});
    for (u64 i = 0; i < 8 && at + i < length; ++i) {
        c[at + i] = static_cast<const std::byte*>(magic)[i];
    }
    return c;
}
content like_a_region(u64 at = 0, u64 length = 5000) {
    return bytes_with(layout::magic, at, length);
}
content like_a_journal(u64 at = 0, u64 length = 5000) {
    return bytes_with(&journal::header_magic, at, length);
}

class partial : public on_tmpfs {
   protected:
    nothing_lost check;
    fs::path making = dir / "store.hf.partial";
    fs::path making_journal = dir / "store.hf.partial.journal";
    fs::path journal = dir / "store.hf.journal";

    static void put(const fs::path& path, const std::string& text) {
        content c(text.size());
        std::memcpy(c.data(), text.data(), text.size());
        write_file(path, c);
    }
    static std::string text_of(const fs::path& path) {
        const auto c = read_file(path);
        return {reinterpret_cast<const char*>(c.data()), c.size()};
    }
    std::optional<errc> refusal(bool replace) const {
        const auto made = partial_region::prepare(file, replace);
        return made ? std::nullopt : std::optional(made.error().code);
    }
};

TEST_F(partial, takes_the_place_of_nothing_of_a_region_and_of_an_empty_file) {
    EXPECT_EQ(refusal(false), std::nullopt);
    EXPECT_EQ(refusal(true), std::nullopt);
    for (const bool with_journal : {false, true}) {
        fs::remove(file);
        if (with_journal) write_file(journal, like_a_journal());
        const auto expect = [&](bool replace, std::optional<errc> code, const char* what) {
            EXPECT_EQ(refusal(replace), code) << what << (with_journal ? ", with a journal" : "");
            EXPECT_EQ(fs::exists(journal), with_journal) << what;
        };
        const auto usage_beside_journal = with_journal ? std::optional(errc::usage) : std::nullopt;
        expect(true, usage_beside_journal, "nothing");
        expect(false, usage_beside_journal, "nothing");
        write_file(file, like_a_region());
        expect(false, errc::usage, "a region");
        expect(true, std::nullopt, "a region");
        write_file(file, {});
        expect(false, errc::usage, "an empty file");
        expect(true, usage_beside_journal, "an empty file");
        put(file, "somebody's letter");
        expect(false, errc::usage, "a text");
        expect(true, errc::unsafe_file, "a text");
        EXPECT_EQ(text_of(file), "somebody's letter");
        fs::remove(file);
        fs::create_symlink(dir / "nowhere", file);
        expect(false, errc::usage, "a link");
        expect(true, errc::unsafe_file, "a link");
    }
}

// By the first eight bytes of one of its first two pages, wherever it ends.
TEST_F(partial, knows_regions_and_journals_by_their_magic_numbers) {
    for (const u64 length : {1U, 7U, 8U, 9U, 4095U, 4096U, 4103U, 4104U, 4105U, 20000U}) {
        for (const u64 at : {0U, 1U, 4095U, 4096U, 4097U, 8192U}) {
            const bool is_one = (at == 0 && length >= 8) || (at == 4096 && length >= 4104);
            const std::string what = std::to_string(length) + " bytes, from " + std::to_string(at);
            write_file(file, like_a_region(at, length));
            EXPECT_EQ(refusal(true), is_one ? std::nullopt : std::optional(errc::unsafe_file))
                << what;
            write_file(file, like_a_journal(at, length));
            EXPECT_EQ(refusal(true), errc::unsafe_file) << what;
            fs::remove(file);
            for (const auto& [path, other] :
                 {std::pair{making, false}, std::pair{making_journal, true}}) {
                write_file(path, other ? like_a_journal(at, length) : like_a_region(at, length));
                EXPECT_EQ(refusal(false), is_one ? std::nullopt : std::optional(errc::unsafe_file))
                    << path << ", " << what;
                EXPECT_EQ(fs::exists(path), !is_one) << what;
                write_file(path, other ? like_a_region(at, length) : like_a_journal(at, length));
                EXPECT_EQ(refusal(false), errc::unsafe_file) << path << ", " << what;
                fs::remove(path);
            }
        }
    }
}

TEST_F(partial, waits_for_nobody_who_uses_what_lies_there) {
    write_file(file, like_a_region());
    for (const auto& path : {file, making, making_journal}) {
        write_file(path, path == making_journal ? like_a_journal() : like_a_region());
        const auto used = must(detail::open_file(path, false));
        EXPECT_EQ(refusal(true), errc::busy) << path;
        EXPECT_TRUE(fs::exists(path));
        if (path != file) fs::remove(path);
    }
}

TEST_F(partial, keeps_others_away_from_what_it_will_replace) {
    write_file(file, like_a_region());
    {
        const auto made = must(partial_region::prepare(file, true));
        EXPECT_EQ(made.path(), making);
        EXPECT_EQ(detail::open_file(file, false).error().code, errc::busy);
    }
    EXPECT_TRUE(detail::open_file(file, true));
}

TEST_F(partial, what_cannot_be_looked_at_is_an_error) {
    for (const auto& path : {file, making}) {
        write_file(path, like_a_region());
        for (const char* const refused : {"pread", "fstat"}) {
            // The second fstat() is for the length: the first one is of open().
            const answered script(kernel::failing(refused, EIO, refused[0] == 'f' ? 1 : 0));
            EXPECT_EQ(refusal(true), errc::io) << path << refused;
        }
        EXPECT_TRUE(fs::exists(path));
        fs::remove(path);
    }
    write_file(making, like_a_region());
    const answered script(kernel::failing("unlink", EACCES));
    EXPECT_EQ(refusal(true), errc::denied);
}

// ---------------------------------------------------------------- its end

TEST_F(partial, that_is_not_finished_leaves_nothing) {
    {
        const auto made = must(partial_region::prepare(file, false));
        write_file(making, like_a_region());
        write_file(making_journal, like_a_journal());
    }
    EXPECT_TRUE(dir.names().empty());
    {
        std::optional<partial_region> made(must(partial_region::prepare(file, false)));
        const partial_region moved(std::move(*made));
        write_file(making, like_a_region());
        made.reset();
        EXPECT_TRUE(fs::exists(making)) << "it is the other's now";
        EXPECT_EQ(moved.path(), making);
    }
    EXPECT_TRUE(dir.names().empty());
}

// More often than the table has entries.
TEST_F(partial, is_registered_again_after_its_name_was_removed) {
    const fs::path one = dir.path() / "one";
    for (std::size_t i = 0; i < 3 * detail::unfinished_name::most; ++i) {
        detail::unfinished_name mine(one.string());
        if (i % 2 == 0) detail::unfinished_name::remove_all();
        write_file(one, like_a_region());
        if (i % 2 == 0) {
            detail::unfinished_name::remove_all();
            EXPECT_TRUE(fs::exists(one)) << "a name is removed once";
        } else {
            detail::unfinished_name::remove_all();
            EXPECT_FALSE(fs::exists(one)) << i;
        }
        fs::remove(one);
    }
}

// As the handler of a signal does.
TEST_F(partial, is_removed_by_name_while_it_is_not_finished) {
    write_file(making, like_a_region());
    detail::unfinished_name::remove_all();
    EXPECT_TRUE(fs::exists(making)) << "it is not of this process";
    fs::remove(making);
    std::optional<partial_region> made(must(partial_region::prepare(file, false)));
    const auto write_both = [&] {
        write_file(making, like_a_region());
        write_file(making_journal, like_a_journal());
    };
    write_both();
    detail::unfinished_name::remove_all();
    EXPECT_TRUE(dir.names().empty());
    made.reset();
    made.emplace(must(partial_region::prepare(file, false)));
    write_file(making, like_a_region());
    must(made->finish());
    write_both();  // of another process
    detail::unfinished_name::remove_all();
    EXPECT_TRUE(fs::exists(making));
    EXPECT_TRUE(fs::exists(making_journal));
}

TEST_F(partial, that_is_refused_touches_nothing_of_others) {
    put(making, "somebody's letter");
    EXPECT_EQ(refusal(false), errc::unsafe_file);
    EXPECT_EQ(text_of(making), "somebody's letter");
    fs::remove(making);
    put(making_journal, "somebody's diary");
    write_file(making, like_a_region());
    EXPECT_EQ(refusal(false), errc::unsafe_file);
    EXPECT_EQ(text_of(making_journal), "somebody's diary");
}

TEST_F(partial, gets_its_name_and_its_directory_is_synced) {
    for (const bool replaces : {false, true}) {
        if (replaces) write_file(journal, like_a_journal());
        auto made = must(partial_region::prepare(file, replaces));
        put(making, replaces ? "HOLDFASTnew" : "HOLDFASTold");
        {
            const answered script([](const call&) -> answer { return {}; });
            must(made.finish());
            EXPECT_EQ(script.count("fsync"), 1U);
            EXPECT_EQ(script.count("renameat2"), replaces ? 0U : 1U);
            EXPECT_EQ(script.count("rename"), replaces ? 1U : 0U);
        }
        EXPECT_EQ(text_of(file), replaces ? "HOLDFASTnew" : "HOLDFASTold");
        EXPECT_EQ(dir.names(), std::vector<std::string>{"store.hf"}) << "the old journal is gone";
    }
}

TEST_F(partial, leaves_a_journal_that_somebody_uses_already) {
    write_file(file, like_a_region());
    write_file(journal, like_a_journal());
    auto made = must(partial_region::prepare(file, true));
    write_file(making, like_a_region());
    const auto used = must(detail::open_file(journal, true));
    must(made.finish());
    EXPECT_TRUE(fs::exists(journal));
}

TEST_F(partial, does_not_replace_what_has_come_there_in_the_meantime) {
    for (const int rename_says : {0, EINVAL, ENOSYS}) {
        {
            auto made = must(partial_region::prepare(file, true));
            put(making, "HOLDFASTnew");
            put(file, "HOLDFASTtheirs");
            const answered script(kernel::failing("renameat2", rename_says));
            const auto refused = made.finish();
            ASSERT_FALSE(refused) << rename_says;
            EXPECT_EQ(refused.error().code, errc::usage);
            EXPECT_EQ(refused.error().where, file.string());
        }
        EXPECT_EQ(text_of(file), "HOLDFASTtheirs");
        EXPECT_FALSE(fs::exists(making));
        fs::remove(file);
    }
}

TEST_F(partial, is_linked_where_the_file_system_has_no_rename_that_replaces_nothing) {
    for (const int rename_says : {EINVAL, ENOSYS}) {
        auto made = must(partial_region::prepare(file, false));
        put(making, "HOLDFASTnew");
        const answered script(kernel::failing("renameat2", rename_says));
        must(made.finish());
        EXPECT_EQ(text_of(file), "HOLDFASTnew");
        EXPECT_FALSE(fs::exists(making));
        fs::remove(file);
    }
}

TEST_F(partial, that_cannot_be_named_says_why_and_is_gone) {
    struct {
        bool replaces;
        const char* refused;
        int why;
        errc code;
    } const cases[] = {{false, "renameat2", EACCES, errc::denied},
                       {false, "renameat2", ENOSPC, errc::no_space},
                       {true, "rename", EACCES, errc::denied},
                       {true, "rename", EIO, errc::io}};
    for (const auto& c : cases) {
        fs::remove(file);
        if (c.replaces) put(file, "HOLDFASTold");
        {
            auto made = must(partial_region::prepare(file, c.replaces));
            put(making, "HOLDFASTnew");
            const answered script(kernel::failing(c.refused, c.why));
            const auto refused = made.finish();
            ASSERT_FALSE(refused) << c.refused;
            EXPECT_EQ(refused.error().code, c.code);
            EXPECT_EQ(refused.error().where, file.string());
        }
        EXPECT_FALSE(fs::exists(making));
        EXPECT_EQ(fs::exists(file), c.replaces);
        if (c.replaces) {
            EXPECT_EQ(text_of(file), "HOLDFASTold");
        }
    }
    fs::remove(file);
    {
        auto made = must(partial_region::prepare(file, false));
        put(making, "HOLDFASTnew");
        const answered script([](const call& c) -> answer {
            return {c.name == "renameat2" ? EINVAL : c.name == "link" ? EACCES : 0};
        });
        EXPECT_EQ(made.finish().error().code, errc::denied);
    }
    EXPECT_TRUE(dir.names().empty());
}

TEST_F(partial, that_has_its_name_keeps_it_though_the_directory_cannot_be_synced) {
    // After the region itself the directory is opened.
    for (const auto& [refused, good] : {std::pair("fsync", u64{0}), std::pair("open", u64{1})}) {
        {
            auto made = must(partial_region::prepare(file, false));
            put(making, "HOLDFASTnew");
            const answered script(kernel::failing(refused, EIO, good));
            const auto ok = made.finish();
            ASSERT_FALSE(ok) << refused;
            EXPECT_EQ(ok.error().code, errc::io);
            EXPECT_EQ(ok.error().why, std::generic_category().message(EIO));
        }
        EXPECT_EQ(dir.names(), std::vector<std::string>{"store.hf"});
        fs::remove(file);
    }
}

TEST_F(partial, whose_old_journal_cannot_be_removed_says_so) {
    put(file, "HOLDFASTold");
    write_file(journal, like_a_journal());
    auto made = must(partial_region::prepare(file, true));
    put(making, "HOLDFASTnew");
    const answered script(kernel::failing("unlink", EACCES));
    EXPECT_EQ(made.finish().error().code, errc::denied);
    EXPECT_EQ(text_of(file), "HOLDFASTnew");
}

// Between its closing and finish() no process had it locked.
TEST_F(partial, that_somebody_else_makes_by_now_is_not_named) {
    auto made = must(partial_region::prepare(file, false));
    put(making, "HOLDFASTnew");
    {
        const auto theirs = must(detail::open_file(making, true));
        EXPECT_EQ(made.finish().error().code, errc::busy);
        EXPECT_FALSE(fs::exists(file));
    }
    must(made.finish());
}

TEST_F(partial, lies_beside_a_name_without_a_directory) {
    const int code = in_child([this] {
        fs::current_path(dir.path());
        auto made = must(partial_region::prepare("here", false));
        put(made.path(), "HOLDFASTnew");
        must(made.finish());
        EXPECT_EQ(dir.names(), std::vector<std::string>{"here"});
        return 0;
    });
    EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace hf::test
