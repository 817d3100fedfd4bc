// The state after a crash: memory as it was at the last durable checkpoint, to the byte. A process
// dies at a random instant while it stores, takes checkpoints and applies them; or both files are
// copied while it rests. How a power cut tears files is the business of tests/rooms/journal.
#include "base/random.hpp"
#include "journal/copy_gate.hpp"
#include "region/file.hpp"
#include "snapshot/journalled.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>

namespace hf {
namespace {

namespace fs = std::filesystem;
using test::must;
using way = page_tracker::way;

constexpr u64 memory_bytes = u64{1} << 20;
constexpr u64 hot_bytes = u64{64} << 10;  // most stores: lines change back, and are captured twice

/// The stores of one epoch, which follow from its number in the model alone.
void store_some(std::span<std::byte> memory, u64 seed, u64 epoch) {
    xoshiro256ss random(seed * 1'000'003 + epoch);
    for (u64 n = random.below(200); n != 0; --n) {
        const u64 reach = random.below(8) == 0 ? memory.size() : hot_bytes;
        // Few values, so that a line is often as it was some epochs ago.
        memory[random.below(reach / 32) * 32] = static_cast<std::byte>(random.below(2));
    }
    std::memcpy(memory.data() + 8, &epoch, sizeof epoch);
}

/// The model after `epochs` epochs.
std::vector<std::byte> model(u64 seed, u64 epochs, std::size_t size = memory_bytes) {
    std::vector<std::byte> memory(size);
    for (u64 e = 1; e <= epochs; ++e) store_some(memory, seed, e);
    return memory;
}

u64 epochs_in(std::span<const std::byte> memory) {
    u64 epoch = 0;
    std::memcpy(&epoch, memory.data() + 8, sizeof epoch);
    return epoch;
}

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

class crashed_snapshots : public test::on_tmpfs, public ::testing::WithParamInterface<way> {
   protected:
    [[nodiscard]] std::unique_ptr<snapshot_machine> open(u64 memory = 0) const {
        auto o = test::small_journal(memory_bytes, GetParam());
        o.file.memory = memory;
        return must(snapshot_machine::open(file, o));
    }
    fs::path journal_file = dir / "store.hf.journal";
};

TEST_P(crashed_snapshots, a_copy_of_both_files_is_the_last_durable_checkpoint) {
    constexpr u64 seed = 11;
    const auto s = open();
    for (u64 e = 1; e <= 120; ++e) {
        store_some(s->memory(), seed, e);
        const u64 t = must(s->checkpoint());
        if (e % 10 != 0) continue;
        must(s->epochs().wait_durable(t));
        // Never to become durable, and not in any copy.
        s->memory()[4096] = std::byte{77};
        const fs::path copy = dir / "copy.hf";
        {
            // While the gate is held nothing is applied, so the two files belong together.
            const auto gate = must(detail::open_unlocked(journal_file));
            must(journal::copy_gate(gate.get()).hold());
            fs::copy_file(file, copy, fs::copy_options::overwrite_existing);
            fs::copy_file(journal_file, dir / "copy.hf.journal",
                          fs::copy_options::overwrite_existing);
        }
        s->memory()[4096] = model(seed, e)[4096];
        const auto back =
            must(snapshot_machine::open(copy, test::small_journal(memory_bytes, GetParam())));
        EXPECT_FALSE(back->file().was_clean());
        EXPECT_TRUE(same(back->memory(), model(seed, e))) << "epoch " << e;
    }
    EXPECT_GT(s->epochs().journal()->redo()->numbers().base_bytes(), 0U)
        << "records were applied meanwhile";
}

/// The progress that a child reports before it is killed.
struct progress {
    std::atomic<u64> durable;
    std::atomic<u64> stored;
};

/// Stores and takes checkpoints for ever; memory is at `from` epochs of the model.
[[noreturn]] void run(snapshot_machine& s, progress& told, u64 seed, u64 from) {
    xoshiro256ss random(seed + from);
    for (u64 e = from + 1;; ++e) {
        told.stored = e;
        store_some(s.memory(), seed, e);
        const u64 t = must(s.checkpoint());
        if (random.below(4) == 0) {
            must(s.epochs().wait_durable(t));
            told.durable = e;
        }
    }
}

void kill_again_and_again(const std::function<std::unique_ptr<snapshot_machine>()>& open, u64 seed,
                          int rounds) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    void* p = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(p, MAP_FAILED);
    auto& told = *::new (p) progress{};
    xoshiro256ss random(seed);
    for (int round = 0; round < rounds && !::testing::Test::HasFailure(); ++round) {
        const u64 promised = told.durable;
        const u64 tried = told.stored.exchange(0);
        const pid_t child = ::fork();
        if (child == 0) {
            const auto s = open();
            const u64 found = epochs_in(s->memory());
            if (found < promised || found > tried) ::_exit(6);
            if (!same(s->memory(), model(seed, found))) ::_exit(7);
            told.durable = found;
            run(*s, told, seed, found);
        }
        ASSERT_GT(child, 0);
        int status = 0;
        while (told.stored == 0 && ::waitpid(child, &status, WNOHANG) == 0) {
            std::this_thread::yield();
        }
        ASSERT_NE(told.stored.load(), 0U) << "it found what it must not: " << WEXITSTATUS(status);
        std::this_thread::sleep_for(std::chrono::microseconds(1000 + random.below(60'000)));
        ::kill(child, SIGKILL);
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    }
    const auto s = open();
    const u64 found = epochs_in(s->memory());
    EXPECT_GE(found, told.durable.load()) << "told to be durable";
    EXPECT_LE(found, told.stored.load());
    EXPECT_TRUE(same(s->memory(), model(seed, found))) << "after " << found << " epochs";
    must(s->close());
    ::munmap(p, 4096);
}

TEST_P(crashed_snapshots, a_process_that_was_killed_left_a_checkpoint_no_older_than_it_was_told) {
    for (const u64 seed : {1, 2, 3}) {
        kill_again_and_again([this] { return open(); }, seed, 6);
        if (HasFailure()) return;  // the files are kept for inspection
        fs::remove(file);
    }
}

TEST_P(crashed_snapshots, also_where_memory_is_given_back) {
    kill_again_and_again([this] { return open(u64{1} << 20); }, 4, 8);
}

// Every store of the last round changes a line back to what the base file has.
TEST_P(crashed_snapshots, what_changed_back_stays_changed_back) {
    const int ended = test::in_child([this] {
        const auto s = open();
        const auto flip = [&](int value) {
            for (u64 i = 0; i < 64; ++i) s->memory()[i * 64] = static_cast<std::byte>(value);
            return must(s->checkpoint());
        };
        must(s->epochs().journal()->redo()->apply_all());
        flip(1);
        must(s->epochs().wait_durable(flip(0)));
        ::raise(SIGKILL);
        return 0;
    });
    ASSERT_EQ(ended, 1000 + SIGKILL);
    const auto s = open();
    EXPECT_TRUE(same(s->memory(), std::vector<std::byte>(memory_bytes)));
}

TEST_P(crashed_snapshots, memory_is_given_back_and_reads_as_it_was) {
    auto o = test::small_journal(u64{8} << 20, GetParam());
    o.file.memory = u64{2} << 20;
    auto s = must(snapshot_machine::open(file, o));
    constexpr u64 seed = 5;
    std::vector<std::byte> expected(s->memory().size());
    for (u64 e = 1; e <= 150; ++e) {
        store_some(s->memory(), seed, e);
        store_some(expected, seed, e);
        // A stretch of pages, so that there is something to be given back.
        const u64 at = e * 37 % 112 * (u64{64} << 10);
        std::memset(s->memory().data() + at, static_cast<int>(e), u64{64} << 10);
        std::memset(expected.data() + at, static_cast<int>(e), u64{64} << 10);
        must(s->checkpoint());
    }
    EXPECT_TRUE(same(s->memory(), expected));
    EXPECT_GT(s->epochs().journal()->copies()->dropped_bytes(), 0U);
    must(s->close());
    s.reset();
    s = must(snapshot_machine::open(file, o));
    EXPECT_TRUE(same(s->memory(), expected));
}

INSTANTIATE_TEST_SUITE_P(ways, crashed_snapshots,
                         ::testing::Values(way::written, way::copies, way::all),
                         [](const auto& one) { return std::string(to_string(one.param)); });

}  // namespace
}  // namespace hf
