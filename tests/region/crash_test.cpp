// The process stops at every persist point of creation, growth, superblock updates and new roots.
#include "persist/persist_point.hpp"
#include "scratch.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace hf::test {
namespace {

using layout::page_size;

constexpr int stopped = 42;
const char* stop_at = nullptr;
bool medium_fails = false;

void stop_hook(const char* name) {
    if (std::strncmp(name, stop_at, std::strlen(stop_at)) == 0) ::_exit(stopped);
}

}  // namespace
}  // namespace hf::test

// In place of libc's: a medium that has room for the length alone, and then doesn't shrink.
extern "C" int fallocate(int fd, int mode, off_t from, off_t bytes) {
    if (!hf::test::medium_fails) {
        return static_cast<int>(::syscall(SYS_fallocate, fd, mode, from, bytes));
    }
    static_cast<void>(::syscall(SYS_ftruncate, fd, from + bytes));
    errno = ENOSPC;
    return -1;
}
extern "C" int ftruncate(int fd, off_t bytes) noexcept {
    if (!hf::test::medium_fails) return static_cast<int>(::syscall(SYS_ftruncate, fd, bytes));
    errno = EIO;
    return -1;
}

namespace hf::test {
namespace {

class crash : public on_tmpfs {
   protected:
    // Runs `body` in a child that stops at the point, as a crash would. All that it stored is kept.
    static void crash_at(const char* point, const std::function<void()>& body) {
        const int code = in_child([&] {
            stop_at = point;
            set_persist_point_hook(stop_hook);
            body();
            return 0;
        });
        EXPECT_EQ(code, stopped) << point << " was never reached";
    }
};

TEST_F(crash, during_creation_leaves_nothing_or_a_whole_region) {
    struct {
        const char* point;
        bool named;
    } const cases[] = {
        {"region C1:", false}, {"region C2:", false}, {"region C3:", true}, {"region C4:", true}};
    for (const auto& c : cases) {
        crash_at(c.point, [this] { auto r = region::open(file, small_options()); });
        EXPECT_EQ(dir.names().size(), c.named ? 1U : 0U) << c.point;
        const auto r = must_open(file);
        ASSERT_NE(r, nullptr);
        EXPECT_EQ(r->created(), !c.named);
        EXPECT_EQ(r->segments().size(), 1U);
        EXPECT_TRUE(r->grow(segment_kind::heap, 1, 0));
        EXPECT_EQ(dir.names(), std::vector<std::string>{"store.hf"});
        std::filesystem::remove(file);
    }
}

TEST_F(crash, in_the_growth_after_one_that_could_not_be_taken_back_leaves_a_region) {
    make_region(file);
    crash_at("region G1:", [this] {
        const char* const wanted = std::exchange(stop_at, "nowhere");
        auto r = region::open(file, small_options());
        medium_fails = true;
        if (!r || (*r)->grow(segment_kind::heap, 7, 0)) return;
        medium_fails = false;
        stop_at = wanted;
        (void)(*r)->grow(segment_kind::heap, 3, 0);
    });
    const auto r = must_open(file);
    ASSERT_NE(r, nullptr);
    EXPECT_EQ(r->segments().size(), 1U);
    EXPECT_TRUE(r->grow(segment_kind::heap, 1, 0));
}

TEST_F(crash, during_growth_leaves_the_region_before_or_after_it_and_it_grows_on) {
    struct {
        const char* point;
        bool grown;
    } const cases[] = {{"region G1:", false},
                       {"region G2:", false},
                       {"region G3:", false},
                       {"region G4:", true},
                       {"region G5:", true}};
    for (const auto& c : cases) {
        SCOPED_TRACE(c.point);
        make_region(file);
        crash_at(c.point, [this] {
            auto r = region::open(file, small_options());
            if (r) (void)(*r)->grow(segment_kind::log, 7, 3);
        });
        const fingerprint before = fingerprint_of(file);
        {
            const auto r = must_open(file);
            ASSERT_NE(r, nullptr);
            EXPECT_EQ(r->segments().size(), c.grown ? 2U : 1U);
            EXPECT_EQ(r->size(), (16U + (c.grown ? 7U : 0U)) * page_size);
        }
        EXPECT_EQ(fingerprint_of(file), before);  // opening mends nothing yet
        {
            const auto r = must_open(file);
            const auto s = r->grow(segment_kind::heap, 3, 9);
            ASSERT_TRUE(s) << s.error().to_string();
            const std::byte* const begin = r->at<std::byte>(s->offset);
            EXPECT_TRUE(std::all_of(begin, begin + s->bytes(),
                                    [](std::byte b) { return b == std::byte{0}; }));
            EXPECT_EQ(r->header().intent.pages.load(), 0U);
            EXPECT_EQ(*r->at<u8>(page_size), 0x5A);
        }
        EXPECT_EQ(fingerprint_of(file).bytes, (16U + (c.grown ? 7U : 0U) + 3U) * page_size);
        must_open(file);
        std::filesystem::remove(file);
    }
}

TEST_F(crash, while_the_tail_of_a_broken_growth_is_cut_off) {
    make_region(file);
    for (const char* point : {"region G2:", "region G0:", "region G2:", "region G1:"}) {
        crash_at(point, [this] {
            auto r = region::open(file, small_options());
            if (r) (void)(*r)->grow(segment_kind::log, 7, 3);
        });
        EXPECT_EQ(must_open(file)->segments().size(), 1U) << point;
    }
    const auto r = must_open(file);
    EXPECT_TRUE(r->grow(segment_kind::heap, 1, 0));
    EXPECT_EQ(fingerprint_of(file).bytes, 17 * page_size);
}

// A kernel may grow a file in steps of its own.
TEST_F(crash, a_tail_of_any_length_up_to_the_intent_is_accepted_and_reads_as_zeros_later) {
    for (const u64 tail : {u64{0}, u64{1}, u64{4096}, page_size + 7, 4 * page_size}) {
        make_region(file);
        layout::growth_intent intent;
        intent.pages.store(20);
        intent.check.store(layout::growth_intent_check(20));
        patch(file, offsetof(layout::header, intent), &intent, 16);
        std::filesystem::resize_file(file, 16 * page_size + tail);
        if (tail != 0) patch(file, 16 * page_size, "x", 1);
        const auto r = must_open(file);
        ASSERT_NE(r, nullptr);
        const auto s = r->grow(segment_kind::heap, 1, 0);
        ASSERT_TRUE(s);
        EXPECT_EQ(*r->at<u8>(s->offset), 0);
        std::filesystem::remove(file);
    }
}

TEST_F(crash, during_an_update_of_the_superblock_leaves_the_old_or_the_new_one) {
    struct {
        const char* point;
        u64 generation;
    } const cases[] = {{"region S1:", 5}, {"region S2:", 5}};
    for (const auto& c : cases) {
        make_region(file);
        crash_at(c.point, [this] {
            auto r = region::open(file, small_options());
            if (r) (void)(*r)->update_super([](layout::superblock& s) { s.generation = 5; });
        });
        const auto r = must_open(file);
        ASSERT_NE(r, nullptr);
        EXPECT_EQ(r->super().generation, c.generation);
        EXPECT_TRUE(r->damage().empty());
        ASSERT_TRUE(r->update_super([](layout::superblock& s) { s.generation += 1; }));
        EXPECT_EQ(std::memcmp(&r->header().super[0], &r->header().super[1], 4096), 0);
        std::filesystem::remove(file);
    }
}

TEST_F(crash, behind_the_making_of_a_root_leaves_it_there) {
    make_region(file);
    crash_at("region R1:", [this] {
        auto r = region::open(file, small_options());
        if (r) (void)(*r)->publish_root("a fairly long name", 11, 1, 1);
    });
    const auto r = must_open(file);
    ASSERT_NE(r, nullptr);
    const auto found = r->find_root("a fairly long name");
    ASSERT_TRUE(found);
    EXPECT_EQ((*found)->type, 11U);
}

TEST_F(crash, amid_the_making_of_a_root_leaves_nothing_in_the_next) {
    make_region(file);
    {
        const auto r = must_open(file);
        ASSERT_NE(r, nullptr);
        layout::root& cut_short = r->header().roots[0];
        ASSERT_EQ(cut_short.value.load(), 0U);
        std::memcpy(cut_short.name, "a fairly long name", 18);
        cut_short.type = 11;
        EXPECT_FALSE(r->find_root("a fairly long name"));
        ASSERT_TRUE(r->publish_root("b", 12, 1, 1));
        EXPECT_STREQ(cut_short.name, "b");
        EXPECT_EQ(cut_short.name[5], '\0');
    }
    const auto again = must_open(file);
    ASSERT_NE(again, nullptr);
    const auto found = again->find_root("b");
    ASSERT_TRUE(found);
    EXPECT_EQ((*found)->type, 12U);
    EXPECT_EQ(must_fail(file).code, errc::busy);
}

TEST_F(crash, a_killed_process_leaves_no_lock) {
    make_region(file);
    EXPECT_EQ(in_child([this]() -> int {
                  auto r = region::open(file, small_options());
                  ::_exit(r ? stopped : 1);
              }),
              stopped);
    must_open(file);
}

}  // namespace
}  // namespace hf::test
