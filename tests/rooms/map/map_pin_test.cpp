// A large value is copied outside of any operation. A reader pins its extent until the copy is
// complete, and no epoch waits for it.
#include <holdfast/map.hpp>

#include "base/bits.hpp"
#include "checkpoint_map/engine.hpp"
#include "map/inspect.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace hf {
namespace {

using test::must;

/// Pages that are inaccessible until the reader has arrived. The reader waits at their first byte
/// until it is released; other threads may read meanwhile, and a write to the pages is recorded.
struct barred_pages {
    std::atomic<char*> first{nullptr};
    std::atomic<u64> bytes{0};
    std::atomic<bool> reader_waits{false};
    std::atomic<bool> was_written{false};
    std::atomic<bool> is_open{false};

    void let_read() { ASSERT_EQ(::mprotect(first.load(), bytes.load(), PROT_READ), 0); }
    void open() {
        ::mprotect(first.load(), bytes.load(), PROT_READ | PROT_WRITE);
        is_open.store(true);
    }
};
barred_pages barred;
thread_local bool is_reader = false;

void at_the_bar(int, siginfo_t* what, void*) {
    const u64 at = reinterpret_cast<u64>(what->si_addr);
    const u64 first = reinterpret_cast<u64>(barred.first.load());
    if (at < first || at >= first + barred.bytes.load()) {
        ::signal(SIGSEGV, SIG_DFL);  // an unrelated fault: let it crash
        return;
    }
    if (!is_reader) {
        barred.was_written.store(true);
        return barred.open();
    }
    barred.reader_waits.store(true);
    constexpr timespec a_while{0, 100'000};
    while (!barred.is_open.load()) ::nanosleep(&a_while, nullptr);
}

class map_pins : public test::on_tmpfs {
   protected:
    static constexpr u64 size = u64{1} << 20;

    void SetUp() override {
        struct sigaction here{};
        here.sa_sigaction = at_the_bar;
        here.sa_flags = SA_SIGINFO;
        ASSERT_EQ(::sigaction(SIGSEGV, &here, &before_), 0);
    }
    void TearDown() override { ::sigaction(SIGSEGV, &before_, nullptr); }

    /// Protects all whole pages within a value.
    static void bar(std::string_view value) {
        const u64 first = align_up(reinterpret_cast<u64>(value.data()), layout::page_size);
        const u64 end = reinterpret_cast<u64>(value.data() + value.size());
        barred.bytes = align_down(end, layout::page_size) - first;
        barred.first = reinterpret_cast<char*>(first);
        barred.reader_waits = barred.was_written = barred.is_open = false;
        ASSERT_EQ(::mprotect(barred.first, barred.bytes, PROT_NONE), 0);
    }

    struct sigaction before_{};
};

TEST_F(map_pins, large_value_removed_during_a_read_is_not_reused) {
    const std::string large(size, 'l');
    using way = std::function<std::string(const map&)>;
    const auto to = [](std::string& out) {
        return [&out](std::string_view, std::string_view value) {
            out = value;
            return false;
        };
    };
    const std::array<way, 4> ways{
        [](const map& m) {
            std::string out;
            EXPECT_TRUE(must(m.get("large", out)));
            return out;
        },
        [](const map& m) {
            std::string out;
            const std::string_view keys[] = {"large"};
            must(m.get_many(keys, [&](std::size_t, std::string_view value) { out = value; }));
            return out;
        },
        [&](const map& m) {
            std::string out;
            must(m.scan("large", to(out)));
            return out;
        },
        [&](const map& m) {
            std::string out;
            must(m.scan_backward("large", to(out)));
            return out;
        }};
    map_options o;
    o.epoch = std::chrono::seconds(0);
    o.region.initial_size = u64{16} << 20;
    for (std::size_t i = 0; i < ways.size(); ++i) {
        SCOPED_TRACE("way " + std::to_string(i));
        map m = must(map::open(dir / std::to_string(i), o));
        must(m.put("large", large));
        must(m.sync());
        engine<incll_discipline>& inside = map_inspection::machine_of(m);
        u64 offset = 0;
        {
            operation op(inside.checkpoint());
            offset = inside.tree().find(op, "large");
        }
        bar(inside.tree().record_at(offset)->value());
        std::string read;
        std::thread reader([&] {
            is_reader = true;
            read = ways[i](m);
        });
        while (!barred.reader_waits) std::this_thread::yield();
        barred.let_read();  // a removal reads the record
        must(m.remove("large"));
        for (char c = 'a'; c < 'd'; ++c) {  // the first may be too early to reuse the extent
            must(m.sync());
            must(m.put(std::string(1, c), std::string(size, c)));
        }
        EXPECT_FALSE(barred.was_written) << "its place was used again";
        barred.open();
        reader.join();
        EXPECT_TRUE(read == large);
        EXPECT_FALSE(inside.epochs().is_pinned(offset - block_header_size));
    }
}

}  // namespace
}  // namespace hf
