// A journal's file on tmpfs, written by stores.
#include "journal/mapped_file.hpp"

#include "base/random.hpp"
#include "on_kernel.hpp"
#include "persist/counters.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace hf::test {
namespace {

using bytes = std::vector<std::byte>;

constexpr u64 piece = 8192;
constexpr u64 file_bytes = 5 * piece + 4096;

class mapped_file : public on_kernel {
   protected:
    void SetUp() override {
        on_kernel::SetUp();
        const kernel::aside quiet;
        ASSERT_EQ(::ftruncate(fd, file_bytes), 0);
    }
    void TearDown() override { ::close(fd); }

    bytes some(u64 n) {
        bytes b(n);
        for (std::byte& one : b) one = static_cast<std::byte>(random());
        return b;
    }
    [[nodiscard]] bytes content() const {
        const kernel::aside quiet;
        bytes b(file_bytes);
        EXPECT_EQ(::pread(fd, b.data(), b.size(), 0), static_cast<ssize_t>(b.size()));
        return b;
    }
    [[nodiscard]] static bytes read(journal::mapped_file& f, u64 offset, u64 n) {
        bytes b(n);
        EXPECT_TRUE(f.read(offset, b));
        return b;
    }

    int fd = ::memfd_create("mapped_file_test", MFD_CLOEXEC);
    medium shm{medium_kind::shm, flush_instruction::none, 0};
    journal::mapped_file file{fd, "the file", shm, piece};
    xoshiro256ss random{7};
};

TEST_F(mapped_file, writes_and_reads_any_range_across_its_mappings) {
    bytes wanted(file_bytes);
    for (int i = 0; i < 300; ++i) {
        const u64 offset = random.below(file_bytes);
        const bytes first = some(random.below(std::min(file_bytes - offset, 3 * piece)));
        const bytes second = some(random.below(file_bytes - offset - first.size()) % 100);
        const std::span<const std::byte> both[] = {first, {}, second};
        ASSERT_TRUE(file.write(offset, both));
        const auto at = wanted.begin() + static_cast<std::ptrdiff_t>(offset);
        std::copy(second.begin(), second.end(), std::copy(first.begin(), first.end(), at));
        const u64 from = random.below(file_bytes);
        const u64 n = random.below(file_bytes - from + 1);
        const auto begin = wanted.begin() + static_cast<std::ptrdiff_t>(from);
        ASSERT_EQ(read(file, from, n), bytes(begin, begin + static_cast<std::ptrdiff_t>(n)));
    }
    EXPECT_EQ(content(), wanted);
}

TEST_F(mapped_file, maps_each_piece_once_and_writes_without_system_calls) {
    const bytes line = some(64);
    ASSERT_TRUE(file.write(0, line));
    ASSERT_TRUE(file.write(piece, line));
    ASSERT_TRUE(file.sync());
    const auto before = script.calls().size();
    ASSERT_TRUE(file.write(64, line));
    ASSERT_TRUE(file.write(2 * piece - 64, line));
    EXPECT_EQ(script.calls().size(), before);
}

TEST_F(mapped_file, refuses_ranges_past_the_end_and_changes_nothing) {
    const bytes before = content();
    const bytes line = some(64);
    for (const u64 offset : {file_bytes - 63, file_bytes, 9 * piece}) {
        EXPECT_EQ(file.write(offset, line).error().code, errc::corrupt) << offset;
        bytes into(64);
        EXPECT_EQ(file.read(offset, into).error().code, errc::corrupt) << offset;
    }
    EXPECT_EQ(content(), before);
    ASSERT_TRUE(file.extend(file_bytes + 4096));
    EXPECT_TRUE(file.write(file_bytes, line)) << "it has grown";
    EXPECT_EQ(read(file, file_bytes, 64), line);
}

// The length is the only thing that a store does not make durable.
TEST_F(mapped_file, a_sync_reaches_the_kernel_after_the_length_changed_and_at_no_other_time) {
    const auto syncs = [this] { return script.count("fdatasync"); };
    ASSERT_TRUE(file.sync());
    EXPECT_EQ(syncs(), 1U);
    ASSERT_TRUE(file.write(0, some(64)));
    ASSERT_TRUE(file.sync());
    EXPECT_EQ(syncs(), 1U);
    ASSERT_TRUE(file.extend(file_bytes + 4096));
    ASSERT_TRUE(file.sync());
    EXPECT_EQ(syncs(), 2U);
    ASSERT_TRUE(file.sync());
    EXPECT_EQ(syncs(), 2U);
}

TEST_F(mapped_file, a_sync_that_failed_is_not_forgotten_when_the_length_is_the_former_one) {
    ASSERT_TRUE(file.sync());
    ASSERT_TRUE(file.extend(file_bytes + 4096));
    say(kernel::failing("fdatasync", EIO));
    ASSERT_FALSE(file.sync());
    {
        const kernel::aside quiet;
        ASSERT_EQ(::ftruncate(fd, file_bytes), 0);
    }
    EXPECT_FALSE(file.sync()) << "the file's length on the medium may be either";
}

TEST_F(mapped_file, writes_back_and_fences_each_write_where_the_medium_flushes) {
    const medium pmem(medium_kind::shm, best_flush_instruction(), 0);
    journal::mapped_file flushed(fd, "the file", pmem, piece);
    for (const u64 n : {u64{8}, u64{64}, u64{4096}, 2 * piece}) {
        const auto before = thread_persist_counters();
        ASSERT_TRUE(flushed.write(40, some(n)));
        const auto after = thread_persist_counters();
        EXPECT_EQ(after.fences - before.fences, 1U) << n;
        const u64 written = (after.flushes - before.flushes) * line_size +
                            (after.streamed_bytes - before.streamed_bytes);
        EXPECT_GE(written, n) << "every line of it is flushed or streamed";
    }
}

TEST_F(mapped_file, several_threads_use_ranges_of_their_own) {
    std::vector<std::thread> all;
    std::vector<bytes> said(4);
    for (unsigned t = 0; t < said.size(); ++t) said[t] = some(piece);
    for (unsigned t = 0; t < said.size(); ++t) {
        all.emplace_back([this, t, &said] {
            for (int i = 0; i < 50; ++i) EXPECT_TRUE(file.write(t * piece, said[t]));
        });
    }
    for (std::thread& t : all) t.join();
    for (unsigned t = 0; t < said.size(); ++t) EXPECT_EQ(read(file, t * piece, piece), said[t]);
}

TEST_F(mapped_file, an_address_space_that_is_full_is_an_error) {
    say(kernel::failing("mmap", ENOMEM));
    const auto refused = file.write(0, some(64));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::io);
}

}  // namespace
}  // namespace hf::test
