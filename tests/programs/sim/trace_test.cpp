// Traces: what is written is what is replayed; what is damaged, cut short or of another version is
// refused by name.
#include "sim/trace.hpp"

#include "sim/shadow_machine.hpp"
#include "sim/synthetic.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <rapidcheck.h>

#include <cstring>
#include <sstream>
#include <tuple>

namespace hf::sim {
namespace {

using call = std::tuple<int, unsigned, u64, unsigned>;

class recorder final : public sink {
   public:
    bool load(unsigned core, u64 at, unsigned bytes) override { return add(0, core, at, bytes); }
    bool store(unsigned core, u64 at, unsigned bytes) override { return add(1, core, at, bytes); }
    void begin(unsigned core) override { add(2, core, 0, 0); }
    void commit(unsigned core) override { add(3, core, 0, 0); }
    void abort(unsigned core) override { add(4, core, 0, 0); }
    void shootdown(u64 at) override { add(5, 0, at, 0); }
    std::vector<call> calls;

   private:
    bool add(int kind, unsigned core, u64 at, unsigned bytes) {
        calls.emplace_back(kind, core, at, bytes);
        return true;
    }
};

constexpr u64 pages = 16;

std::string trace_of(u64 transactions) {
    std::ostringstream out;
    trace_writer writer(out, "memory", 2, pages);
    synthetic_options o;
    o.pages = pages;
    o.aborts_in_1000 = 100;
    o.stack_pages = 1;
    run_synthetic(o, transactions, 1, writer);
    writer.shootdown(4096);
    EXPECT_TRUE(writer.finish());
    return out.str();
}
result<trace_summary> replayed(const std::string& bytes, sink& to) {
    std::istringstream in(bytes);
    return replay_trace(in, "memory", to);
}
/// The error of a trace that must be refused.
error refusal(const std::string& bytes) {
    recorder none;
    auto done = replayed(bytes, none);
    return done ? error{errc::usage, "", "", "it was accepted", ""} : done.error();
}

TEST(trace, is_replayed_as_it_was_written) {
    std::ostringstream out;
    trace_writer writer(out, "memory", 3, pages);
    recorder expected;
    for (sink* s : std::initializer_list<sink*>{&writer, &expected}) {
        s->begin(0);
        s->begin(2);
        s->load(0, 0, 1);
        s->store(2, pages * 4096 - 8, 8);
        s->store(0, 100, 24);
        s->load(2, volatile_memory + 77, 2);
        s->load(0, 4, 4);
        s->commit(0);
        s->abort(2);
        s->shootdown(8192);
    }
    ASSERT_TRUE(writer.finish());
    recorder found;
    const auto done = replayed(out.str(), found);
    ASSERT_TRUE(done) << done.error().to_string();
    EXPECT_EQ(found.calls, expected.calls);
    EXPECT_EQ(done->events, 10U);
    EXPECT_EQ(done->header.cores, 3U);
    EXPECT_EQ(done->header.pages, pages);
}

TEST(trace, of_many_blocks_is_whole) {
    synthetic_options o;
    o.pages = pages;
    o.aborts_in_1000 = 100;
    o.stack_pages = 1;
    recorder expected;
    run_synthetic(o, 10'000, 1, expected);
    expected.shootdown(4096);
    recorder found;
    const auto done = replayed(trace_of(10'000), found);
    ASSERT_TRUE(done);
    EXPECT_GT(done->blocks, 2U);
    EXPECT_EQ(found.calls, expected.calls);
}

TEST(trace, that_is_cut_short_anywhere_is_refused) {
    const std::string whole = trace_of(20);
    for (std::size_t n = 0; n < whole.size(); ++n) {
        const error e = refusal(whole.substr(0, n));
        EXPECT_EQ(e.code, errc::corrupt) << n << ": " << e.why;
        EXPECT_TRUE(e.why == "it is cut short" || e.why == "it is shorter than a trace's header");
    }
}

TEST(trace, with_any_flipped_bit_is_refused) {
    const std::string whole = trace_of(20);
    for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
        std::string damaged = whole;
        damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
        const error e = refusal(damaged);
        const bool in_version = bit / 8 >= 8 && bit / 8 < 12;
        EXPECT_EQ(e.code, in_version ? errc::incompatible : errc::corrupt) << bit << ": " << e.why;
    }
}

TEST(trace, of_another_version_is_refused_with_both_versions) {
    std::string other = trace_of(1);
    other[8] = 9;
    const error e = refusal(other);
    EXPECT_EQ(e.code, errc::incompatible);
    EXPECT_EQ(e.why, "it has version 9, this program reads 1");
}

TEST(trace, followed_by_something_is_refused) {
    EXPECT_EQ(refusal(trace_of(1) + "x").why, "something follows its last block");
}

TEST(trace, without_a_block_is_refused) {
    // Two traces' halves: block 1 of one is no block 0 of another.
    const std::string whole = trace_of(10'000);
    u32 bytes = 0;
    std::memcpy(&bytes, whole.data() + 32, sizeof bytes);
    const std::string lacking = whole.substr(0, 32) + whole.substr(32 + 16 + bytes);
    EXPECT_EQ(refusal(lacking).why, "the checksum of a block is wrong");
}

TEST(trace, that_is_not_there_is_not_found) {
    recorder none;
    EXPECT_EQ(replay_trace(std::filesystem::path("no-such.trace"), none).error().code,
              errc::not_found);
    EXPECT_EQ(read_trace_header("no-such.trace").error().code, errc::not_found);
}

RC_GTEST_PROP(trace, of_random_accesses_is_replayed, (std::vector<std::tuple<u64, u8, bool>> all)) {
    std::ostringstream out;
    trace_writer writer(out, "memory", 4, pages);
    recorder expected;
    for (const auto& [at, size, is_store] : all) {
        const unsigned bytes = size % 64 + 1;
        const u64 address = at % (pages * 4096 - 64) + (size > 200 ? volatile_memory : 0);
        for (sink* s : std::initializer_list<sink*>{&writer, &expected}) {
            if (is_store) {
                s->store(size % 4, address, bytes);
            } else {
                s->load(size % 4, address, bytes);
            }
        }
    }
    RC_ASSERT(static_cast<bool>(writer.finish()));
    recorder found;
    RC_ASSERT(static_cast<bool>(replayed(out.str(), found)));
    RC_ASSERT(found.calls == expected.calls);
}

/// Passes each event on without hints.
class no_hints final : public sink {
   public:
    explicit no_hints(sink& to) : to_(to) {}
    bool load(unsigned c, u64 at, unsigned bytes) override { return to_.load(c, at, bytes); }
    bool store(unsigned c, u64 at, unsigned bytes) override { return to_.store(c, at, bytes); }
    void begin(unsigned core) override { to_.begin(core); }
    void commit(unsigned core) override { to_.commit(core); }
    void abort(unsigned core) override { to_.abort(core); }
    void shootdown(u64 at) override { to_.shootdown(at); }

   private:
    sink& to_;
};

template <class Machine>
void expect_same_counts(Machine& with, Machine& without, auto&& numbers) {
    const std::string bytes = trace_of(500);
    ASSERT_TRUE(replayed(bytes, with));
    no_hints plain(without);
    ASSERT_TRUE(replayed(bytes, plain));
    const counters a = numbers(with);
    const counters b = numbers(without);
    EXPECT_GT(a.all_flushes(), 0U);
    EXPECT_EQ(a.flushes, b.flushes);
    EXPECT_EQ(a.tlb_misses, b.tlb_misses);
    EXPECT_EQ(a.write_backs, b.write_backs);
    EXPECT_EQ(a.memory_reads, b.memory_reads);
    EXPECT_EQ(a.ns, b.ns);
}

TEST(trace, hints_of_what_follows_change_no_count) {
    shadow_config c;
    c.on.cores = 2;
    c.on.tlb_entries = 4;
    c.on.stlb_sets = 2;
    c.on.stlb_ways = 2;
    shadow_machine<> with(c, pages);
    shadow_machine<> without(c, pages);
    expect_same_counts(with, without, [](auto& m) { return m.numbers(); });
}

}  // namespace
}  // namespace hf::sim
