// Processes that run transactions are killed at any instant, again and again on the same region.
//
// Each thread has a ledger: how many of its transactions have committed, and slots with blocks that
// hold what the number of the last one to touch them makes of it. A word that all threads add to
// counts them together. Finished transactions are counted in memory that outlives
// the kill.
#include "alloc/committed/audit_view.hpp"
#include "base/random.hpp"
#include "engines.hpp"
#include "region_of_words.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace hf::test {
namespace {

constexpr unsigned writers = 2;
constexpr u64 slots = 12;
constexpr u64 sum_at = 0;
constexpr u64 ledger_at(unsigned w) { return 64 + 256 * u64{w}; }
constexpr u64 slot_at(unsigned w, u64 slot) { return ledger_at(w) + 8 + 8 * slot; }

/// Survives the kill, as the parent's memory does.
struct told {
    std::atomic<u64> returned[writers];
};

constexpr u64 block_sizes[] = {16, 48, 200, 1'000, 70'000};
u64 size_of(u64 number) { return block_sizes[number % std::size(block_sizes)]; }
u64 slot_of(unsigned w, u64 number) { return splitmix64(number * writers + w)() % slots; }

void transact(const region_of_words& r, unsigned w, u64 number) {
    must(r.all().atomic([&](transaction& t) {
        u64* const slot = r.word(slot_at(w, slot_of(w, number)));
        if (const u64 old = t.load(slot); old != 0) t.release(t.base() + old, t.load(slot + 1));
        const u64 size = size_of(number);
        auto* const block = reinterpret_cast<u64*>(t.allocate(size));
        t.store(block, number);
        t.store(block + size / 8 - 1, number);
        t.store(slot, r.up->file().offset_of(block));
        t.store(slot + 1, size);
        t.store(slot + 2, number);
        t.store(r.word(ledger_at(w)), number);
        t.store(r.word(sum_at), t.load(r.word(sum_at)) + 1);
    }));
}

void check(const region_of_words& r, const told& t) {
    audit_report report;
    committed::view books(r.up->file());
    heap_audit audit(r.up->file(), books, report);
    audit.read_runs();
    audit.read_free();
    const auto claim = [&](u64 offset, u64 size) {
        const auto place = audit.locate(offset, 0);
        ASSERT_TRUE(place && audit.fits(*place, size, 0)) << "what a slot owns is no block";
        audit.claim(*place, "what a slot owns", 0);
    };
    claim(r.offset, 8 * region_of_words::words);
    u64 sum = 0;
    for (unsigned w = 0; w < writers; ++w) {
        const u64 committed = r.now(ledger_at(w));
        EXPECT_GE(committed, t.returned[w].load()) << "lost, though atomic() had returned";
        EXPECT_LE(committed, t.returned[w].load() + 1) << "more than had begun";
        sum += committed;
        std::vector<u64> last(slots);
        for (u64 n = committed; n > 0 && n + 400 > committed; --n) {
            u64& of = last[slot_of(w, n)];
            if (of == 0) of = n;
        }
        for (u64 s = 0; s < slots; ++s) {
            const u64 at = slot_at(w, s);
            EXPECT_EQ(r.now(at + 2), last[s]) << "writer " << w << ", slot " << s;
            if (r.now(at) == 0) continue;
            claim(r.now(at), r.now(at + 1));
            const auto* block = r.up->file().at<u64>(r.now(at));
            EXPECT_EQ(block[0], last[s]);
            EXPECT_EQ(block[r.now(at + 1) / 8 - 1], last[s]);
        }
    }
    EXPECT_EQ(r.now(sum_at), sum);
    audit.finish();
    EXPECT_TRUE(report.ok()) << report.to_string();
}

[[noreturn]] void work(const std::filesystem::path& file, const region_of_words::how& h, told& t) {
    const region_of_words r(file, h);
    std::vector<std::thread> all;
    for (unsigned w = 0; w < writers; ++w) {
        all.emplace_back([&, w] {
            for (u64 n = r.now(ledger_at(w)) + 1;; ++n) {
                transact(r, w, n);
                t.returned[w].store(n);
            }
        });
    }
    for (std::thread& one : all) one.join();
    std::abort();
}

class killed : public on_tmpfs, public ::testing::WithParamInterface<engine_kind> {};

TEST_P(killed, nothing_is_lost_half_done_or_leaked) {
    const char* const effort = std::getenv("HF_EFFORT");
    const int kills = 15 * (effort == nullptr ? 1 : std::max(1, std::atoi(effort)));
    auto* const t = static_cast<told*>(
        ::mmap(nullptr, sizeof(told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(t, MAP_FAILED);
    region_of_words::how h;
    h.engine = GetParam();
    h.epoch = std::chrono::milliseconds(2);
    // Made here: a kill between its words and the root that leads to them would leave them without
    // an owner.
    must(region_of_words(file, h).up->close());
    const u64 seed = static_cast<u64>(::getpid());
    SCOPED_TRACE("seed " + std::to_string(seed));
    splitmix64 random(seed);
    for (int i = 0; i < kills && !HasFailure(); ++i) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) work(file, h, *t);
        int status = 0;
        // Most die at work, however long their opening takes; some may die in it.
        const u64 before = t->returned[0].load();
        while (i % 4 != 3 && t->returned[0].load() == before) {
            ASSERT_EQ(::waitpid(child, &status, WNOHANG), 0) << "it ended by itself";
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 30'000));
        ASSERT_EQ(::kill(child, SIGKILL), 0);
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "it ended by itself";
        const region_of_words r(file, h);
        check(r, *t);
        for (unsigned w = 0; w < writers; ++w) t->returned[w].store(r.now(ledger_at(w)));
    }
    ::munmap(t, sizeof(told));
}

INSTANTIATE_TEST_SUITE_P(engines, killed, every_engine(), engine_name);

}  // namespace
}  // namespace hf::test
