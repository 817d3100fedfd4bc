// The process stops at every persist point of creation, growth, superblock updates and new roots.
#include "persist/persist_point.hpp"
#include "persist/trace.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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

// A crash in the middle of the first write must find the other one whole.
TEST_F(crash, an_update_of_the_superblock_writes_over_the_damaged_one_first) {
    for (const u64 damaged : {0U, 1U}) {
        std::filesystem::remove(file);
        make_region(file);
        flip_bit(file, damaged * 4096 * 8 + 700);
        const auto before = read_file(file);
        crash_at("region S1:", [this] {
            auto r = region::open(file, small_options());
            if (r) (void)(*r)->update_super([](layout::superblock& s) { s.generation = 3; });
        });
        const auto now = read_file(file);
        const u64 whole = 4096 * (1 - damaged);
        EXPECT_EQ(std::memcmp(now.data() + whole, before.data() + whole, 4096), 0);
        const auto r = must_open(file);
        ASSERT_NE(r, nullptr);
        EXPECT_TRUE(r->damage().empty());
        EXPECT_EQ(r->super().generation, 3U);
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

// The least that a medium may hold of a header: what was flushed, as it was then, and fenced after.
class durable_header final : public trace_sink {
   public:
    explicit durable_header(const layout::header& h) : memory_(h) {
        std::memcpy(static_cast<void*>(content.get()), &h, sizeof h);
        trace::sink = this;
    }
    ~durable_header() override { trace::sink = nullptr; }

    void flush(const void* line) noexcept override {
        const auto at = reinterpret_cast<u64>(line) - reinterpret_cast<u64>(&memory_);
        if (at >= sizeof memory_) return;
        std::array<std::byte, line_size> bytes{};
        const u64 begin = align_down(at, line_size);
        std::memcpy(bytes.data(), reinterpret_cast<const std::byte*>(&memory_) + begin, line_size);
        flushed_.emplace_back(begin, bytes);
    }
    void fence() noexcept override {
        for (const auto& [at, bytes] : flushed_) {
            std::memcpy(reinterpret_cast<std::byte*>(content.get()) + at, bytes.data(), line_size);
        }
        flushed_.clear();
    }
    void stream(void*, const void*, std::size_t) noexcept override {}
    void noted(const void*, std::size_t) noexcept override {}
    void announced(u64) noexcept override {}

    std::unique_ptr<layout::header> content = std::make_unique<layout::header>();

   private:
    const layout::header& memory_;
    std::vector<std::pair<u64, std::array<std::byte, line_size>>> flushed_;
};

const durable_header* durable = nullptr;
std::vector<std::string>* reached = nullptr;

// The claims of region.hpp for each persist point: which data is durable there and which is not
// yet.
void look(const char* name) {
    const std::string point(name, 9);
    reached->push_back(point);
    const layout::header& h = *durable->content;
    const auto is_new = [&h](unsigned copy) {
        EXPECT_EQ(h.super[copy].checksum, layout::superblock_checksum(h.super[copy]));
        return h.super[copy].generation == 5;
    };
    const u64 intent = h.intent.pages.load();
    const u64 word = h.segments[1].load();
    if (point == "region G1" || point == "region G2" || point == "region G3") {
        EXPECT_EQ(intent, 23U) << point;
        EXPECT_EQ(h.intent.check.load(), layout::growth_intent_check(23)) << point;
        EXPECT_EQ(word, 0U) << point;
    } else if (point == "region G4") {
        EXPECT_EQ(intent, 23U) << "it is not cleared yet";
        EXPECT_EQ(word, layout::pack_segment(1, {7, 3, 2}));
    } else if (point == "region G5") {
        EXPECT_EQ(intent, 0U);
    } else if (point == "region S1") {
        EXPECT_NE(is_new(0), is_new(1));
    } else if (point == "region S2") {
        EXPECT_TRUE(is_new(0) && is_new(1));
    } else if (point == "region R1") {
        EXPECT_EQ(h.roots[0].value.load(), 9U);
        EXPECT_STREQ(h.roots[0].name, "a root");
        EXPECT_EQ(h.roots[0].type, 7U);
        EXPECT_EQ(h.roots[0].format, 8U);
    }
}

TEST_F(crash, finds_durable_at_each_point_what_that_says_and_no_more) {
    region_options o = small_options();
    o.flush = flush_policy::always;
    auto r = must_open(file, o);
    ASSERT_NE(r, nullptr);
    const durable_header medium(r->header());
    std::vector<std::string> points;
    durable = &medium;
    reached = &points;
    set_persist_point_hook(look);
    EXPECT_TRUE(r->grow(segment_kind::log, 7, 3));
    EXPECT_TRUE(r->update_super([](layout::superblock& s) { s.generation = 5; }));
    EXPECT_TRUE(r->publish_root("a root", 7, 8, 9));
    set_persist_point_hook(nullptr);
    EXPECT_EQ(points,
              (std::vector<std::string>{"region G1", "region G2", "region G3", "region G4",
                                        "region G5", "region S1", "region S2", "region R1"}));
    EXPECT_EQ(std::memcmp(static_cast<const void*>(medium.content.get()), &r->header(),
                          sizeof(layout::header)),
              0)
        << "nothing is left behind in the caches";
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
