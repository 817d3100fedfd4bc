// A cross-check of the accessors' traces: the same work by a program that reports nothing, traced
// by an emulator (tools/qemu_trace/trace_plugin.cpp).
#include "emulated_work.hpp"
#include "sim/log_machine.hpp"
#include "sim/shadow_machine.hpp"
#include "sim/trace.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

namespace hf::sim::test {
namespace {

constexpr u64 pages = emulated_heap_bytes / 4096;

/// The lines that each transaction stores to, and how often something is accessed.
class lines_of_transactions final : public sink {
   public:
    bool load(unsigned, u64 at, unsigned) override {
        return ++(is_persistent(at) ? loads : others);
    }
    bool store(unsigned, u64 at, unsigned) override {
        if (!is_persistent(at)) return ++others;
        ++stores;
        if (is_running_) lines.back().insert(at / line_size);
        return true;
    }
    void begin(unsigned) override {
        is_running_ = true;
        lines.emplace_back();
    }
    void commit(unsigned) override { is_running_ = false; }
    void abort(unsigned) override {}

    std::vector<std::set<u64>> lines;
    u64 loads = 0;
    u64 stores = 0;
    u64 others = 0;

   private:
    bool is_running_ = false;
};

/// The last TLB has 64 entries, so that pages leave it.
shadow_config with_one_tlb() {
    shadow_config c;
    c.on.stlb_sets = 0;
    return c;
}

/// The machines' counts, and the lines.
struct observed {
    lines_of_transactions lines;
    shadow_machine<> shadow{with_one_tlb(), pages};
    log_machine log{hardware{}, pages, {log_config{}}};
    fan_out all{{&lines, &shadow, &log}};
};

struct reporting_words {
    std::vector<u64> words = std::vector<u64>(emulated_heap_bytes / 8);
    sink* to = nullptr;
    [[nodiscard]] u64 load(u64 i) {
        if (to != nullptr) to->load(0, 8 * i, 8);
        return words[i];
    }
    void store(u64 i, u64 value) {
        if (to != nullptr) to->store(0, 8 * i, 8);
        words[i] = value;
    }
};

void run_with_accessors(sink& to) {
    reporting_words memory;
    emulated_work<reporting_words> work(memory);
    memory.to = &to;
    for (u64 i = 0; i < emulated_transactions; ++i) {
        to.begin(0);
        work.transaction();
        to.commit(0);
    }
}

class emulated_program : public ::testing::Test {
   protected:
    static int run(const std::string& arguments) {
        const std::string command = std::string(HF_EMULATOR) + " -plugin " + HF_TRACE_PLUGIN + "," +
                                    arguments + " " + HF_EMULATED + " 2>/dev/null";
        return std::system(command.c_str());
    }
    static std::string arguments(const std::string& others) {
        return "out=" + file().string() + ",heap=" + std::to_string(emulated_heap_bytes) +
               ",begin=transaction_begins,commit=transaction_commits,others=" + others;
    }
    static std::filesystem::path file() {
        return std::filesystem::temp_directory_path() /
               ("holdfast-emulated-" + std::to_string(::getpid()));
    }
    void TearDown() override { std::filesystem::remove(file()); }
};

TEST_F(emulated_program, stores_to_the_lines_that_its_accessors_report_and_flushes_as_many) {
    observed accessors;
    run_with_accessors(accessors.all);
    ASSERT_EQ(run(arguments("off")), 0);
    observed emulated;
    const auto replayed = replay_trace(file(), emulated.all);
    ASSERT_TRUE(replayed) << replayed.error().to_string();

    EXPECT_EQ(emulated.lines.lines.size(), emulated_transactions);
    EXPECT_EQ(emulated.lines.lines, accessors.lines.lines);
    EXPECT_EQ(emulated.lines.others, 0U);
    EXPECT_LE(emulated.lines.loads, accessors.lines.loads) << "a compiler drops loads, at most";
    EXPECT_GE(emulated.lines.loads, accessors.lines.loads / 2);
    EXPECT_LE(emulated.lines.stores, accessors.lines.stores);
    const counters& a = accessors.shadow.numbers();
    const counters& e = emulated.shadow.numbers();
    for (const source s : {source::data, source::journal}) {
        EXPECT_EQ(e.flushed(s), a.flushed(s)) << source_names[static_cast<std::size_t>(s)];
    }
    EXPECT_GT(a.flushed(source::consolidation), 0U);
    EXPECT_NEAR(static_cast<double>(e.flushed(source::consolidation)),
                static_cast<double>(a.flushed(source::consolidation)),
                0.01 * static_cast<double>(a.flushed(source::consolidation)));
    const counters log_a = accessors.log.numbers(0);
    const counters log_e = emulated.log.numbers(0);
    EXPECT_EQ(log_e.paper_flushes(), log_a.paper_flushes());
}

TEST_F(emulated_program, has_a_stack_which_needs_tlb_entries_and_no_flush) {
    ASSERT_EQ(run(arguments("on")), 0);
    observed emulated;
    const auto replayed = replay_trace(file(), emulated.all);
    ASSERT_TRUE(replayed) << replayed.error().to_string();
    EXPECT_GT(emulated.lines.others, emulated_transactions);
    observed accessors;
    run_with_accessors(accessors.all);
    EXPECT_EQ(emulated.lines.lines, accessors.lines.lines);
    EXPECT_EQ(emulated.shadow.numbers().flushed(source::data),
              accessors.shadow.numbers().flushed(source::data));
}

TEST_F(emulated_program, is_not_run_if_an_argument_is_missing_or_unknown) {
    const std::string path = "out=" + file().string();
    EXPECT_NE(run(path + ",heap=4096,begin=a"), 0);
    EXPECT_NE(run(path + ",heap=many,begin=a,commit=b"), 0);
    EXPECT_NE(run(path + ",heap=4096,begin=a,commit=b,why=not"), 0);
    EXPECT_NE(run("out=/no/such/place,heap=4096,begin=a,commit=b"), 0);
}

}  // namespace
}  // namespace hf::sim::test
