// A region on tmpfs has huge pages where the kernel gives any, and is the same region without.
#include "region/huge_pages.hpp"

#include "support/kernel.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

namespace hf::test {
namespace {

using kernel::answered;
using kernel::failing;
using layout::page_size;

constexpr u64 huge_page = u64{2} << 20;
constexpr std::string_view of_huge_pages = "ShmemPmdMapped:";

bool is_wish(const kernel::call& c) { return c.name == "madvise" && c.option == 25; }

/// Bytes of the mapping at `base` that lie in huge pages. Each page has been met before.
u64 huge_bytes(const region& r) {
    const kernel::aside look;
    for (u64 at = 0; at < r.size(); at += 4096) {
        static_cast<void>(*static_cast<volatile const std::byte*>(r.base() + at));
    }
    std::ifstream maps("/proc/self/smaps");
    u64 sum = 0;
    bool here = false;
    for (std::string line; std::getline(maps, line);) {
        std::istringstream words(line);
        if (line.find('-') < line.find(' ')) {
            u64 begin = 0;
            words >> std::hex >> begin;
            const u64 base = reinterpret_cast<u64>(r.base());
            here = begin >= base && begin < base + r.size();
        } else if (here && line.starts_with(of_huge_pages)) {
            words.ignore(of_huge_pages.size());
            u64 kilobytes = 0;
            words >> kilobytes;
            sum += kilobytes * 1024;
        }
    }
    return sum;
}

/// `bytes` may get few of them: fragmented memory may lack huge pages at the moment, and on a busy
/// machine the requests end after any number.
void expect_some_are_huge(const region& r, u64 bytes) {
    const u64 found = huge_bytes(r);
    EXPECT_GE(found, huge_page);
    EXPECT_LE(found, bytes);
}

class huge_pages : public on_tmpfs {
   protected:
    std::unique_ptr<region> opened(u64 bytes) {
        region_options o;
        o.initial_size = bytes;
        o.max_size = u64{64} << 20;
        return must_open(file, o);
    }
    /// Whether the kernel has any for a region.
    bool are_had() {
        const auto r = opened(huge_page);
        const bool had = huge_bytes(*r) == huge_page;
        std::filesystem::remove(file);
        return had;
    }
};

TEST_F(huge_pages, are_had_by_all_of_a_new_region_but_its_end) {
    if (!are_had()) GTEST_SKIP() << "the kernel gives none";
    const auto r = opened(4 * huge_page + page_size);
    expect_some_are_huge(*r, 4 * huge_page);
    EXPECT_EQ(fingerprint_of(file).bytes, 4 * huge_page + page_size);
}

// There may be none but by moving others' memory together, which takes the kernel seconds on a busy
// machine; who grows a region holds what others wait for.
TEST_F(huge_pages, are_not_asked_for_by_what_grows) {
    const auto r = opened(page_size);
    unsigned asked = 0;
    {
        const answered watch([&](const kernel::call& c) -> kernel::answer {
            asked += is_wish(c) ? 1 : 0;
            return {};
        });
        for (u64 pages : {u64{1}, 2 * huge_page / page_size}) {
            must(r->grow(segment_kind::heap, pages, 0));
        }
    }
    EXPECT_EQ(asked, 0U);
    std::fill_n(r->base() + page_size, r->size() - page_size, std::byte{1});
}

TEST_F(huge_pages, are_had_by_who_opens_it_later) {
    if (!are_had()) GTEST_SKIP() << "the kernel gives none";
    opened(2 * huge_page).reset();
    expect_some_are_huge(*opened(2 * huge_page), 2 * huge_page);
}

TEST_F(huge_pages, a_region_is_the_same_where_they_are_refused) {
    for (const char* const refused : {"madvise", "mmap"}) {
        std::unique_ptr<region> r;
        {
            const answered script([&, n = 0](const kernel::call& c) mutable -> kernel::answer {
                return {c.name == refused && n++ == 0 ? EINVAL : 0};
            });
            r = opened(2 * huge_page + page_size);
        }
        EXPECT_EQ(r->size(), 2 * huge_page + page_size);
        EXPECT_GE(must(detail::facts_of(must(detail::open_unlocked(file)), "")).allocated_bytes,
                  r->size());
        std::fill_n(r->base() + page_size, r->size() - page_size, std::byte{1});
        r.reset();
        std::filesystem::remove(file);
    }
}

TEST_F(huge_pages, a_kernel_that_takes_its_time_is_not_asked_for_many) {
    constexpr u64 many = 24;
    unsigned asked = 0;
    const answered slow([&](const kernel::call& c) -> kernel::answer {
        if (is_wish(c)) {
            ++asked;
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
        }
        return {};
    });
    const auto r = opened(many * huge_page);
    EXPECT_GT(asked, 0U);
    EXPECT_LE(asked, many / 4);
}

// The cost of a call itself is then shared by many.
TEST_F(huge_pages, are_had_by_a_large_region_though_each_call_takes_its_time) {
    constexpr u64 many = 30;
    constexpr u64 of_a_call_ns = 4'000'000;
    u64 now = 0;
    u64 asked = 0;
    const answered slow([&](const kernel::call& c) -> kernel::answer {
        if (c.name == "clock_gettime") return {.value = now, .is_lie = true};
        if (!is_wish(c)) return {};
        asked += c.size;
        now += of_a_call_ns;
        return {.is_lie = true};
    });
    const auto r = opened(many * huge_page);
    EXPECT_EQ(asked, many * huge_page);
}

TEST_F(huge_pages, a_file_becomes_no_longer_than_it_will_be) {
    auto handle = must(detail::create_unnamed(file));
    detail::wish_for_huge_pages(handle, page_size, 3 * huge_page - page_size);
    EXPECT_EQ(must(detail::facts_of(handle, "")).bytes, 2 * huge_page);
    detail::wish_for_huge_pages(handle, 2 * huge_page, 3 * huge_page - 1);
    EXPECT_EQ(must(detail::facts_of(handle, "")).bytes, 2 * huge_page);
}

}  // namespace
}  // namespace hf::test
