// The write log: contents that QEMU would not have written are refused. And the moments for which
// images are rebuilt.
#include "write_log.hpp"

#include "moments.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>

namespace hf::power_test {

namespace {

constexpr u64 sector_bytes = 512;
constexpr u64 disk = 64 * sector_bytes;
constexpr u64 flush = 1;
constexpr u64 discard = 4;

std::string padded(std::initializer_list<u64> words) {
    std::string text;
    for (const u64 word : words) {
        text.append(reinterpret_cast<const char*>(&word), sizeof(word));
    }
    text.resize(sector_bytes);
    return text;
}

std::string superblock(u64 entries, u64 magic = 0x6a736677736872, u64 version = 1,
                       u64 sector_size = sector_bytes) {
    return padded({magic, version, entries, sector_size});
}

std::string written(u64 at, const std::string& bytes) {
    const u64 sectors = bytes.size() / sector_bytes;
    return padded({at, sectors, 0, 0}) + bytes;
}

class power_write_log : public testing::Test {
   protected:
    result<write_log> read(const std::string& bytes) {
        std::ofstream(file_, std::ios::binary) << bytes;
        return read_write_log(file_, disk);
    }
    errc code_of(const std::string& bytes) {
        const auto log = read(bytes);
        EXPECT_FALSE(log);
        return log ? errc::usage : log.error().code;
    }

    test::scratch_directory place_;
    std::filesystem::path file_ = place_ / "log";
};

TEST_F(power_write_log, entries_are_read_to_the_files_end) {
    const auto log = read(superblock(1) + written(3, std::string(2 * sector_bytes, 'a')) +
                          padded({0, 0, flush, 0}) + padded({8, 4, discard, 0}));
    ASSERT_TRUE(log) << log.error().to_string();
    ASSERT_EQ(log->entries.size(), 3U);
    EXPECT_EQ(log->announced, 1U);
    EXPECT_EQ(log->entries[0].offset, 3 * sector_bytes);
    EXPECT_EQ(log->entries[0].length, 2 * sector_bytes);
    EXPECT_EQ(log->entries[0].end, 4 * sector_bytes);
    EXPECT_EQ(log->entries[1].is, log_entry::kind::flush);
    EXPECT_EQ(log->entries[1].end, 5 * sector_bytes);
    EXPECT_EQ(log->entries[2].is, log_entry::kind::discard);
}

TEST_F(power_write_log, an_entry_that_is_not_all_there_ends_the_log) {
    const std::string one = written(3, std::string(2 * sector_bytes, 'a'));
    const auto log = read(superblock(1) + one + one.substr(0, one.size() - 1));
    ASSERT_TRUE(log);
    EXPECT_EQ(log->entries.size(), 1U);
}

TEST_F(power_write_log, what_makes_no_sense_is_refused) {
    const std::string good = written(3, std::string(sector_bytes, 'a'));
    EXPECT_EQ(code_of(""), errc::corrupt);
    EXPECT_EQ(code_of(superblock(0).substr(0, 20)), errc::corrupt);
    EXPECT_EQ(code_of(superblock(0, 1)), errc::corrupt);
    EXPECT_EQ(code_of(superblock(0, 0x6a736677736872, 2)), errc::corrupt);
    EXPECT_EQ(code_of(superblock(0, 0x6a736677736872, 1, 4096)), errc::corrupt);
    EXPECT_EQ(code_of(superblock(2) + good), errc::corrupt);
    EXPECT_EQ(code_of(superblock(0) + written(64, std::string(sector_bytes, 'a'))), errc::corrupt);
    EXPECT_EQ(code_of(superblock(0) + padded({~u64{0}, 2, 0, 0})), errc::corrupt);
    EXPECT_EQ(code_of(superblock(0) + padded({1, ~u64{0}, 0, 0})), errc::corrupt);
    EXPECT_EQ(code_of(superblock(0) + padded({1, 1, 0, 17})), errc::corrupt);
    EXPECT_EQ(code_of(superblock(0) + padded({1, 1, 1024, 0})), errc::corrupt);
    EXPECT_EQ(code_of(superblock(0) + padded({0, 0, 0, 0})), errc::corrupt);
}

TEST_F(power_write_log, writes_come_to_lie_where_they_belong_whole_or_torn) {
    const auto log =
        read(superblock(1) +
             written(3, std::string(sector_bytes, 'a') + std::string(sector_bytes, 'b')) +
             padded({3, 1, discard, 0}));
    ASSERT_TRUE(log);
    const auto image = place_ / "image";
    const auto content = [&] {
        std::ifstream in(image, std::ios::binary);
        std::string text(disk, '?');
        in.read(text.data(), static_cast<std::streamsize>(disk));
        return text;
    };
    std::ofstream(image, std::ios::binary) << std::string(disk, '.');
    ASSERT_TRUE(apply(file_, log->entries[0], image, 1, 2));
    EXPECT_EQ(content().substr(3 * sector_bytes, 3 * sector_bytes),
              std::string(sector_bytes, '.') + std::string(sector_bytes, 'b') +
                  std::string(sector_bytes, '.'));
    ASSERT_TRUE(apply(file_, log->entries[0], image));
    EXPECT_EQ(content().substr(3 * sector_bytes, 2 * sector_bytes),
              std::string(sector_bytes, 'a') + std::string(sector_bytes, 'b'));
    ASSERT_TRUE(apply(file_, log->entries[1], image));
    EXPECT_EQ(content().substr(3 * sector_bytes, sector_bytes), std::string(sector_bytes, '\0'));
}

TEST_F(power_write_log, moments_keep_what_a_flush_has_covered_and_lies_do_not) {
    std::string bytes = superblock(0);
    for (int i = 0; i < 40; ++i) {
        bytes +=
            written(3, std::string(sector_bytes, 'a')) + written(9, std::string(sector_bytes, 'b'));
        bytes += padded({0, 0, flush, 0});
    }
    const auto log = read(bytes);
    ASSERT_TRUE(log);
    xoshiro256ss random(1);
    const auto all = choose_moments(*log, 30, 2, random);
    ASSERT_EQ(all.size(), 32U);
    std::size_t before = 0;
    std::size_t lies = 0;
    for (const moment& one : all) {
        EXPECT_GE(one.synced, before);
        before = one.synced;
        EXPECT_LE(one.synced, one.cut);
        std::size_t flushes = 0;
        for (std::size_t i = one.synced; i < one.cut; ++i) {
            flushes += log->entries[i].is == log_entry::kind::flush;
        }
        lies += one.of == fate::lies;
        EXPECT_EQ(flushes > 0, one.of == fate::lies);
    }
    EXPECT_EQ(lies, 2U);
}

}  // namespace

}  // namespace hf::power_test
