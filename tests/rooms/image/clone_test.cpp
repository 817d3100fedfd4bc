// The bytes of one file in another, on a kernel that copies itself, or not, or not all of it.
#include "image/clone.hpp"

#include "base/random.hpp"
#include "image/holes.hpp"
#include "support/effort.hpp"
#include "support/kernel.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <linux/fs.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace hf::test {
namespace {

namespace fs = std::filesystem;
using detail::clone_facts;
using kernel::answer;
using kernel::answered;
using kernel::call;
using layout::page_size;

class clone : public on_tmpfs {
   protected:
    nothing_lost check;
    static constexpr u64 most_calls = 2000;
    static constexpr u64 piece = u64{32} << 20;
    static constexpr u64 small_piece = u64{1} << 20;

    void make(u64 bytes) {
        content.resize(bytes);
        for (auto& b : content) b = static_cast<std::byte>(random());
        write_file(file, content);
        write_file(to, {});
    }
    result<clone_facts> run(u64 bytes) {
        told.clear();
        const auto source = must(detail::open_file(file, false));
        const auto target = must(detail::open_file(to, true));
        return detail::clone(source, "from", target, "to", bytes, [&](u64 done, u64 total) {
            EXPECT_EQ(total, bytes);
            EXPECT_GT(done, told.empty() ? 0 : told.back());
            told.push_back(done);
        });
    }
    void expect_copied(const result<clone_facts>& made, u64 bytes) {
        ASSERT_TRUE(made) << made.error().to_string();
        EXPECT_EQ(made->bytes, bytes);
        EXPECT_FALSE(made->shares_blocks);
        EXPECT_TRUE(read_file(to) ==
                    std::vector(content.begin(), content.begin() + static_cast<long>(bytes)));
        EXPECT_EQ(told.empty() ? 0 : told.back(), bytes);
    }
    /// The kernel copies nothing itself.
    static bool is_kernels(const call& c) { return c.name == "copy_file_range"; }

    xoshiro256ss random{1};
    fs::path to = dir / "to";
    std::vector<std::byte> content;
    std::vector<u64> told;
};

TEST_F(clone, shares_blocks_where_the_file_system_can) {
    make(10'000);
    const answered script([](const call& c) -> answer { return {.is_lie = c.name == "ioctl"}; });
    const auto made = run(4096);
    ASSERT_TRUE(made);
    EXPECT_TRUE(made->shares_blocks);
    EXPECT_EQ(made->bytes, 4096U);
    EXPECT_EQ(fs::file_size(to), 4096U) << "the rest is cut off";
    EXPECT_EQ(script.count("copy_file_range") + script.count("pwrite") + script.count("fallocate"),
              0U);
    for (const call& c : script.calls()) {
        if (c.name == "ioctl") {
            EXPECT_EQ(static_cast<unsigned>(c.option), static_cast<unsigned>(FICLONE));
        }
    }
}

TEST_F(clone, that_shares_blocks_and_cannot_be_cut_is_an_error) {
    make(10'000);
    const answered script([](const call& c) -> answer {
        return {.error = c.name == "ftruncate" ? EIO : 0, .is_lie = c.name == "ioctl"};
    });
    EXPECT_EQ(run(4096).error().code, errc::io);
}

TEST_F(clone, has_every_byte_and_its_blocks_however_little_goes_at_once) {
    for (int round = 0; round < effort(60); ++round) {
        make(1 + random.below(5000));
        const u64 bytes = random.below(content.size() + 1);
        // In the kernel for a while, or never; then by hand.
        u64 in_kernel = random.below(8);
        u64 calls = 0;
        const int why_not[] = {EXDEV, EINVAL, ENOSYS, EOPNOTSUPP, EINTR, ENOSPC};
        const answered script([&](const call& c) -> answer {
            if (c.name != "copy_file_range" && c.name != "pread" && c.name != "pwrite") return {};
            EXPECT_LT(++calls, most_calls);
            if (calls > most_calls) return {EIO};
            if (c.name == "copy_file_range") {
                if (in_kernel == 0) {
                    const int why = why_not[random.below(6)];
                    return {.error = why, .is_lie = why == ENOSPC};
                }
                --in_kernel;
                return {0, 1 + random.below(c.size)};
            }
            if (random.below(3) == 0) return {EINTR};
            return {0, 1 + random.below(c.size)};
        });
        const auto made = run(bytes);
        expect_copied(made, bytes);
        EXPECT_EQ(script.count("fallocate"), bytes == 0 ? 0U : 1U);
        if (HasFailure()) FAIL() << "round " << round << ", " << bytes << " bytes";
    }
}

TEST_F(clone, takes_no_more_at_once_than_a_piece) {
    content.resize(piece + 1);
    write_file(file, content);
    for (const bool in_kernel : {true, false}) {
        write_file(to, {});
        const answered script(
            [&](const call& c) -> answer { return {!in_kernel && is_kernels(c) ? EXDEV : 0}; });
        const auto made = run(content.size());
        ASSERT_TRUE(made);
        EXPECT_EQ(made->bytes, content.size());
        EXPECT_EQ(fs::file_size(to), content.size());
        u64 largest = 0;
        for (const call& c : script.calls()) {
            if (c.name == (in_kernel ? "copy_file_range" : "pread")) {
                largest = std::max(largest, c.size);
            }
        }
        EXPECT_EQ(largest, in_kernel ? piece : small_piece);
        EXPECT_EQ(script.count("copy_file_range"), in_kernel ? 2U : 1U) << "asked once in vain";
        EXPECT_EQ(told.size(), in_kernel ? 2U : 33U);
    }
}

TEST_F(clone, of_a_file_that_ends_too_early_is_an_error_at_its_end) {
    for (const bool in_kernel : {true, false}) {
        for (const bool interrupted : {true, false}) {
            make(1000);
            u64 calls = 0;
            const answered script([&](const call& c) -> answer {
                if (is_kernels(c)) return {in_kernel ? 0 : EXDEV};
                if (c.name != "pread") return {};
                if (++calls > most_calls) return {EIO};
                return {interrupted && calls == 1 ? EINTR : 0};
            });
            const auto made = run(1001);
            ASSERT_FALSE(made);
            EXPECT_EQ(made.error().code, errc::corrupt) << made.error().to_string();
            EXPECT_EQ(made.error().where, "from at offset 1000");
        }
    }
}

TEST_F(clone, that_the_disk_refuses_says_where_and_why) {
    make(100);
    for (const int why : {ENOSPC, EDQUOT, EFBIG, EIO}) {
        const errc code = why == EIO ? errc::io : errc::no_space;
        {
            const answered script(kernel::failing("fallocate", why));
            EXPECT_EQ(run(100).error().code, code);
        }
        {
            const answered script([&, n = 0](const call& c) mutable -> answer {
                if (!is_kernels(c)) return {};
                return ++n == 4 ? answer{why} : answer{0, 10};
            });
            const auto made = run(100);
            ASSERT_FALSE(made);
            EXPECT_EQ(made.error().code, code);
            EXPECT_EQ(made.error().where, "to at offset 30");
        }
        for (const char* const refused : {"pread", "pwrite"}) {
            const answered script([&, n = 0](const call& c) mutable -> answer {
                if (is_kernels(c)) return {ENOSYS};
                if (c.name == "pread" || c.name == "pwrite") {
                    if (c.name == refused && ++n == 4) return {why};
                    return {0, 10};
                }
                return {};
            });
            const auto made = run(100);
            ASSERT_FALSE(made);
            const bool is_read = std::string_view(refused) == "pread";
            EXPECT_EQ(made.error().code, is_read ? errc::io : code);
            EXPECT_EQ(made.error().where, is_read ? "from at offset 30" : "to at offset 30");
            EXPECT_EQ(made.error().why, std::generic_category().message(why));
        }
    }
}

TEST_F(clone, is_not_written_for_ever_where_the_kernel_takes_nothing) {
    make(100);
    u64 writes = 0;
    const answered script([&](const call& c) -> answer {
        if (is_kernels(c)) return {ENOSYS};
        if (c.name != "pwrite") return {};
        if (++writes == 1) return {EINTR};
        return {writes < most_calls ? 0 : EIO, 0};
    });
    EXPECT_FALSE(run(100));
    EXPECT_LT(writes, 10U);
}

/// A file of `pages` pages of 64 KiB, of which the given ones are written and the others are holes.
class sparse_file : public clone {
   protected:
    void make_sparse(u64 pages, const std::vector<u64>& written) {
        write_file(file, {});
        const auto made = must(detail::open_file(file, true));
        must(detail::truncate(made, "from", pages * page_size));
        const std::vector<char> data(page_size, 'x');
        for (const u64 page : written) {
            ASSERT_EQ(::pwrite(made.get(), data.data(), data.size(),
                               static_cast<off_t>(page * page_size)),
                      static_cast<ssize_t>(data.size()));
        }
        write_file(to, {});
    }
    static u64 stored(const fs::path& path) {
        return must(detail::facts_of(must(detail::open_file(path, false)), "it")).allocated_bytes;
    }
};

TEST_F(sparse_file, keeps_its_holes_in_the_copy) {
    for (const std::vector<u64>& written :
         {std::vector<u64>{0, 1, 40}, {63}, {0}, {}, {5, 6, 7, 30}}) {
        make_sparse(64, written);
        const auto made = run(64 * page_size);
        ASSERT_TRUE(made) << made.error().to_string();
        EXPECT_EQ(stored(to), written.size() * page_size);
        EXPECT_TRUE(read_file(to) == read_file(file));
        EXPECT_EQ(told.back(), 64 * page_size);
    }
}

TEST_F(sparse_file, is_copied_whole_where_the_file_system_does_not_know_its_holes) {
    make_sparse(8, {3});
    const answered script([](const call& c) -> answer { return {c.name == "lseek" ? EINVAL : 0}; });
    ASSERT_TRUE(run(8 * page_size));
    EXPECT_TRUE(read_file(to) == read_file(file));
}

TEST_F(sparse_file, that_ends_too_early_in_a_hole_is_an_error_at_its_end) {
    make_sparse(8, {3});
    const auto made = run(9 * page_size);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, errc::corrupt);
    EXPECT_EQ(made.error().where, "from at offset " + std::to_string(8 * page_size));
}

TEST_F(sparse_file, gets_holes_for_spare_ranges_and_for_what_was_never_written) {
    make_sparse(64, {0, 1, 2, 3, 40});
    {
        const auto whole = must(detail::open_file(file, true));
        must(detail::allocate(whole, "it", 0, 64 * page_size));
    }
    ASSERT_EQ(stored(file), 64 * page_size);
    const std::vector<detail::spare_range> spare{{page_size, 2 * page_size}};
    EXPECT_EQ(must(detail::make_holes(file, spare)), 3 * page_size);
    EXPECT_EQ(stored(file), 3 * page_size);
    EXPECT_EQ(fs::file_size(file), 64 * page_size);
    const auto left = read_file(file);
    for (u64 page = 0; page < 64; ++page) {
        const bool is_data = page == 0 || page == 3 || page == 40;
        EXPECT_EQ(left[page * page_size], static_cast<std::byte>(is_data ? 'x' : 0)) << page;
    }
}

TEST_F(sparse_file, that_is_open_gets_no_holes) {
    make_sparse(4, {1});
    const auto user = must(detail::open_file(file, false));
    EXPECT_EQ(detail::make_holes(file, {}).error().code, errc::busy);
}

TEST_F(clone, needs_nobody_who_is_told) {
    make(100);
    const auto source = must(detail::open_file(file, false));
    const auto target = must(detail::open_file(to, true));
    EXPECT_EQ(must(detail::clone(source, "from", target, "to", 100, {})).bytes, 100U);
}

}  // namespace
}  // namespace hf::test
