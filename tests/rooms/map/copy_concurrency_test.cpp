// Copies taken while other processes write to, grow, close, open and kill the region. A copy must
// contain, for every writer, all writes up to some moment and none after it: at least what was
// durable when the copy began, at most what had been sent when it ended.
#include <holdfast/map.hpp>

#include "copied.hpp"
#include "map/copy.hpp"
#include "support/effort.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <new>
#include <random>
#include <thread>

namespace hf::test {
namespace {

namespace fs = std::filesystem;

constexpr unsigned writers = 3;
constexpr u64 keys = 6000;  ///< of each writer; enough to make the region grow

/// Shared with the writing processes; outlives them.
struct board {
    std::atomic<bool> stop{false};
    std::array<std::atomic<u64>, writers> sent{};     ///< the last write that was begun
    std::array<std::atomic<u64>, writers> durable{};  ///< the last write known to be durable
};

std::string key_of(unsigned writer, u64 write) {
    return std::to_string(writer) + " " + std::to_string(write % keys);
}

std::string value_of(u64 write) {
    std::string value = std::to_string(write) + " ";
    value.resize(100 + write * 37 % 1500, static_cast<char>('a' + write % 26));
    return value;
}

void raise_to(std::atomic<u64>& number, u64 to) {
    for (u64 seen = number; seen < to && !number.compare_exchange_weak(seen, to);) {
    }
}

/// Yields the processor to the other processes.
void wait_a_little() { std::this_thread::sleep_for(std::chrono::microseconds(200)); }

void die_with_parent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

/// For both kinds of media: with a journal, and with shared memory.
class copy_while : public on_tmpfs, public ::testing::WithParamInterface<medium_kind> {
   protected:
    copy_while() {
        void* p = ::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                         -1, 0);
        shared = new (p) board;
    }
    ~copy_while() override { ::munmap(shared, sizeof(board)); }

    [[nodiscard]] map open() const {
        map_options o;
        o.region.medium = GetParam();
        o.region.initial_size = u64{16} << 20;
        o.epoch = std::chrono::milliseconds(2);
        for (;;) {  // a copy of a region that no process uses keeps others from opening it
            auto m = map::open(file, o);
            if (m || m.error().code != errc::busy) return must(std::move(m));
            wait_a_little();
        }
    }
    /// The last write of a writer that the map contains; checks that all before it are there, and
    /// none after it.
    static u64 newest(const map& m, unsigned writer) {
        u64 last = 0;
        std::map<std::string, u64> found;
        const std::string from = std::to_string(writer) + " ";
        must(m.scan(from, [&](std::string_view key, std::string_view value) {
            if (!key.starts_with(from)) return false;
            const u64 write = std::stoull(std::string(value));
            EXPECT_EQ(value, value_of(write));
            EXPECT_EQ(key, key_of(writer, write));
            found.emplace(key, write);
            last = std::max(last, write);
            return true;
        }));
        EXPECT_EQ(found.size(), std::min(last, keys)) << "there are holes";
        for (const auto& [key, write] : found) EXPECT_LT(last - write, keys) << key;
        return last;
    }
    /// Continues after the last write in the map, until stopped or until `most` writes are done.
    void write(map& m, unsigned writer, u64 most) const {
        u64 at = newest(m, writer);
        for (; most > 0 && !shared->stop; --most) {
            ++at;
            raise_to(shared->sent[writer], at);
            must(m.put(key_of(writer, at), value_of(at)));
            if (at % 500 == 0) {
                must(m.sync());
                raise_to(shared->durable[writer], at);
            }
        }
    }
    /// Runs one session with all writers.
    void run_session(u64 most) const {
        map m = open();
        std::vector<std::thread> threads;
        for (unsigned w = 0; w < writers; ++w) {
            threads.emplace_back([&, w] { write(m, w, most); });
        }
        for (auto& t : threads) t.join();
        must(m.close());
    }
    /// Makes a copy and checks it.
    void copy_once() const {
        std::array<u64, writers> least{};
        for (unsigned w = 0; w < writers; ++w) least[w] = shared->durable[w];
        const fs::path to = dir / "copy.hf";
        const auto facts = copy_store(file, to, true);
        ASSERT_TRUE(facts) << facts.error().to_string();
        std::array<u64, writers> most{};
        for (unsigned w = 0; w < writers; ++w) most[w] = shared->sent[w];
        expect_sound(to);
        const map m = must(map::open(to));
        for (unsigned w = 0; w < writers; ++w) {
            const u64 found = newest(m, w);
            EXPECT_GE(found, least[w]) << "a durable write is missing";
            EXPECT_LE(found, most[w]);
        }
    }
    /// Makes copies while `others` runs in another process.
    void copy_beside(const std::function<void()>& others) {
        const unsigned times = effort(8U, 3U);
        must(open().close());
        const pid_t child = ::fork();
        if (child == 0) {
            die_with_parent();
            others();
            ::_exit(::testing::Test::HasFailure() ? 99 : 0);
        }
        for (unsigned i = 0; i < times && !HasFailure(); ++i) {
            SCOPED_TRACE("copy " + std::to_string(i));
            // Wait, so that each copy is of a different state.
            const u64 before = shared->sent[0];
            int status = 0;
            while (shared->sent[0] < before + 1000) {
                ASSERT_EQ(::waitpid(child, &status, WNOHANG), 0) << "the writers have ended";
                wait_a_little();
            }
            copy_once();
        }
        shared->stop = true;
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }

    board* shared = nullptr;
};

TEST_P(copy_while, copies_are_consistent_while_threads_write_and_the_region_grows) {
    copy_beside([this] { run_session(~u64{0}); });
}

TEST_P(copy_while, copies_are_consistent_while_the_region_is_closed_and_opened) {
    copy_beside([this] {
        while (!shared->stop) run_session(700);
    });
}

TEST_P(copy_while, copies_are_consistent_while_processes_are_killed) {
    copy_beside([this] {
        constexpr unsigned seed = 5;
        std::mt19937 random(seed);
        while (!shared->stop) {
            const pid_t session = ::fork();
            if (session == 0) {
                die_with_parent();
                run_session(~u64{0});
                ::_exit(0);
            }
            // Kill after a random number of further writes.
            const u64 at = shared->sent[0] + 100 + random() % 3000;
            while (shared->sent[0] < at && !shared->stop) wait_a_little();
            ::kill(session, SIGKILL);
            ::waitpid(session, nullptr, 0);
        }
    });
}

INSTANTIATE_TEST_SUITE_P(media, copy_while, ::testing::Values(medium_kind::file, medium_kind::shm),
                         [](const auto& p) { return std::string(to_string(p.param)); });

}  // namespace
}  // namespace hf::test
