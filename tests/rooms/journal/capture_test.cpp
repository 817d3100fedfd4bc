// The copy of an epoch's lines, and the memory that it keeps or frees.
#include "journal/capture.hpp"

#include "base/random.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

namespace hf::test {
namespace {

constexpr u64 mebibyte = u64{1} << 20;
constexpr u64 most_kept = 192 * mebibyte;

/// A range of address space: untouched pages cost nothing.
class captured : public ::testing::Test {
   protected:
    static constexpr u64 size = 256 * mebibyte;

    void TearDown() override { ::munmap(memory, size); }

    /// The first `bytes` of the region are dirty.
    void begin(u64 bytes) {
        dirty.note(memory, bytes);
        c.begin(++epoch, dirty);
        ASSERT_EQ(c.size(), bytes / line_size);
    }
    /// Whether the first page is mapped; it is not right after it was freed.
    static bool is_mapped(const std::byte* p) {
        unsigned char in_core = 0;
        return ::mincore(const_cast<std::byte*>(p), 1, &in_core) == 0;
    }
    /// The buffer of the lines, with a byte written to it.
    std::byte* marked() {
        auto* const data = const_cast<std::byte*>(c.as_record().data);
        *data = std::byte{77};
        return data;
    }

    static std::byte* reserve() {
        void* p = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        EXPECT_NE(p, MAP_FAILED);
        return static_cast<std::byte*>(p);
    }

    std::byte* memory = reserve();
    dirty_set dirty{memory, size};
    journal::capture c;
    u64 epoch = 0;
};

}  // namespace

TEST_F(captured, has_each_line_as_it_was_however_the_copying_is_shared) {
    xoshiro256ss random(3);
    for (int turn = 0; turn < 30; ++turn) {
        std::vector<u64> expected;
        const u64 count = 1 + random() % 200;
        for (u64 i = 0; i < count; ++i) expected.push_back(random() % 5000);
        std::sort(expected.begin(), expected.end());
        expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
        for (const u64 line : expected) {
            std::byte* const at = memory + line * line_size;
            for (u64 b = 0; b < line_size; ++b) at[b] = static_cast<std::byte>(random());
            dirty.note(at, 1);
        }
        c.begin(++epoch, dirty);
        ASSERT_EQ(c.epoch(), epoch);
        ASSERT_EQ(c.size(), expected.size());
        const std::size_t cut = random() % (c.size() + 1);
        std::thread other([&] { c.copy(memory, cut, c.size() - cut); });
        c.copy(memory, 0, cut);
        other.join();
        const journal::record r = c.as_record();
        EXPECT_EQ(r.epoch, epoch);
        ASSERT_TRUE(std::equal(r.lines.begin(), r.lines.end(), expected.begin(), expected.end()));
        for (std::size_t i = 0; i < expected.size(); ++i) {
            ASSERT_EQ(
                std::memcmp(r.data + i * line_size, memory + expected[i] * line_size, line_size), 0)
                << "line " << expected[i] << ", turn " << turn;
        }
        c.clear();
        EXPECT_EQ(c.size(), 0U);
        EXPECT_TRUE(dirty.empty());
    }
}

// 1 MiB of lines gets 4 MiB of memory, so four times as many lines fit.
TEST_F(captured, keeps_its_memory_while_it_is_enough) {
    begin(mebibyte);
    std::byte* const data = marked();
    for (const u64 bytes : {u64{line_size}, mebibyte, 4 * mebibyte - line_size, 4 * mebibyte}) {
        c.clear();
        begin(bytes);
        ASSERT_EQ(c.as_record().data, data) << bytes;
        ASSERT_EQ(*data, std::byte{77}) << bytes << " bytes: it is new memory";
    }
    c.clear();
    begin(4 * mebibyte + line_size);
    std::byte* const larger = marked();
    larger[4 * mebibyte + line_size - 1] = std::byte{1};
    c.clear();
    begin(5 * mebibyte);  // there is a reserve of a quarter, so this fits
    EXPECT_EQ(*larger, std::byte{77});
}

TEST_F(captured, gives_back_what_a_large_epoch_took_and_no_less) {
    begin(153 * mebibyte);  // needs exactly as much as is kept
    std::byte* const kept = marked();
    c.clear();
    EXPECT_EQ(c.as_record().data, kept);
    EXPECT_EQ(*kept, std::byte{77});
    begin(most_kept + mebibyte);
    const std::byte* const large = marked();
    const bool is_elsewhere = kept < large || kept >= large + 2 * most_kept;
    if (is_elsewhere) {
        EXPECT_FALSE(is_mapped(kept)) << "lost";
    }
    c.clear();
    EXPECT_EQ(c.as_record().data, nullptr);
    EXPECT_FALSE(is_mapped(large)) << "lost";
    begin(line_size);
    EXPECT_EQ(c.size(), 1U);
}

TEST(a_capture, gives_its_memory_back_at_its_end) {
    std::vector<std::byte> memory(line_size);
    dirty_set dirty(memory.data(), memory.size());
    const std::byte* data = nullptr;
    {
        journal::capture c;
        dirty.note(memory.data(), 1);
        c.begin(1, dirty);
        data = c.as_record().data;
    }
    unsigned char in_core = 0;
    EXPECT_EQ(::mincore(const_cast<std::byte*>(data), 1, &in_core), -1) << "lost";
}

}  // namespace hf::test
