// The journal's file on a kernel that does short writes, is interrupted, is full or fails: at every
// call, in every way.
#include "journal/block_file.hpp"

#include "base/random.hpp"
#include "on_kernel.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace hf::test {
namespace {

using bytes = std::vector<std::byte>;

constexpr int write_errors[] = {EIO, ENOSPC, EDQUOT, EFBIG, EPERM};

errc class_of(int error) {
    if (error == EIO) return errc::io;
    return error == EPERM ? errc::denied : errc::no_space;
}

class block_file : public on_kernel {
   protected:
    void TearDown() override { ::close(fd); }

    bytes some(u64 n) {
        bytes b(n);
        for (std::byte& one : b) one = static_cast<std::byte>(random());
        return b;
    }
    /// Several pieces: some of a few bytes, some empty.
    std::vector<bytes> some_pieces() {
        std::vector<bytes> pieces(1 + random() % 20);
        for (bytes& p : pieces) p = some(random() % 4 == 0 ? 0 : random() % 40);
        return pieces;
    }
    result<void> write(u64 offset, const std::vector<bytes>& pieces) {
        const std::vector<std::span<const std::byte>> spans(pieces.begin(), pieces.end());
        return file.write(offset, spans);
    }
    /// The real contents, whatever the test's kernel returns.
    [[nodiscard]] bytes content() const {
        const kernel::aside quiet;
        struct stat s{};
        EXPECT_EQ(::fstat(fd, &s), 0);
        bytes b(static_cast<std::size_t>(s.st_size));
        EXPECT_EQ(::pread(fd, b.data(), b.size(), 0), static_cast<ssize_t>(b.size()));
        return b;
    }
    void become(const bytes& b) const {
        const kernel::aside quiet;
        EXPECT_EQ(::ftruncate(fd, 0), 0);
        EXPECT_EQ(::pwrite(fd, b.data(), b.size(), 0), static_cast<ssize_t>(b.size()));
    }

    using question = std::tuple<std::string_view, u64, u64, int>;
    [[nodiscard]] std::vector<question> asked() const {
        std::vector<question> all;
        for (const call& c : script.calls()) all.emplace_back(c.name, c.offset, c.size, c.option);
        return all;
    }

    int fd = ::memfd_create("block_file_test", MFD_CLOEXEC);
    journal::posix_file file{fd, "the file"};
    xoshiro256ss random{5};
};

/// Copies the pieces one after the other.
void place(bytes& into, u64 offset, const std::vector<bytes>& pieces) {
    for (const bytes& p : pieces) {
        if (p.empty()) continue;
        into.resize(std::max<u64>(into.size(), offset + p.size()));
        std::copy(p.begin(), p.end(), into.begin() + static_cast<std::ptrdiff_t>(offset));
        offset += p.size();
    }
}

}  // namespace

TEST_F(block_file, has_what_was_written_however_little_the_kernel_takes_at_once) {
    say([this](const call& c) -> answer {
        if (random() % 4 == 0) return {};
        if (c.name == "pwrite" && random() % 3 == 0) return {EINTR};
        if (c.name == "pwritev" && random() % 3 == 0) return {EIO};
        return {0, c.name == "pwrite" ? 1 + random() % c.size : random() % (c.size + 1)};
    });
    for (int i = 0; i < 3000; ++i) {
        const bytes before = some(300);
        become(before);
        const u64 offset = random() % before.size();
        const auto pieces = some_pieces();
        bytes expected = before;
        place(expected, offset, pieces);
        const auto ok = write(offset, pieces);
        ASSERT_TRUE(ok) << ok.error().to_string();
        ASSERT_EQ(content(), expected) << pieces.size() << " pieces, turn " << i;
    }
}

// The error describes the failure and its offset, and is never taken for success.
TEST_F(block_file, tells_of_the_byte_that_could_not_be_written) {
    for (int i = 0; i < 3000; ++i) {
        become({});
        const u64 offset = random() % 100;
        const auto pieces = some_pieces();
        u64 total = 0;
        for (const bytes& p : pieces) total += p.size();
        if (total == 0) continue;
        const u64 end = offset + random() % total;  // the first byte that cannot be written
        const int why = write_errors[random() % std::size(write_errors)];
        say([&](const call& c) -> answer {
            if (c.offset >= end) return {why};
            return {0, std::min<u64>(end - c.offset, 1 + random() % 50)};
        });
        const auto refused = write(offset, pieces);
        say({});
        ASSERT_FALSE(refused) << "turn " << i;
        ASSERT_EQ(refused.error().code, class_of(why)) << refused.error().to_string();
        ASSERT_EQ(refused.error().where, "the file at offset " + std::to_string(end));
        ASSERT_FALSE(refused.error().next.empty());
        bytes expected;
        place(expected, offset, pieces);
        expected.resize(end > offset ? end : 0);
        ASSERT_EQ(content(), expected) << "turn " << i;
    }
}

TEST_F(block_file, is_not_asked_for_ever_where_the_kernel_takes_nothing) {
    say([this](const call&) -> answer {
        EXPECT_LT(script.calls().size(), 100U);
        return {script.calls().size() < 100 ? 0 : EIO, 0};
    });
    EXPECT_FALSE(file.write(0, some(10)));
    EXPECT_LT(script.calls().size(), 100U);
}

TEST_F(block_file, takes_a_chunk_of_four_pieces_in_one_call) {
    ASSERT_TRUE(write(512, {some(64), some(24), some(40), some(640)}));
    EXPECT_EQ(asked(), (std::vector<question>{{"pwritev", 512, 768, 0}}));
}

TEST_F(block_file, gives_what_was_asked_for_however_little_comes_at_once) {
    const bytes all = some(300);
    become(all);
    say([this](const call& c) -> answer {
        if (random() % 3 == 0) return {EINTR};
        return {0, 1 + random() % c.size};
    });
    for (u64 from = 0; from <= all.size(); from += 7) {
        for (u64 n = 0; from + n <= all.size(); n += 13) {
            bytes into(n);
            const auto ok = file.read(from, into);
            ASSERT_TRUE(ok) << ok.error().to_string();
            const auto at = all.begin() + static_cast<std::ptrdiff_t>(from);
            ASSERT_TRUE(std::equal(into.begin(), into.end(), at)) << from << ", " << n;
        }
    }
}

TEST_F(block_file, says_that_it_ends_before_what_was_asked_for) {
    become(some(300));
    for (const u64 from : {u64{0}, u64{299}, u64{300}, u64{301}, u64{5000}}) {
        bytes into(301 - std::min<u64>(from, 300));
        const auto ok = file.read(from, into);
        ASSERT_FALSE(ok) << from;
        EXPECT_EQ(ok.error().code, errc::corrupt) << from;
        EXPECT_EQ(ok.error().where,
                  "the file at offset " + std::to_string(std::max<u64>(from, 300)));
    }
}

TEST_F(block_file, says_that_it_cannot_be_read) {
    become(some(300));
    for (u64 good = 0; good < 4; ++good) {
        u64 left = good;
        say([&left](const call&) -> answer {
            return left == 0 ? answer{EIO} : (--left, answer{0, 10});
        });
        bytes into(40);
        const auto ok = file.read(100, into);
        ASSERT_FALSE(ok) << good;
        EXPECT_EQ(ok.error().code, errc::io) << good;
        EXPECT_EQ(ok.error().where, "the file at offset " + std::to_string(100 + 10 * good));
    }
}

// After a failed sync the kernel treats its pages as clean: a second sync would succeed without
// writing them. A full disk must not be retried then either.
TEST_F(block_file, is_never_synced_again_after_a_sync_has_failed) {
    for (const int why : {EIO, ENOSPC, EDQUOT, EROFS, EINTR}) {
        journal::posix_file one(fd, "one");
        script.forget();
        for (int i = 0; i < 3; ++i) ASSERT_TRUE(one.sync());
        EXPECT_EQ(script.count("fdatasync"), 3U) << "each is the kernel's";
        say([why](const call&) { return answer{why}; });
        const auto first = one.sync();
        say({});
        script.forget();
        ASSERT_FALSE(first) << why;
        EXPECT_EQ(first.error().code, errc::io) << "nobody tries it again";
        EXPECT_EQ(first.error().why, std::generic_category().message(why));
        for (int i = 0; i < 3; ++i) {
            const auto later = one.sync();
            ASSERT_FALSE(later) << why;
            EXPECT_EQ(later.error().code, errc::io);
            EXPECT_EQ(later.error().why, std::generic_category().message(EIO));
            EXPECT_EQ(later.error().where, "one");
        }
        EXPECT_TRUE(script.calls().empty());
    }
}

TEST_F(block_file, becomes_longer_never_shorter_and_has_its_blocks) {
    const bytes start = some(1000);
    become(start);
    for (const u64 to : {u64{0}, u64{999}, u64{1000}, u64{1001}, u64{70'000}, u64{500}}) {
        const u64 before = content().size();
        int interrupted = 3;
        say([&interrupted](const call& c) {
            return c.name == "fallocate" && interrupted-- > 0 ? answer{EINTR} : answer{};
        });
        ASSERT_TRUE(file.extend(to)) << to;
        say({});
        bytes expected = start;
        expected.resize(std::max(before, to));
        EXPECT_EQ(content(), expected) << to;
        const auto size = file.size();
        ASSERT_TRUE(size);
        EXPECT_EQ(*size, expected.size());
        struct stat s{};
        ASSERT_EQ(::fstat(fd, &s), 0);
        EXPECT_GE(static_cast<u64>(s.st_blocks) * 512, expected.size()) << "allocated, not a hole";
    }
}

TEST_F(block_file, stays_as_it_was_where_there_is_no_room) {
    become(some(1000));
    for (const int why : write_errors) {
        say([why](const call& c) { return answer{c.name == "fallocate" ? why : 0}; });
        const auto refused = file.extend(5000);
        ASSERT_FALSE(refused) << why;
        EXPECT_EQ(refused.error().code, class_of(why));
        EXPECT_EQ(refused.error().what, "allocate 4000 bytes");
        EXPECT_EQ(refused.error().where, "the file at offset 1000");
        EXPECT_EQ(content().size(), 1000U);
    }
    say([](const call& c) { return answer{c.name == "fstat" ? EACCES : 0}; });
    for (const errc code : {file.extend(5000).error().code, file.size().error().code}) {
        EXPECT_EQ(code, errc::io);
    }
    say({});
    EXPECT_EQ(content().size(), 1000U);
}

TEST_F(block_file, hands_hints_on_and_takes_no_offence) {
    say([](const call&) { return answer{EIO}; });
    file.begin_read(4096, 8192);
    file.begin_write_back(12288, 4096);
    EXPECT_EQ(asked(),
              (std::vector<question>{{"posix_fadvise", 4096, 8192, POSIX_FADV_WILLNEED},
                                     {"sync_file_range", 12288, 4096, SYNC_FILE_RANGE_WRITE}}));
}

}  // namespace hf::test
