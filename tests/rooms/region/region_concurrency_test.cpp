// Several threads grow, update and ask one region; several open at once.
#include "support/effort.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace hf::test {
namespace {

using layout::page_size;

class region_threads : public on_tmpfs {};

TEST_F(region_threads, segments_grown_at_once_never_overlap) {
    const auto r = must_open(file);
    std::vector<std::thread> threads;
    std::atomic<bool> stop{false};
    std::thread reader([&] {
        while (!stop.load()) {
            const auto seen = r->segments();
            u64 end = page_size;
            for (const segment& s : seen) {
                EXPECT_EQ(s.offset, end);
                end += s.bytes();
            }
            EXPECT_LE(r->super().generation, u64{200});
        }
    });
    for (u16 t = 0; t < 4; ++t) {
        threads.emplace_back([&r, t] {
            for (u16 i = 0; i < 50; ++i) {
                const auto s = r->grow(segment_kind::heap, 1 + i % 3U, t);
                ASSERT_TRUE(s);
                *r->at<u16>(s->offset) = t;
                *r->at<u16>(s->offset + s->bytes() - 2) = t;
                ASSERT_TRUE(r->update_super([](layout::superblock& x) { x.generation += 1; }));
                ASSERT_TRUE(i % 5 != 0 ||
                            r->publish_root(std::to_string(t) + "/" + std::to_string(i), t, 1, 1));
            }
        });
    }
    for (auto& t : threads) t.join();
    stop.store(true);
    reader.join();
    EXPECT_EQ(r->super().generation, 200U);
    const auto segments = r->segments();
    EXPECT_EQ(segments.size(), 201U);
    for (const segment& s : segments) {
        if (s.offset == page_size) continue;
        EXPECT_EQ(*r->at<u16>(s.offset), s.owner);
        EXPECT_EQ(*r->at<u16>(s.offset + s.bytes() - 2), s.owner);
    }
    for (u16 t = 0; t < 4; ++t) {
        for (u16 i = 0; i < 50; i = static_cast<u16>(i + 5)) {
            EXPECT_TRUE(r->find_root(std::to_string(t) + "/" + std::to_string(i)));
        }
    }
}

TEST_F(region_threads, of_many_that_open_or_create_at_once_one_gets_it) {
    for (int round = 0; round < hf::test::effort(20); ++round) {
        std::vector<std::thread> threads;
        std::vector<std::unique_ptr<region>> opened(4);
        for (std::size_t t = 0; t < opened.size(); ++t) {
            threads.emplace_back([&, t] {
                auto r = region::open(file, small_options());
                if (r) {
                    opened[t] = std::move(*r);
                } else {
                    EXPECT_EQ(r.error().code, errc::busy) << r.error().to_string();
                }
            });
        }
        for (auto& t : threads) t.join();
        EXPECT_EQ(std::count_if(opened.begin(), opened.end(), [](auto& r) { return r != nullptr; }),
                  1);
        EXPECT_EQ(dir.names().size(), 1U);
        opened.clear();
        std::filesystem::remove(file);
    }
}

TEST_F(region_threads, windows_are_taken_and_returned_by_many) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([] {
            for (int i = 0; i < 50; ++i) {
                auto w = window::take();
                ASSERT_TRUE(w);
                ASSERT_TRUE(is_persistent(w->base()));
            }
        });
    }
    for (auto& t : threads) t.join();
}

}  // namespace
}  // namespace hf::test
