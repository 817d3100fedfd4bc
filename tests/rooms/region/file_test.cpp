// The file under a region on a kernel that takes less than it was given, is interrupted, is full or
// fails: at every call, in every way.
#include "region/file.hpp"

#include "base/random.hpp"
#include "support/effort.hpp"
#include "support/kernel.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace hf::test {
namespace {

namespace fs = std::filesystem;
using kernel::answer;
using kernel::answered;
using kernel::call;
using kernel::failing;

class kernel_file : public on_tmpfs {
   protected:
    nothing_lost check;
    std::string name = file.string();
    detail::file_handle handle{::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};

    /// More calls that are answered otherwise mean that a loop does not end.
    static constexpr u64 most_calls = 2000;
    /// However little it takes at once, and however often it is interrupted.
    static std::function<answer(const call&)> stingy(xoshiro256ss& random) {
        return [&random, left = most_calls](const call& c) mutable -> answer {
            if (c.name != "pread" && c.name != "pwrite") return {};
            if (left-- == 0) return {EIO};
            if (random.below(3) == 0) return {EINTR};
            return {0, 1 + random.below(c.size)};
        };
    }
    static std::vector<std::byte> some(u64 n, xoshiro256ss& random) {
        std::vector<std::byte> bytes(n);
        for (auto& b : bytes) b = static_cast<std::byte>(random());
        return bytes;
    }
};

template <class T>
void expect_error(const tl::expected<T, error>& r, errc code, const std::string& where, int why) {
    ASSERT_FALSE(r) << "error " << why;
    EXPECT_EQ(r.error().code, code) << r.error().to_string();
    EXPECT_EQ(r.error().where, where) << r.error().to_string();
    if (why != 0) {
        EXPECT_EQ(r.error().why, std::generic_category().message(why));
    }
    EXPECT_FALSE(r.error().what.empty() || r.error().why.empty() || r.error().next.empty());
}

constexpr int some_errors[] = {EIO, ENOSPC, EDQUOT, EFBIG, EACCES, EPERM, EROFS, EMFILE, ENOENT};

errc class_of(int error) {
    switch (error) {
        case ENOSPC:
        case EDQUOT:
        case EFBIG:
            return errc::no_space;
        case EACCES:
        case EPERM:
        case EROFS:
            return errc::denied;
        case ENOENT:
            return errc::not_found;
        default:
            return errc::io;
    }
}

// ---------------------------------------------------------------- handles

TEST_F(kernel_file, a_handle_closes_what_it_has_once_be_it_descriptor_0) {
    EXPECT_FALSE(detail::file_handle().is_open());
    EXPECT_EQ(detail::file_handle().get(), -1);
    const int code = in_child([] {
        ::close(0);
        EXPECT_EQ(::open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
        {
            detail::file_handle first(0);
            EXPECT_TRUE(first.is_open());
            detail::file_handle second(std::move(first));
            EXPECT_FALSE(first.is_open());  // NOLINT(bugprone-use-after-move)
            EXPECT_EQ(second.get(), 0);
            detail::file_handle third;
            third = std::move(second);
            EXPECT_EQ(third.get(), 0);
            EXPECT_NE(::fcntl(0, F_GETFD), -1);
        }
        EXPECT_EQ(::fcntl(0, F_GETFD), -1) << "it was not closed";
        return 0;
    });
    EXPECT_EQ(code, 0);
}

// ---------------------------------------------------------------- reading and writing

TEST_F(kernel_file, a_start_is_read_and_written_however_little_the_kernel_takes_at_once) {
    xoshiro256ss random(1);
    for (int round = 0; round < effort(300); ++round) {
        const auto bytes = some(1 + random.below(60), random);
        {
            const answered script(stingy(random));
            must(detail::write_start(handle, name, bytes));
        }
        auto all = read_file(file);
        ASSERT_EQ(std::vector(all.begin(), all.begin() + static_cast<long>(bytes.size())), bytes);
        std::vector<std::byte> back(bytes.size());
        {
            const answered script(stingy(random));
            must(detail::read_start(handle, name, back));
        }
        ASSERT_EQ(back, bytes) << "round " << round;
    }
    must(detail::read_start(handle, name, {}));
    must(detail::write_start(handle, name, {}));
}

TEST_F(kernel_file, a_file_that_ends_is_corrupt_there_though_the_kernel_was_interrupted) {
    xoshiro256ss random(2);
    for (const u64 length : {0U, 1U, 17U}) {
        write_file(file, some(length, random));
        for (const bool interrupted : {false, true}) {
            std::vector<std::byte> into(18);
            const answered script([&, n = u64{0}](const call& c) mutable -> answer {
                if (c.name != "pread" || ++n > most_calls) return {EIO};
                return {interrupted && n == 1 ? EINTR : 0};
            });
            const auto ok = detail::read_start(handle, name, into);
            expect_error(ok, errc::corrupt, name + " at offset " + std::to_string(length), 0);
        }
    }
}

TEST_F(kernel_file, a_byte_that_cannot_be_read_or_written_is_told) {
    xoshiro256ss random(3);
    write_file(file, some(40, random));
    std::vector<std::byte> bytes(40);
    for (const int why : some_errors) {
        for (u64 good = 0; good < 4; ++good) {
            const std::string where = name + " at offset " + std::to_string(10 * good);
            const auto tens = [left = good, why](const call&) mutable -> answer {
                if (left == 0) return {why};
                return --left, answer{0, 10};
            };
            {
                const answered script(tens);
                expect_error(detail::read_start(handle, name, bytes), errc::io, where, why);
            }
            const answered script(tens);
            expect_error(detail::write_start(handle, name, bytes), class_of(why), where, why);
        }
    }
}

TEST_F(kernel_file, is_not_written_for_ever_where_the_kernel_takes_nothing) {
    const std::vector<std::byte> bytes(10);
    u64 calls = 0;
    const answered script([&calls](const call&) -> answer {
        return {++calls == 1 ? EINTR : calls < most_calls ? 0 : EIO, 0};
    });
    EXPECT_FALSE(detail::write_start(handle, name, bytes));
    EXPECT_LT(calls, 10U);
}

// ---------------------------------------------------------------- length

TEST_F(kernel_file, allocating_gives_length_and_blocks_though_it_is_interrupted) {
    xoshiro256ss random(4);
    write_file(file, some(5000, random));
    const auto before = read_file(file);
    const answered script([n = 0](const call& c) mutable -> answer {
        return {c.name == "fallocate" && n++ < 3 ? EINTR : 0};
    });
    must(detail::allocate(handle, name, 4096, 70'000));
    ASSERT_EQ(script.count("fallocate"), 4U);
    EXPECT_EQ(script.calls()[3].offset, 4096U);
    EXPECT_EQ(script.calls()[3].size, 70'000U - 4096);
    const auto facts = must(detail::facts_of(handle, name));
    EXPECT_EQ(facts.bytes, 70'000U);
    EXPECT_GE(facts.allocated_bytes, 70'000U);
    struct stat s{};
    ASSERT_EQ(::fstat(handle.get(), &s), 0);
    EXPECT_EQ(facts.allocated_bytes, static_cast<u64>(s.st_blocks) * 512);
    auto expected = before;
    expected.resize(70'000);
    EXPECT_EQ(read_file(file), expected);
}

TEST_F(kernel_file, what_cannot_be_allocated_is_told_with_how_much_and_where) {
    for (const int why : some_errors) {
        const answered script(failing("fallocate", why));
        const auto refused = detail::allocate(handle, name, 4096, 70'000);
        expect_error(refused, class_of(why), name + " at offset 4096", why);
        EXPECT_NE(refused.error().what.find(" 65904 bytes"), std::string::npos);
    }
    const answered script(failing("fallocate", EOPNOTSUPP));
    expect_error(detail::allocate(handle, name, 0, 1), errc::medium, name + " at offset 0",
                 EOPNOTSUPP);
    EXPECT_EQ(script.count("fallocate"), 1U);
}

TEST_F(kernel_file, is_cut_back_though_it_is_interrupted) {
    write_file(file, std::vector<std::byte>(5000));
    {
        const answered script(
            [n = 0](const call&) mutable -> answer { return {n++ < 3 ? EINTR : 0}; });
        must(detail::truncate(handle, name, 4097));
    }
    EXPECT_EQ(fs::file_size(file), 4097U);
    for (const int why : some_errors) {
        const answered script(failing("ftruncate", why));
        expect_error(detail::truncate(handle, name, 1), errc::io, name + " at offset 1", why);
    }
    EXPECT_EQ(fs::file_size(file), 4097U);
}

// Not even a full disk: the data may be lost, and another sync must not be tried.
TEST_F(kernel_file, a_sync_that_fails_is_an_error_of_the_device_whatever_it_says) {
    for (const int why : {EIO, ENOSPC, EDQUOT, EROFS, EINTR}) {
        const answered script(failing("fsync", why));
        expect_error(detail::sync(handle, name), errc::io, name, why);
        EXPECT_EQ(script.count("fsync"), 1U);
    }
    const answered script(failing("fstat", EIO));
    expect_error(detail::facts_of(handle, name), errc::io, name, EIO);
}

// ---------------------------------------------------------------- opening

TEST_F(kernel_file, one_that_cannot_be_opened_says_why) {
    write_file(file, {});
    for (const int why : some_errors) {
        for (const char* const refused : {"lstat", "open"}) {
            const answered script(failing(refused, why));
            expect_error(detail::open_file(file, true), class_of(why), name, why);
            expect_error(detail::open_unlocked(file), class_of(why), name, why);
        }
        const answered script(failing("fstat", why));
        expect_error(detail::open_file(file, false), errc::io, name, why);
    }
    const answered script(failing("open", ELOOP));
    expect_error(detail::open_file(file, true), errc::unsafe_file, name, 0);
}

TEST_F(kernel_file, one_that_is_locked_is_busy_and_one_that_cannot_be_locked_is_not) {
    write_file(file, {});
    for (const int why : {EAGAIN, EACCES}) {
        const answered script(failing("fcntl", why));
        expect_error(detail::open_file(file, true), errc::busy, name, 0);
        expect_error(detail::open_file(file, false), errc::busy, name, 0);
        expect_error(detail::create_unnamed(file), errc::busy, name, 0);
    }
    for (const int why : {ENOLCK, EINVAL, EIO, ENOSPC}) {
        const answered script(failing("fcntl", why));
        expect_error(detail::open_file(file, true), errc::io, name, why);
        expect_error(detail::create_unnamed(file), errc::io, name, why);
    }
}

TEST_F(kernel_file, locks_are_for_one_writer_or_several_readers_and_end_below_the_gate) {
    write_file(file, {});
    const auto one = detail::open_file(file, false);
    const auto other = detail::open_file(file, false);
    ASSERT_TRUE(one && other);
    expect_error(detail::open_file(file, true), errc::busy, name, 0);
    EXPECT_TRUE(detail::open_unlocked(file));
    struct flock behind{};
    behind.l_type = F_WRLCK;
    behind.l_start = static_cast<off_t>(detail::locked_bytes);
    behind.l_len = 1;
    EXPECT_EQ(::fcntl(handle.get(), F_OFD_GETLK, &behind), 0);
    EXPECT_EQ(behind.l_type, F_UNLCK) << "the byte behind is for others";
    struct flock last{};
    last.l_type = F_WRLCK;
    last.l_start = static_cast<off_t>(detail::locked_bytes - 1);
    last.l_len = 1;
    EXPECT_EQ(::fcntl(handle.get(), F_OFD_GETLK, &last), 0);
    EXPECT_EQ(last.l_type, F_RDLCK);
}

TEST_F(kernel_file, descriptors_do_not_leak_into_programs_that_are_started) {
    write_file(file, {});
    const auto opened = must(detail::open_file(file, true));
    const auto unlocked = must(detail::open_unlocked(file));
    const auto made = must(detail::create_unnamed(dir / "new"));
    for (const auto* h : {&opened, &unlocked, &made}) {
        EXPECT_EQ(::fcntl(h->get(), F_GETFD), FD_CLOEXEC);
    }
    EXPECT_EQ(::fcntl(unlocked.get(), F_GETFL) & O_ACCMODE, O_RDONLY);
    EXPECT_EQ(::fcntl(opened.get(), F_GETFL) & O_ACCMODE, O_RDWR);
}

// Between stat() and open().
TEST_F(kernel_file, one_that_was_exchanged_while_it_was_opened_is_looked_at_again) {
    const std::function<void()> exchanges[] = {
        [this] { EXPECT_EQ(::mkfifo(file.c_str(), 0600), 0); },
        [this] {
            write_file(file, {});
            EXPECT_EQ(::chmod(file.c_str(), 0666), 0);
        },
        [this] {
            write_file(dir / "elsewhere", {});
            fs::create_symlink(dir / "elsewhere", file);
        }};
    for (const auto& exchange : exchanges) {
        fs::remove(file);
        write_file(file, {});
        const answered script([&](const call& c) -> answer {
            if (c.name != "open") return {};
            fs::remove(file);
            exchange();
            return {};
        });
        expect_error(detail::open_file(file, false), errc::unsafe_file, name, 0);
    }
}

TEST_F(kernel_file, it_is_at_a_path_that_leads_to_just_this_file) {
    EXPECT_TRUE(detail::is_at(handle, file));
    fs::create_hard_link(file, dir / "link");
    EXPECT_TRUE(detail::is_at(handle, dir / "link"));
    fs::create_symlink(file, dir / "symbolic");
    EXPECT_FALSE(detail::is_at(handle, dir / "symbolic"));
    EXPECT_FALSE(detail::is_at(handle, dir / "none"));
    write_file(dir / "other", {});
    EXPECT_FALSE(detail::is_at(handle, dir / "other"));
    EXPECT_FALSE(detail::is_at(detail::file_handle(), file));
    EXPECT_FALSE(detail::is_at(detail::file_handle(), dir / "none"));
    for (const char* const refused : {"fstat", "lstat"}) {
        const answered script(failing(refused, EIO));
        EXPECT_FALSE(detail::is_at(handle, file));
    }
}

TEST_F(kernel_file, it_is_not_at_a_path_to_the_same_number_on_another_file_system) {
    const auto on_two = [this] {
        const auto again = [this] {
            const fs::path one = dir / "one" / "f";
            const fs::path two = dir / "one" / "two" / "f";
            fs::remove(one);
            struct stat a{};
            struct stat b{};
            for (int i = 0; i < 20; ++i) write_file(two.parent_path() / std::to_string(i), {});
            write_file(two, {});
            EXPECT_EQ(::lstat(two.c_str(), &b), 0);
            for (int i = 0; i < 1000 && a.st_ino != b.st_ino; ++i) {
                const fs::path next = dir / "one" / std::to_string(i);
                write_file(next, {});
                EXPECT_EQ(::lstat(next.c_str(), &a), 0);
                if (a.st_ino == b.st_ino) fs::rename(next, one);
            }
            if (a.st_ino != b.st_ino) return;  // no file system with numbers of its own
            const auto opened = must(detail::open_unlocked(one));
            EXPECT_TRUE(detail::is_at(opened, one));
            EXPECT_FALSE(detail::is_at(opened, two));
        };
        EXPECT_TRUE(with_small_tmpfs(dir / "one" / "two", u64{1} << 20, again));
    };
    if (!with_small_tmpfs(dir / "one", u64{1} << 20, on_two)) {
        GTEST_SKIP() << "needs the right to mount a small tmpfs (root)";
    }
}

// ---------------------------------------------------------------- making, naming, removing

TEST_F(kernel_file, a_file_system_without_unnamed_files_is_no_medium) {
    for (const int why : {EOPNOTSUPP, EISDIR, EINVAL}) {
        const answered script(failing("openat", why));
        const auto refused = detail::create_unnamed(file);
        expect_error(refused, errc::medium, name, 0);
        EXPECT_NE(refused.error().why.find("(tmpfs)"), std::string::npos);
    }
    for (const int why : some_errors) {
        {
            const answered script(failing("openat", why));
            expect_error(detail::create_unnamed(file), class_of(why), name, why);
        }
        {
            const answered script(failing("open", why));
            expect_error(detail::create_unnamed(file), class_of(why), name, why);
        }
        const answered script(failing("fchmod", why));
        expect_error(detail::create_unnamed(file), errc::io, name, why);
    }
}

TEST_F(kernel_file, a_path_without_a_directory_lies_in_the_current_one) {
    const int code = in_child([this] {
        fs::current_path(dir.path());
        const auto made = must(detail::create_unnamed("here"));
        must(detail::publish(made, "here"));
        EXPECT_TRUE(fs::exists(dir / "here"));
        EXPECT_TRUE(detail::is_at(made, "here"));
        return 0;
    });
    EXPECT_EQ(code, 0);
    expect_error(detail::create_unnamed(dir.path() / ""), errc::usage, (dir.path() / "").string(),
                 0);
}

TEST_F(kernel_file, it_is_durable_before_it_is_named_and_its_name_before_anybody_goes_on) {
    const fs::path path = dir / "new";
    const auto made = must(detail::create_unnamed(path));
    const answered script([](const call&) -> answer { return {}; });
    must(detail::publish(made, path));
    std::vector<std::string> order;
    for (const call& c : script.calls()) {
        if (c.name == "fsync") order.emplace_back(c.fd == made.get() ? "file" : "directory");
        if (c.name == "linkat") order.emplace_back("name");
    }
    EXPECT_EQ(order, (std::vector<std::string>{"file", "name", "directory"}));
}

TEST_F(kernel_file, what_cannot_be_named_says_why) {
    const fs::path path = dir / "new";
    const auto made = must(detail::create_unnamed(path));
    const std::string where = path.string();
    const auto refused_by = [&](const char* by, int why, u64 good = 0) {
        const answered script(failing(by, why, good));
        return detail::publish(made, path);
    };
    for (const int why : some_errors) {
        expect_error(refused_by("fsync", why), errc::io, where, why);
        expect_error(refused_by("open", why), class_of(why), where, why);
        if (why != ENOENT) expect_error(refused_by("linkat", why), class_of(why), where, why);
        EXPECT_FALSE(fs::exists(path)) << why;
    }
    expect_error(refused_by("linkat", ENOENT), errc::io, where, 0);
    expect_error(refused_by("linkat", EEXIST), errc::usage, where, 0);
    expect_error(refused_by("fsync", EIO, 1), errc::io, where, EIO);
    EXPECT_TRUE(detail::is_at(made, path)) << "only the directory was not synced";
}

TEST_F(kernel_file, removing_is_done_where_nothing_is_left) {
    must(detail::remove_stale(file));
    EXPECT_FALSE(fs::exists(file));
    must(detail::remove_stale(file));
    write_file(file, {});
    for (const int why : some_errors) {
        if (why == ENOENT) continue;
        const answered script(failing("unlink", why));
        expect_error(detail::remove_stale(file), class_of(why), name, why);
    }
    EXPECT_TRUE(fs::exists(file));
    errno = ENOENT;  // of an earlier call
    must(detail::remove_stale(file));
    EXPECT_FALSE(fs::exists(file));
}

TEST_F(kernel_file, a_path_is_taken_by_whatever_lies_there) {
    EXPECT_TRUE(detail::is_taken(file));
    EXPECT_TRUE(detail::is_taken(dir.path()));
    EXPECT_FALSE(detail::is_taken(dir / "none"));
    fs::create_symlink(dir / "none", dir / "dangling");
    EXPECT_TRUE(detail::is_taken(dir / "dangling"));
}

}  // namespace
}  // namespace hf::test
