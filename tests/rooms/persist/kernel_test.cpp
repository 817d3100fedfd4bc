// Where persistence meets the kernel: on which file systems it believes what a sync says, what the
// set of dirty lines takes from it, and for how long writers are put to sleep.
#include "support/kernel.hpp"

#include "persist/detect.hpp"
#include "persist/dirty_set.hpp"
#include "persist/medium.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>

namespace hf::test {
namespace {

using kernel::answer;
using kernel::answered;
using kernel::call;

class on_a_file : public ::testing::Test {
   protected:
    ~on_a_file() override { ::close(fd); }

    int fd = ::memfd_create("on_a_file", MFD_CLOEXEC);
};

// The properties of each file system by its number, as the kernel's headers and manuals have it.
TEST_F(on_a_file, each_file_system_is_what_its_number_says) {
    struct known {
        const char* name;
        std::optional<medium_kind> medium;
    };
    const std::map<u64, known> all{{0x01021994, {"tmpfs", medium_kind::shm}},
                                   {0xEF53, {"ext4", medium_kind::file}},
                                   {0x58465342, {"xfs", medium_kind::file}},
                                   {0x9123683E, {"btrfs", medium_kind::file}},
                                   {0x794C7630, {"overlayfs", medium_kind::file}},
                                   {0xF2F52010, {"f2fs", medium_kind::file}},
                                   {0x6969, {"nfs", {}}},
                                   {0x858458F6, {"ramfs", {}}},
                                   {0x958458F6, {"hugetlbfs", {}}},
                                   {0x65735546, {"fuse", {}}},
                                   {0x4D44, {"fat", {}}},
                                   {0x2011BAB0, {"exfat", {}}},
                                   {0x2FC12FC1, {"zfs", {}}},
                                   {0x01021997, {"9p", {}}},
                                   {0xFF534D42, {"cifs", {}}},
                                   {0x12345678, {"of type 0x12345678", {}}},
                                   {0, {"of type 0x0", {}}}};
    for (const auto& [number, known] : all) {
        // A long may have been made of a number of 32 bits with its sign.
        for (const u64 seen : {number, number | 0xFFFFFFFF00000000U}) {
            const answered script([seen](const call& c) -> answer {
                return {.value = seen, .is_lie = c.name == "fstatfs"};
            });
            EXPECT_EQ(file_system_name(fd), known.name);
            const auto found = detect_medium(fd, "the file");
            ASSERT_EQ(found.has_value(), known.medium.has_value()) << known.name;
            if (found) {
                EXPECT_EQ(*found, *known.medium) << known.name;
                continue;
            }
            EXPECT_EQ(found.error().code, errc::medium);
            EXPECT_EQ(found.error().where, "the file");
            EXPECT_NE(found.error().why.find("(" + std::string(known.name) + ")"),
                      std::string::npos)
                << found.error().why;
        }
    }
}

TEST_F(on_a_file, what_can_be_mapped_synchronously_is_persistent_memory_on_whatever_it_lies) {
    const answered script([](const call& c) -> answer { return {.is_lie = c.name == "mmap"}; });
    const auto found = detect_medium(fd, "the file");
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, medium_kind::dax);
    ASSERT_EQ(script.calls().size(), 2U);
    EXPECT_EQ(script.calls()[0].option, MAP_SHARED_VALIDATE | MAP_SYNC);
    EXPECT_EQ(script.calls()[0].fd, fd);
    EXPECT_EQ(script.calls()[1].name, "munmap");
    EXPECT_EQ(script.calls()[1].size, script.calls()[0].size);
}

TEST_F(on_a_file, what_the_kernel_does_not_say_is_an_error) {
    for (const int why : {EIO, ENOSYS, ENOENT, EACCES}) {
        const answered script(kernel::failing("fstatfs", why));
        EXPECT_EQ(file_system_name(fd), "of an unknown type");
        const auto found = detect_medium(fd, "the file");
        ASSERT_FALSE(found);
        EXPECT_EQ(found.error().code, errc::io);
        EXPECT_EQ(found.error().why, std::generic_category().message(why));
        EXPECT_EQ(script.count("munmap"), 0U);
    }
}

// ---------------------------------------------------------------- latency

// The counter costs nothing to read; the clock is right on every processor.
TEST(fence_latency, is_waited_for_by_the_processors_counter_where_that_keeps_its_rate) {
    std::ifstream in("/proc/cpuinfo");
    std::string flags;
    while (!flags.starts_with("flags") && std::getline(in, flags)) {
    }
    if (!flags.starts_with("flags")) GTEST_SKIP() << "the kernel does not say";
    const bool is_constant = (flags + " ").find(" nonstop_tsc ") != std::string::npos;
    for (const u32 latency : {0U, 1U, 500U, 1000U}) {
        const medium m(medium_kind::shm, flush_instruction::none, latency);
        const answered script([](const call&) -> answer { return {}; });
        for (int i = 0; i < 10; ++i) m.fence();
        EXPECT_EQ(script.count("clock_gettime") != 0, latency != 0 && !is_constant) << latency;
    }
}

// ---------------------------------------------------------------- dirty lines

std::vector<u64> numbers(u64 count, u64 from = 0) {
    std::vector<u64> all(count);
    std::iota(all.begin(), all.end(), from);
    return all;
}

/// How long it would have slept, in nanoseconds; nullopt: it did not.
std::optional<u64> slept(const std::function<void()>& work) {
    const answered script(
        [](const call& c) -> answer { return {.is_lie = c.name == "nanosleep"}; });
    work();
    EXPECT_LE(script.count("nanosleep"), 1U);
    for (const call& c : script.calls()) {
        if (c.name == "nanosleep") return c.size;
    }
    return std::nullopt;
}

// A millisecond for each time that the limit is reached, from the second on.
TEST(dirty_set_limits, slow_down_who_notes_and_never_who_collects_or_takes) {
    for (const u64 limit : {u64{0}, u64{1}, u64{3}, u64{10}, u64{100}, ~u64{0}}) {
        dirty_set set(nullptr, u64{1} << 30);
        set.set_limit(limit);
        for (const u64 size : {u64{1}, u64{2}, u64{3}, u64{4}, u64{5}, u64{6}, u64{19}, u64{20},
                               u64{21}, u64{29}, u64{30}, u64{199}, u64{200}, u64{210}, u64{300}}) {
            EXPECT_EQ(slept([&] { set.collect(numbers(size)); }), std::nullopt);
            ASSERT_EQ(set.size(), size);
            const u64 times = size / (limit == 0 ? 1 : limit);
            const std::optional<u64> expected =
                times < 2 ? std::nullopt : std::optional(std::min<u64>(times, 20) * 1'000'000);
            EXPECT_EQ(slept([&] { set.note(nullptr, 1); }), expected)
                << size << " lines, limit " << limit;
            EXPECT_EQ(slept([&] { set.note_lines(numbers(1)); }), expected);
            EXPECT_EQ(slept([&] { set.note(nullptr, 0); }), std::nullopt) << "there is no line";
            EXPECT_EQ(set.pressure(), size > limit);
            EXPECT_EQ(set.is_overfull(), size / 4 > limit) << size << " lines, limit " << limit;
            EXPECT_FALSE(set.empty());
            if (size != 300) continue;
            std::vector<u64> all;
            EXPECT_EQ(slept([&] { set.take(all); }), std::nullopt);
            EXPECT_EQ(all, numbers(300));
        }
    }
}

TEST(dirty_set_limits, count_the_lines_that_are_just_being_noted) {
    for (const bool one_by_one : {true, false}) {
        dirty_set set(nullptr, u64{1} << 30);
        set.set_limit(2);
        for (u64 line = 0; line < 50; ++line) {
            const auto times = (line + 1) / 2;
            const auto expected =
                times < 2 ? std::nullopt : std::optional(std::min<u64>(times, 20) * 1'000'000);
            EXPECT_EQ(slept([&] {
                          if (one_by_one) {
                              set.note(reinterpret_cast<const std::byte*>(line * line_size), 1);
                          } else {
                              set.note_lines(numbers(1, line));
                          }
                      }),
                      expected)
                << line + 1 << " lines";
        }
    }
}

TEST(dirty_set_limits, are_none_until_one_is_set) {
    dirty_set set(nullptr, u64{1} << 30);
    set.collect(numbers(100'000));
    EXPECT_FALSE(set.pressure());
    EXPECT_FALSE(set.is_overfull());
    EXPECT_EQ(slept([&] { set.note(nullptr, 1); }), std::nullopt);
}

TEST(dirty_set_memory, is_given_back_and_is_a_504th_of_what_it_is_for) {
    for (const u64 bytes : {u64{64}, u64{4096}, u64{4097}, u64{1} << 18, u64{1} << 40}) {
        const answered script([](const call&) -> answer { return {}; });
        {
            const dirty_set set(nullptr, bytes);
        }
        ASSERT_EQ(script.calls().size(), 2U);
        const call& taken = script.calls()[0];
        const call& given = script.calls()[1];
        EXPECT_EQ(taken.name, "mmap");
        EXPECT_EQ(given.name, "munmap");
        EXPECT_EQ(given.size, taken.size);
        const u64 lines = bytes / line_size;
        const u64 pages = (lines + 63) / 64;
        EXPECT_EQ(taken.size, pages * 8 + (pages + 63) / 64 * 8) << bytes;
    }
}

// Whose memory ends with a page: that of one set follows upon another's at once.
TEST(dirty_set_memory, is_not_left_by_the_highest_line) {
    constexpr u64 pages = 504;  // and 8 words of a bit each
    std::vector<std::unique_ptr<dirty_set>> sets;
    for (int i = 0; i < 8; ++i) {
        sets.push_back(std::make_unique<dirty_set>(nullptr, pages * 64 * line_size));
        sets.back()->collect(numbers(64));
    }
    for (const auto& set : sets) {
        set->collect(numbers(1, pages * 64 - 1));
        std::vector<u64> expected = numbers(64);
        expected.push_back(pages * 64 - 1);
        std::vector<u64> lines;
        set->take(lines);
        EXPECT_EQ(lines, expected);
    }
}

TEST(dirty_set_memory, nor_is_that_of_the_list_of_lines) {
    constexpr u64 page = 4096;
    auto* const pages = static_cast<std::byte*>(
        ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_EQ(::mprotect(pages + page, page, PROT_NONE), 0);
    for (u64 n = 0; n < 40; ++n) {
        dirty_set set(nullptr, u64{1} << 30);
        const std::span list(reinterpret_cast<u64*>(pages + page) - n, n);
        std::iota(list.begin(), list.end(), u64{7});
        set.note_lines(list);
        EXPECT_EQ(set.size(), n);
    }
    ::munmap(pages, 2 * page);
}

TEST(dirty_set_memory_death, without_it_the_process_ends) {
    EXPECT_DEATH(
        {
            const answered script(kernel::failing("mmap", ENOMEM));
            const dirty_set set(nullptr, 4096);
        },
        "no address space for the set of dirty lines");
}

}  // namespace
}  // namespace hf::test
