// A crash leaves the last commit of plain memory, to the byte. A process is killed at a
// random instant while it stores, commits and aborts; each transaction follows from its number.
// Power failures: crashlab/targets/plain_cases.cpp.
#include "base/random.hpp"
#include "memories.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

namespace hf::test {
namespace {

constexpr u64 memory_bytes = u64{1} << 20;
constexpr u64 hot_bytes = u64{32} << 10;

/// The stores of transaction `number`, to the program's memory or to a model's.
void store_some(std::span<std::byte> memory, u64 number) {
    xoshiro256ss random(number * 1'000'003);
    for (u64 n = random.below(120); n != 0; --n) {
        const u64 reach = random.below(4) == 0 ? memory.size() : hot_bytes;
        // Few values, so that a line is often as it was.
        memory[64 + random.below(reach / 32 - 2) * 32] = static_cast<std::byte>(random.below(3));
    }
    std::memcpy(memory.data(), &number, sizeof number);
}

constexpr bool aborts(u64 number) { return number % 5 == 3; }

struct model {
    std::vector<std::byte> bytes = std::vector<std::byte>(memory_bytes);
    u64 at = 0;
    void go_to(u64 number) {
        while (at < number) {
            if (!aborts(++at)) store_some(bytes, at);
        }
    }
};

u64 number_in(const plain::machine& m) {
    u64 number = 0;
    std::memcpy(&number, m.memory().data(), sizeof number);
    return number;
}

void expect_same(const plain::machine& m, const model& all) {
    const auto mine = m.memory();
    ASSERT_EQ(mine.size(), all.bytes.size());
    EXPECT_EQ(std::memcmp(mine.data(), all.bytes.data(), mine.size()), 0)
        << "of transaction " << all.at;
}

void transact(plain::machine& m, u64 number) {
    store_some(m.memory(), number);
    if (aborts(number)) {
        must(m.abort());
    } else {
        must(m.wait_durable(must(m.commit())));
    }
}

class crashed_memories : public plain_memories {
   protected:
    [[nodiscard]] owner open_small() const {
        auto o = options(memory_bytes);
        o.file.max_size = u64{9} << 18;  // fewer slots than pages: consolidation, too
        return must(plain::machine::open(file, o));
    }
};
INSTANTIATE_TEST_SUITE_P(in_place, crashed_memories, memories_in_place(), memory_name);
INSTANTIATE_TEST_SUITE_P(on_disk, crashed_memories, memories_on_disk(), memory_name);

TEST_P(crashed_memories, are_as_the_last_commit_left_them) {
    model all;
    auto m = open_small();
    for (u64 number = 1; number <= 200; ++number) {
        transact(*m, number);
        all.go_to(number);
        if (number % 20 != 0) continue;
        expect_same(*m, all);
        store_some(m->memory(), 1'000'000 + number);  // not to be committed
        if (number % 40 == 0) must(m->close());
        m.reset();
        m = open_small();
        expect_same(*m, all);
    }
}

TEST_P(crashed_memories, are_as_the_last_commit_left_them_when_the_process_is_killed) {
    auto* const returned = static_cast<std::atomic<u64>*>(
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(returned, MAP_FAILED);
    const u64 seed = static_cast<u64>(::getpid());
    SCOPED_TRACE("seed " + std::to_string(seed));
    splitmix64 random(seed);
    model all;
    for (int i = 0; i < 12 && !HasFailure(); ++i) {
        const u64 before = returned->load();
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            const auto m = open_small();
            for (u64 n = returned->load() + 1;; ++n) {
                transact(*m, n);
                returned->store(n);
            }
        }
        int status = 0;
        while (i % 4 != 3 && returned->load() == before) {
            ASSERT_EQ(::waitpid(child, &status, WNOHANG), 0) << "it ended by itself";
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
        ASSERT_EQ(::kill(child, SIGKILL), 0);
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "it ended by itself";
        const auto m = open_small();
        const u64 done = returned->load();
        all.go_to(done);
        if (number_in(*m) == done + 1) {
            all.go_to(done + 1);  // it was committed, and had not told
            returned->store(done + 1);
        }
        expect_same(*m, all);
    }
    ::munmap(returned, 4096);
}

}  // namespace
}  // namespace hf::test
