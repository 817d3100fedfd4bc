// Transactions of plain stores: commits, aborts, and their costs in lines and fences.
#include <holdfast/plain.hpp>

#include "memories.hpp"
#include "persist/counters.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace hf::test {
namespace {

constexpr u64 words_per_line = 8;
constexpr u64 words_per_page = 512;

class plain_machine : public plain_memories {};
INSTANTIATE_TEST_SUITE_P(in_place, plain_machine, memories_in_place(), memory_name);
INSTANTIATE_TEST_SUITE_P(on_disk, plain_machine, memories_on_disk(), memory_name);
/// On a disk the journal writes, and there are no second slots.
class plain_machine_in_place : public plain_memories {};
INSTANTIATE_TEST_SUITE_P(kinds, plain_machine_in_place, memories_in_place(), memory_name);

TEST_P(plain_machine, has_zeros_at_first_and_afterwards_what_was_committed) {
    {
        auto m = open();
        EXPECT_EQ(m->memory().size(), u64{1} << 20);
        EXPECT_TRUE(std::ranges::all_of(m->memory(), [](std::byte b) { return b == std::byte{}; }));
        word(*m, 0) = 1;
        word(*m, 70'000) = 2;
        commit(*m);
        word(*m, 1) = 3;  // not committed
        must(m->close());
    }
    auto m = open();
    EXPECT_EQ(word(*m, 0), 1U);
    EXPECT_EQ(word(*m, 1), 0U);
    EXPECT_EQ(word(*m, 70'000), 2U);
    word(*m, 0) = 4;
    commit(*m);
    m.reset();  // as a kill would leave it
    EXPECT_EQ(word(*open(), 0), 4U);
}

TEST_P(plain_machine, takes_back_what_was_stored_since_the_last_commit) {
    auto m = open();
    word(*m, 5) = 1;
    word(*m, 9'000) = 1;
    commit(*m);
    for (int round = 0; round < 3; ++round) {
        word(*m, 5) = 2;
        word(*m, 6) = 2;
        word(*m, 9'000) = 2;
        word(*m, 100'000) = 2;
        must(m->abort());
        EXPECT_EQ(word(*m, 5), 1U);
        EXPECT_EQ(word(*m, 6), 0U);
        EXPECT_EQ(word(*m, 9'000), 1U);
        EXPECT_EQ(word(*m, 100'000), 0U);
    }
    word(*m, 6) = 7;
    commit(*m);
    m.reset();
    m = open();
    EXPECT_EQ(word(*m, 5), 1U);
    EXPECT_EQ(word(*m, 6), 7U);
    EXPECT_EQ(word(*m, 100'000), 0U);
}

TEST_P(plain_machine, commits_each_line_that_differs_and_no_other) {
    auto m = open();
    commit(*m);
    EXPECT_EQ(m->commits(), 0U);
    word(*m, 0) = 1;
    word(*m, 7) = 1;                   // the same line
    word(*m, 3 * words_per_page) = 1;  // another page
    word(*m, 100) = 1;
    word(*m, 100) = 0;  // as before
    commit(*m);
    EXPECT_EQ(m->commits(), 1U);
    EXPECT_EQ(m->lines_committed(), 2U);
    word(*m, 0) = 1;  // it is
    commit(*m);
    EXPECT_EQ(m->commits(), 1U);
}

// In place: a line each to the slot that is not committed, a record's line or two, and one fence
// for both; two fences where a checksum would cost more.
TEST_P(plain_machine_in_place, writes_each_changed_line_once_with_one_fence_or_two) {
    auto m = open();
    u64 value = 0;
    const auto cost_of = [&](u64 lines) {
        ++value;
        for (u64 i = 0; i < lines; ++i) word(*m, i * words_per_line) = value;
        const persist_counters before = total_persist_counters();
        commit(*m);
        const persist_counters after = total_persist_counters();
        const u64 bytes = after.flushed_bytes + after.streamed_bytes - before.flushed_bytes -
                          before.streamed_bytes;
        return std::pair{bytes / line_size, after.fences - before.fences};
    };
    static_cast<void>(cost_of(300));  // pages get their second slots
    for (int round = 0; round < 4; ++round) {
        for (const u64 lines : {u64{1}, u64{7}, u64{64}, u64{65}, u64{300}}) {
            const auto [written, fences] = cost_of(lines);
            const u64 pages = (lines + 63) / 64;
            EXPECT_GE(written, lines + 1);
            EXPECT_LE(written, lines + 2 + pages) << "of " << lines << " lines";
            EXPECT_EQ(fences, lines <= 64 ? 1U : 2U) << "of " << lines << " lines";
        }
    }
}

TEST_P(plain_machine, compares_the_pages_that_were_stored_to_if_the_kernel_tells_them) {
    auto m = open();
    const bool is_told = m->image().how() == plain::working_image::way::written;
    const u64 each = is_told ? 1 : m->memory().size() / 4096;
    for (u64 round = 1; round <= 3; ++round) {
        word(*m, 5 * round * words_per_page) = round;
        commit(*m);
        EXPECT_EQ(m->image().pages_compared(), round * each);
    }
    must(m->close());
    m = open();  // pages that the open has copied were not stored to
    word(*m, 7 * words_per_page) = 1;
    must(m->abort());
    EXPECT_EQ(m->image().pages_compared(), each);
}

TEST_P(plain_machine, grows_when_it_is_opened_for_more_bytes) {
    {
        auto m = open(u64{64} << 10);
        for (u64 i = 0; i < 8'192; ++i) word(*m, i) = i;
        commit(*m);
        must(m->close());
    }
    {
        auto m = open(u64{640} << 10);  // after the slots of the first commit
        EXPECT_EQ(m->memory().size(), u64{640} << 10);
        for (u64 i = 0; i < 8'192; ++i) ASSERT_EQ(word(*m, i), i);
        EXPECT_EQ(word(*m, 8'192), 0U);
        word(*m, 8'191) = 17;  // both sides of the border
        word(*m, 8'192) = 18;
        word(*m, 81'919) = 19;
        commit(*m);
    }
    auto m = open(1);  // never smaller
    EXPECT_EQ(m->memory().size(), u64{640} << 10);
    EXPECT_EQ(word(*m, 8'191), 17U);
    EXPECT_EQ(word(*m, 8'192), 18U);
    EXPECT_EQ(word(*m, 81'919), 19U);
}

TEST_P(plain_machine_in_place, keeps_the_changes_of_a_commit_that_found_no_room) {
    auto o = options(u64{6} << 20);
    o.file.max_size = u64{8} << 20;  // the memory, and few slots
    auto m = must(plain::machine::open(file, o));
    word(*m, 3) = 1;
    commit(*m);
    const u64 pages = m->memory().size() / 4096;
    for (u64 p = 0; p < pages; ++p) word(*m, p * words_per_page + 3) = 2;
    const auto refused = m->commit();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::no_space);
    EXPECT_NE(refused.error().why.find("second slot"), std::string::npos);
    EXPECT_EQ(word(*m, 3), 2U) << "the program's stores are there";
    // Less of it fits.
    for (u64 p = 0; p < pages; ++p) word(*m, p * words_per_page + 3) = p < 10 ? 6 : 0;
    commit(*m);
    EXPECT_EQ(m->lines_committed(), 1U + 10) << "each once, though pages were found twice";
    for (u64 p = 0; p < pages; ++p) word(*m, p * words_per_page + 3) = 5;
    ASSERT_FALSE(m->commit());
    must(m->abort());
    for (u64 p = 0; p < pages; ++p) {
        ASSERT_EQ(word(*m, p * words_per_page + 3), p < 10 ? 6U : 0U) << "page " << p;
    }
    m.reset();
    m = must(plain::machine::open(file, o));
    EXPECT_EQ(word(*m, 9 * words_per_page + 3), 6U);
    EXPECT_EQ(word(*m, 10 * words_per_page + 3), 0U);
}

TEST_P(plain_machine_in_place, finds_pages_of_every_segment_after_a_commit_that_found_no_room) {
    auto o = options(u64{1} << 20);
    o.file.max_size = u64{8} << 20;
    {
        auto m = must(plain::machine::open(file, o));
        word(*m, 8) = 1;  // a log comes between the segments of memory
        commit(*m);
        must(m->close());
    }
    o.bytes = u64{6} << 20;  // a second segment
    auto m = must(plain::machine::open(file, o));
    const u64 first_of_second = (u64{1} << 20) / 8;
    const u64 words = m->memory().size() / 8;
    for (u64 w = first_of_second; w < words; w += words_per_page) word(*m, w) = 1;
    ASSERT_FALSE(m->commit());
    word(*m, 0) = 2;  // found after those of the second segment
    must(m->abort());
    for (u64 w = 0; w < words; w += words_per_page) ASSERT_EQ(word(*m, w), 0U) << "word " << w;
}

TEST_P(plain_machine_in_place, goes_on_when_there_are_fewer_slots_than_pages) {
    auto o = options(u64{6} << 20);
    o.file.max_size = u64{9} << 20;
    auto m = must(plain::machine::open(file, o));
    const u64 pages = m->memory().size() / 4096;
    for (u64 round = 1; round <= 3; ++round) {
        for (u64 p = 0; p < pages; ++p) {
            word(*m, p * words_per_page + p % 512) = round * 10'000 + p;
            if (p % 16 == 0) commit(*m);
        }
        commit(*m);
    }
    m.reset();
    m = must(plain::machine::open(file, o));
    for (u64 p = 0; p < pages; ++p) {
        ASSERT_EQ(word(*m, p * words_per_page + p % 512), 30'000 + p) << "page " << p;
    }
}

class plain_memory_face : public on_tmpfs {};

struct accounts {
    std::uint64_t balance[1'000];
};

TEST_F(plain_memory_face, runs_functions_that_commit_or_have_no_effect) {
    plain_options o;
    o.bytes = sizeof(accounts);
    {
        auto m = must(plain_memory::open(file, o));
        EXPECT_TRUE(m.stats().created);
        auto* const bank = m.root<accounts>();
        ASSERT_NE(bank, nullptr);
        EXPECT_EQ(m.root<std::byte[1 << 20]>(), nullptr) << "larger than the memory";
        must(m.atomic([&] { bank->balance[7] = 100; }));
        const auto fails = [&] {
            bank->balance[7] -= 40;
            bank->balance[900] += 40;
            throw std::runtime_error("no such account");
        };
        EXPECT_THROW((void)m.atomic(fails), std::runtime_error);
        EXPECT_EQ(bank->balance[7], 100U);
        EXPECT_EQ(bank->balance[900], 0U);
        const auto s = m.stats();
        EXPECT_EQ(s.commits, 1U);
        EXPECT_EQ(s.aborts, 1U);
        EXPECT_EQ(s.lines_committed, 1U);
        EXPECT_EQ(s.bytes, u64{64} << 10);
        EXPECT_EQ(s.slots - s.free_slots, 1U);
        must(m.close());
        EXPECT_EQ(m.commit().error().code, errc::usage) << "it was closed";
        EXPECT_EQ(m.abort().error().code, errc::usage);
        must(m.close());
        EXPECT_TRUE(m.memory().empty());
    }
    auto m = must(plain_memory::open(file, o));
    EXPECT_FALSE(m.stats().created);
    EXPECT_FALSE(m.stats().recovered);
    EXPECT_EQ(m.root<accounts>()->balance[7], 100U);
    auto other = std::move(m);
    EXPECT_EQ(other.root<accounts>()->balance[7], 100U);
}

// As of every other region: sync/fork.hpp.
TEST_F(plain_memory_face, a_child_of_fork_changes_nothing_of_its_parents_memory) {
    plain_options o;
    o.bytes = 1;
    auto m = must(plain_memory::open(file, o));
    *m.root<std::uint64_t>() = 7;
    must(m.commit());
    EXPECT_EQ(in_child([&] {
                  *m.root<std::uint64_t>() = 9;
                  return !m.commit() && !m.abort() && !m.wait_durable(1) ? 0 : 1;
              }),
              0);
    EXPECT_EQ(in_child([&] { return m.close() ? 1 : 0; }), 0);
    EXPECT_EQ(in_child([&] {
                  {
                      const plain_memory inherited = std::move(m);
                  }  // its destructor closes nothing
                  return 0;
              }),
              0);
    *m.root<std::uint64_t>() = 8;
    must(m.commit());
    must(m.close());
    EXPECT_EQ(*must(plain_memory::open(file, o)).root<std::uint64_t>(), 8U);
}

TEST_F(plain_memory_face, counts_a_ticket_as_durable_when_it_was_waited_for) {
    plain_options o;
    o.bytes = 1;
    o.region.medium = medium_kind::file;
    auto m = must(plain_memory::open(file, o));
    *m.root<std::uint64_t>() = 5;
    const ticket t = must(m.commit_later());
    must(m.wait_durable(t));
    EXPECT_EQ(must(m.commit_later()), t) << "nothing has changed since";
    EXPECT_EQ(m.wait_durable(t + 1'000).error().code, errc::usage);
}

}  // namespace
}  // namespace hf::test
