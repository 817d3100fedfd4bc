// Which private copies of a file's pages are dropped, seen by what is read afterwards: a dropped
// page reads as the file has it.
#include "paging/private_pages.hpp"

#include "region/layout.hpp"
#include "scratch.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <optional>

namespace hf {
namespace {

constexpr u64 page = private_pages::page_bytes;
constexpr u64 header = layout::page_size / page;  // pages
constexpr u64 pages = header + 32;
constexpr u64 lines_of_page = page / line_size;

class private_pages_test : public ::testing::Test {
   protected:
    private_pages_test() {
        fd = ::open((dir / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        EXPECT_EQ(::ftruncate(fd, pages * page), 0);
        base = static_cast<std::byte*>(
            ::mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0));
        copies.emplace(base, pages * page, fd, page);
        for (u64 p = 0; p < pages; ++p) base[p * page] = std::byte{1};
    }
    ~private_pages_test() override {
        copies.reset();
        ::munmap(base, pages * page);
        ::close(fd);
    }
    void begin(u64 epoch) { copies->begin_if_needed(pages * page, epoch); }
    void capture(u64 p, u64 epoch) {
        const u64 line = p * lines_of_page + 3;
        copies->captured({&line, 1}, epoch);
    }
    void apply_and_drop(u64 epoch) {
        copies->find_droppable(pages * page, epoch);
        copies->drop();
    }
    bool is_kept(u64 p) { return base[p * page] == std::byte{1}; }

    test::scratch_directory dir;
    int fd = -1;
    std::byte* base = nullptr;
    std::optional<private_pages> copies;
};

constexpr u64 one = header + 1;
constexpr u64 other = header + 7;

TEST_F(private_pages_test, what_the_base_has_is_dropped_and_nothing_else) {
    begin(5);
    capture(one, 6);
    capture(other, 7);
    apply_and_drop(6);
    EXPECT_FALSE(is_kept(one));
    EXPECT_TRUE(is_kept(other)) << "captured in an epoch that the base has not (M1)";
    apply_and_drop(7);
    EXPECT_FALSE(is_kept(other));
    EXPECT_GE(copies->dropped_bytes(), 2 * page);
}

TEST_F(private_pages_test, what_is_captured_after_the_look_is_kept) {
    begin(5);
    capture(one, 6);
    copies->find_droppable(pages * page, 6);
    capture(one, 7);
    copies->drop();
    EXPECT_TRUE(is_kept(one));
}

TEST_F(private_pages_test, what_was_captured_before_tracking_began_counts_as_of_then) {
    begin(5);
    apply_and_drop(4);
    EXPECT_TRUE(is_kept(one)) << "it may have been captured in epoch 5 (M3)";
    apply_and_drop(5);
    EXPECT_FALSE(is_kept(one));
}

TEST_F(private_pages_test, nothing_is_dropped_before_the_region_outgrows_its_memory) {
    copies->begin_if_needed(page / 2, 5);
    apply_and_drop(100);
    for (u64 p = 0; p < pages; ++p) EXPECT_TRUE(is_kept(p));
}

TEST_F(private_pages_test, what_is_held_and_the_header_are_kept) {
    begin(5);
    {
        const private_pages::hold hold(&*copies, base + one * page + 100, page);
        apply_and_drop(100);
        EXPECT_TRUE(is_kept(one));
        EXPECT_TRUE(is_kept(one + 1)) << "the last byte lies in it";
        EXPECT_FALSE(is_kept(one + 2));
    }
    apply_and_drop(100);
    EXPECT_FALSE(is_kept(one));
    for (u64 p = 0; p < header; ++p) EXPECT_TRUE(is_kept(p));
}

TEST_F(private_pages_test, copies_are_counted) {
    begin(5);
    apply_and_drop(4);
    EXPECT_EQ(copies->bytes(), pages * page);
    apply_and_drop(5);
    EXPECT_EQ(copies->bytes(), header * page) << "the header's stay";
    capture(one, 6);
    EXPECT_EQ(copies->bytes(), (header + 1) * page);
    EXPECT_TRUE(copies->is_over_budget());
}

}  // namespace
}  // namespace hf
