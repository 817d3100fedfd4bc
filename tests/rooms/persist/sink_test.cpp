// Which lines a medium writes back, told by the sink that the crash lab hears it by; and what goes
// into the dirty set in their place.
#include "base/random.hpp"
#include "persist/medium.hpp"
#include "persist/stream_copy.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <array>
#include <cstring>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace hf {
namespace {

struct alignas(line_size) some_lines {
    static constexpr u64 count = 80;
    std::array<std::byte, count * line_size> bytes{};
};

/// The lines that [from, from + n) touches.
std::vector<u64> touched(u64 from, u64 n) {
    std::vector<u64> lines;
    for (u64 line = 0; line < some_lines::count; ++line) {
        bool is_touched = false;
        for (u64 b = line * line_size; b < (line + 1) * line_size; ++b) {
            is_touched |= b >= from && b < from + n;
        }
        if (is_touched) lines.push_back(line);
    }
    return lines;
}

class lines_of_a_medium : public ::testing::Test {
   protected:
    /// Several ranges around every kind of boundary.
    template <class Look>
    static void each_range(Look look) {
        for (const u64 from : {0U, 1U, 31U, 63U, 64U, 65U, 127U, 128U, 1000U}) {
            for (const u64 n :
                 {0U, 1U, 2U, 62U, 63U, 64U, 65U, 66U, 127U, 128U, 129U, 1000U, 4032U}) {
                look(from, n);
            }
        }
    }
    some_lines memory;
};

#ifdef HF_TRACE_SINK

class told_sink final : public trace_sink {
   public:
    explicit told_sink(const std::byte* base) : base_(base) { trace::sink = this; }
    ~told_sink() override { trace::sink = nullptr; }

    void flush(const void* line) noexcept override {
        const auto offset = static_cast<u64>(static_cast<const std::byte*>(line) - base_);
        said += "line " + std::to_string(offset / line_size) + "; ";
    }
    void fence() noexcept override { said += "fence; "; }
    void stream(void* to, const void* from, std::size_t n) noexcept override {
        std::memcpy(to, from, n);
        said += "stream; ";
    }
    void noted(const void*, std::size_t) noexcept override { said += "noted; "; }
    void announced(u64) noexcept override { said += "announced; "; }

    std::string said;

   private:
    const std::byte* base_;
};

std::string as_said(const std::vector<u64>& lines) {
    std::string said;
    for (const u64 line : lines) said += "line " + std::to_string(line) + "; ";
    return said;
}

TEST_F(lines_of_a_medium, are_those_that_the_range_touches_each_once_and_before_the_fence) {
    const medium m(medium_kind::dax, best_flush_instruction(), 0);
    each_range([&](u64 from, u64 n) {
        std::byte* const p = memory.bytes.data() + from;
        const std::string expected = as_said(touched(from, n));
        {
            told_sink sink(memory.bytes.data());
            m.flush(p, n);
            EXPECT_EQ(sink.said, expected) << from << ", " << n;
        }
        {
            told_sink sink(memory.bytes.data());
            m.persist(p, n);
            EXPECT_EQ(sink.said, expected + "fence; ") << from << ", " << n;
        }
        if (n != 1) return;
        told_sink sink(memory.bytes.data());
        m.flush_line(p);
        EXPECT_EQ(sink.said, expected);
    });
}

TEST_F(lines_of_a_medium, are_streamed_by_who_listens) {
    const medium m(medium_kind::dax, best_flush_instruction(), 0);
    const std::vector<std::byte> source(1000, std::byte{9});
    told_sink sink(memory.bytes.data());
    m.stream(memory.bytes.data() + 7, source.data(), source.size());
    EXPECT_EQ(sink.said, "stream; ");
    EXPECT_EQ(std::memcmp(memory.bytes.data() + 7, source.data(), source.size()), 0);
}

TEST_F(lines_of_a_medium, are_noted_and_announced_to_who_listens_if_anybody_does) {
    trace::noted(memory.bytes.data(), 64);
    trace::announced(1);
    EXPECT_FALSE(trace::is_watched());
    told_sink sink(memory.bytes.data());
    EXPECT_TRUE(trace::is_watched());
    trace::noted(memory.bytes.data(), 64);
    trace::announced(1);
    EXPECT_EQ(sink.said, "noted; announced; ");
}

TEST_F(lines_of_a_medium, are_those_of_the_list) {
    const medium m(medium_kind::shm, best_flush_instruction(), 0);
    const std::vector<u64> numbers{0, 5, 79, 5, 6};
    for (std::size_t n = 0; n <= numbers.size(); ++n) {
        told_sink sink(memory.bytes.data());
        m.flush_lines(memory.bytes.data(), numbers.data(), n);
        EXPECT_EQ(sink.said, as_said({numbers.begin(), numbers.begin() + static_cast<long>(n)}));
    }
}

TEST_F(lines_of_a_medium, are_none_where_nothing_has_to_be_written_back) {
    for (const medium& m : {medium(), medium(medium_kind::eadr, flush_instruction::none, 0)}) {
        told_sink sink(memory.bytes.data());
        const u64 number = 3;
        m.flush(memory.bytes.data(), 1000);
        m.flush_line(memory.bytes.data());
        m.flush_lines(memory.bytes.data(), &number, 1);
        m.stream(memory.bytes.data(), memory.bytes.data() + 2048, 2048);
        EXPECT_EQ(sink.said, "");
        m.fence();
        EXPECT_EQ(sink.said, m.kind() == medium_kind::eadr ? "fence; " : "");
    }
}

#endif

// ---------------------------------------------------------------- executed for real

/// A page, and one after it that cannot be touched.
class page_before_a_hole : public ::testing::Test {
   protected:
    ~page_before_a_hole() override { ::munmap(page, 2 * bytes); }

    static constexpr u64 bytes = 4096;
    std::byte* page = static_cast<std::byte*>(
        ::mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    int refused = ::mprotect(page + bytes, bytes, PROT_NONE);
};

using page_before_a_hole_death_test = page_before_a_hole;

TEST_F(page_before_a_hole_death_test, every_instruction_writes_back_just_the_lines_asked_for) {
    for (const auto i :
         {flush_instruction::clflush, flush_instruction::clflushopt, flush_instruction::clwb}) {
        if (!has_flush_instruction(i)) continue;
        const medium m(medium_kind::dax, i, 0);
        m.flush(page, bytes);
        m.flush(page + bytes - 1, 1);
        m.flush_line(page + bytes - 1);
        // The list ends with the page, too.
        u64* const numbers = reinterpret_cast<u64*>(page + bytes) - 3;
        std::iota(numbers, numbers + 3, u64{61});
        m.flush_lines(page, numbers, 3);
        EXPECT_DEATH(m.flush(page, bytes + 1), "") << to_string(i);
    }
}

// ---------------------------------------------------------------- the medium file

std::vector<u64> taken(dirty_set& set) {
    std::vector<u64> lines;
    set.take(lines);
    return lines;
}

TEST_F(lines_of_a_medium, go_into_the_dirty_set_of_the_medium_file) {
    dirty_set dirty(memory.bytes.data(), sizeof memory);
    const medium m(dirty);
    EXPECT_EQ(m.kind(), medium_kind::file);
    EXPECT_TRUE(m.is_atomic());
    EXPECT_TRUE(m.flushes());
    EXPECT_FALSE(m.fences());
    EXPECT_EQ(m.instruction(), flush_instruction::none);
    const persist_counters before = thread_persist_counters();
    each_range([&](u64 from, u64 n) {
        std::byte* const p = memory.bytes.data() + from;
        m.flush(p, n);
        EXPECT_EQ(taken(dirty), touched(from, n)) << from << ", " << n;
        m.persist(p, n);
        EXPECT_EQ(taken(dirty), touched(from, n)) << from << ", " << n;
        const std::vector<std::byte> source(n, std::byte{9});
        memory = {};
        m.stream(p, source.data(), n);
        EXPECT_EQ(taken(dirty), touched(from, n)) << from << ", " << n;
        for (u64 b = 0; b < sizeof memory; ++b) {
            ASSERT_EQ(memory.bytes.at(b), std::byte(b >= from && b < from + n ? 9 : 0)) << b;
        }
        m.flush_line(p);
        EXPECT_EQ(taken(dirty), touched(from, 1));
    });
    const std::vector<u64> numbers{0, 5, 79, 5, 6};
    m.flush_lines(memory.bytes.data(), numbers.data(), numbers.size());
    EXPECT_EQ(taken(dirty), (std::vector<u64>{0, 5, 6, 79}));
    m.flush_lines(memory.bytes.data(), numbers.data(), 0);
    m.fence();
    EXPECT_TRUE(dirty.empty());
    EXPECT_EQ(thread_persist_counters(), before) << "nothing is counted that was not executed";
}

// ---------------------------------------------------------------- what a medium is

TEST(a_medium, fences_but_for_tmpfs_that_neither_flushes_nor_waits) {
    const flush_instruction best = best_flush_instruction();
    for (const auto kind : {medium_kind::dax, medium_kind::eadr, medium_kind::shm}) {
        for (const auto instruction : {flush_instruction::none, best}) {
            for (const u32 latency : {0U, 1U, 1000U}) {
                const medium m(kind, instruction, latency);
                const bool is_plain =
                    kind == medium_kind::shm && instruction == flush_instruction::none;
                EXPECT_EQ(m.fences(), !is_plain || latency != 0);
                EXPECT_EQ(m.flushes(), instruction != flush_instruction::none);
                EXPECT_EQ(m.kind(), kind);
                EXPECT_EQ(m.instruction(), instruction);
                EXPECT_EQ(m.fence_latency_ns(), latency);
                EXPECT_FALSE(m.is_atomic());
                const u64 before = thread_persist_counters().fences;
                m.fence();
                EXPECT_EQ(thread_persist_counters().fences - before, m.fences() ? 1U : 0U);
            }
        }
    }
}

// As the kernel read it from the processor.
TEST(a_medium, has_the_instructions_that_the_processor_has) {
    std::ifstream in("/proc/cpuinfo");
    std::set<std::string> flags;
    for (std::string line; flags.empty() && std::getline(in, line);) {
        if (!line.starts_with("flags")) continue;
        std::istringstream words(line);
        for (std::string word; words >> word;) flags.insert(word);
    }
    if (!flags.contains("clflush")) GTEST_SKIP() << "the kernel does not say";
    const std::pair<flush_instruction, std::string> all[] = {
        {flush_instruction::clflush, "clflush"},
        {flush_instruction::clflushopt, "clflushopt"},
        {flush_instruction::clwb, "clwb"}};
    flush_instruction best = flush_instruction::none;
    for (const auto& [instruction, name] : all) {
        EXPECT_EQ(has_flush_instruction(instruction), flags.contains(name)) << name;
        EXPECT_EQ(to_string(instruction), name);
        if (flags.contains(name)) best = instruction;
    }
    EXPECT_EQ(best_flush_instruction(), best) << "the gentlest";
    EXPECT_TRUE(has_flush_instruction(flush_instruction::none));
    EXPECT_EQ(to_string(flush_instruction::none), "none");
    EXPECT_FALSE(has_flush_instruction(static_cast<flush_instruction>(9)));
    EXPECT_EQ(to_string(static_cast<flush_instruction>(9)), "unknown");
}

TEST(a_medium_death_test, has_no_other_instruction) {
    EXPECT_DEATH(medium(medium_kind::dax, static_cast<flush_instruction>(9), 0), "lacks the flush");
}

// Whole words of 16 bytes are streamed; the bytes before and after them are flushed, each part for
// itself.
TEST(streaming, counts_what_is_streamed_and_flushes_the_rest) {
    const medium m(medium_kind::dax, best_flush_instruction(), 0);
    some_lines memory;
    const some_lines source;
    for (u64 to = 0; to < 80; ++to) {
        for (u64 n = 0; n < 200; ++n) {
            const persist_counters before = thread_persist_counters();
            m.stream(memory.bytes.data() + to, source.bytes.data(), n);
            const persist_counters after = thread_persist_counters();
            u64 first = to;
            while (first % 16 != 0) ++first;
            u64 last = to + n;
            while (last % 16 != 0) --last;
            const bool is_short = first + 16 > to + n;
            const u64 streamed = is_short ? 0 : last - first;
            const u64 flushed =
                is_short ? touched(to, n).size()
                         : touched(to, first - to).size() + touched(last, to + n - last).size();
            ASSERT_EQ(after.streamed_bytes - before.streamed_bytes, streamed) << to << ", " << n;
            ASSERT_EQ(after.flushes - before.flushes, flushed) << to << ", " << n;
            ASSERT_EQ(after.fences, before.fences);
        }
    }
}

TEST(streaming, copies_words_of_16_bytes_from_wherever_they_lie) {
    xoshiro256ss random(4);
    some_lines from;
    for (auto& b : from.bytes) b = static_cast<std::byte>(random());
    for (u64 at = 0; at < 17; ++at) {
        for (u64 n = 0; n <= 256; n += 16) {
            some_lines to;
            stream_copy(to.bytes.data() + 16, from.bytes.data() + at, n);
            stream_fence();
            some_lines expected;
            std::memcpy(expected.bytes.data() + 16, from.bytes.data() + at, n);
            ASSERT_EQ(to.bytes, expected.bytes) << at << ", " << n;
        }
    }
}

}  // namespace
}  // namespace hf
