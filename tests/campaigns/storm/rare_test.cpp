// Rare cases: very large epochs, deep layers that split, full regions, lists of threads that have
// just ended, interrupted passes.
#include "storm/crash_fixture.hpp"
#include "support/effort.hpp"

#include <thread>

namespace hf::test {
namespace {

class rare : public crashing_map {
   protected:
    static std::string number(u64 n) {
        const u64 big = __builtin_bswap64(n * 0x9e3779b97f4a7c15);
        return {reinterpret_cast<const char*>(&big), 8};
    }
    /// Waits for the background pass after recovery.
    void await_pass() {
        while (m().has_failed_epochs()) std::this_thread::yield();
    }
};

TEST_F(rare, an_epoch_of_more_lines_than_are_kept_back_is_durable_as_a_whole) {
    open({.size = u64{96} << 20});
    // Five lines a leaf, and half-full leaves: more than 65,536 (lane.hpp, preflush_lag).
    constexpr u64 many = 120'000;
    for (u64 i = 0; i < many; ++i) must(m()->put(number(i), "v"));
    // These lines were flushed early, and change again.
    for (u64 i = 0; i < many; i += 100) must(m()->put(number(i), "w"));
    end_epoch();
    crash(evicted::nothing);
    ASSERT_EQ(audit_of(file), std::vector<std::string>{});
    open();
    await_pass();
    std::string found;
    for (u64 i = 0; i < many; ++i) {
        ASSERT_TRUE(must(m()->get(number(i), found))) << i;
        ASSERT_EQ(found, i % 100 == 0 ? "w" : "v") << i;
    }
    // A second epoch is undone as a whole.
    for (u64 i = 0; i < many; ++i) must(m()->put(number(i), "x"));
    for (u64 i = 0; i < 20'000; ++i) must(m()->put(number(many + i), "y"));
    crash(evicted::everything);
    open();
    u64 count = 0;
    must(m()->scan("", [&](std::string_view, std::string_view v) {
        EXPECT_NE(v, "x");
        EXPECT_NE(v, "y");
        return ++count < 2 * many && !HasFailure();
    }));
    EXPECT_EQ(count, many);
}

TEST_F(rare, a_layer_far_below_splits_and_shrinks_and_comes_back) {
    open({});
    xoshiro256ss r(3);
    for (unsigned round = 0; round < 12; ++round) {
        for (unsigned i = 0; i < 400; ++i) {
            // Layers two to four are shared, the next one has the numbers.
            std::string key = "slice 00slice 11";
            key += r.below(4) == 0 ? "slice 22slice 33" : "slice 44";
            key += number(r.below(600));
            if (r.below(3) == 0) key += "and on";
            if (r.below(round % 3 == 2 ? 2 : 6) == 0) {
                remove(key);
            } else {
                put(key, std::to_string(round) + std::string(r.below(40), 'z'));
            }
            if (r.below(100) == 0) end_epoch();
        }
        crash(round % 2 == 0 ? evicted::everything : evicted::half);
        expect_kept("round " + std::to_string(round));
        if (HasFatalFailure()) return;
        open();
    }
}

TEST_F(rare, blocks_that_a_thread_has_freed_and_left_behind_are_not_reused_in_that_epoch) {
    open({});
    for (unsigned size : {10U, 100U, 700U, 5000U}) {
        put("mine", "x");  // so that the threads get other lanes than this one
        const auto key = [&](const char* who, unsigned i) {
            return std::string(who) + std::to_string(size) + "/" + std::to_string(i);
        };
        // While parts of a slab are free, no thread takes over lists of others.
        const unsigned count = size > 1000 ? 64 : 300;
        std::thread([&] {
            for (unsigned i = 0; i < count; ++i) put(key("old", i), std::string(size, 'o'));
        }).join();
        end_epoch();
        std::thread([&] {
            for (unsigned i = 0; i < count; ++i) remove(key("old", i));
        }).join();
        for (unsigned i = 0; i < 10 * count; ++i) put(key("new", i), std::string(size, 'n'));
        crash(evicted::everything);
        expect_kept("values of " + std::to_string(size));
        if (HasFatalFailure()) return;
        open();
        // One epoch later lists may be taken over, and freed blocks are not lost.
        std::thread([&] {
            for (unsigned i = 0; i < count; ++i) remove(key("old", i));
        }).join();
        end_epoch();
        for (unsigned i = 0; i < 10 * count; ++i) put(key("new", i), std::string(size, 'n'));
        end_epoch();
        crash(evicted::half);
        expect_kept("values of " + std::to_string(size) + ", an epoch later");
        if (HasFatalFailure()) return;
        open();
    }
}

TEST_F(rare, slabs_of_every_class_run_out_and_come_back) {
    open({.size = u64{48} << 20});
    for (unsigned round = 0; round < 3; ++round) {
        for (unsigned size = 1; size < 60'000; size += 1 + size / 5) {
            const unsigned count = size < 2000 ? 40 : 18;
            for (unsigned i = 0; i < count; ++i) {
                const std::string key = std::to_string(size) + ":" + std::to_string(i);
                if ((i + round) % 3 == 0) {
                    remove(key);
                } else {
                    put(key, std::string(size, static_cast<char>('a' + round + i % 7)));
                }
            }
        }
        if (round != 1) end_epoch();
        crash(round == 2 ? evicted::nothing : evicted::half);
        expect_kept("round " + std::to_string(round));
        if (HasFatalFailure()) return;
        open();
    }
}

TEST_F(rare, a_full_region_refuses_and_keeps_what_it_has) {
    open({.max_size = u64{18} << 20});
    const auto value = [](unsigned i, char c) { return std::string(30'000 + i % 50'000, c); };
    const auto key = [](unsigned i) { return "key " + std::to_string(i); };
    unsigned count = 0;
    while (try_put(key(count), value(count, 'a')) && !HasFailure()) {
        ASSERT_LT(++count, 2000U);
        if (count % 50 == 0) end_epoch();
    }
    ASSERT_GT(count, 100U);
    expect_contents(m(), "full");
    end_epoch();
    unsigned stored = 0;
    for (unsigned round = 0; round < 4; ++round) {
        for (unsigned i = round; i < count; i += 9) remove(key(i));
        end_epoch();
        end_epoch();
        for (unsigned i = round; i < count; i += 9) {
            if (try_put(key(i), value(i, static_cast<char>('A' + round)))) ++stored;
        }
        if (round % 2 == 0) end_epoch();
        crash(evicted::everything);
        expect_kept("round " + std::to_string(round));
        if (HasFatalFailure()) return;
        open();
    }
    EXPECT_GT(stored, count / 9) << "what was freed is not used again";
}

TEST_F(rare, a_pass_leaves_nothing_of_a_failed_epoch_in_thousands_of_records) {
    open({});
    const auto key = [](unsigned i) { return i % 2 == 0 ? number(i) : "a layer " + number(i); };
    for (unsigned round = 0; round < 2; ++round) {
        for (unsigned i = 0; i < 3000; ++i) put(key(i), "kept" + std::to_string(round));
        end_epoch();
        for (unsigned i = 0; i < 3000; ++i) {
            if (i % 5 == 0) {
                remove(key(i));
            } else {
                put(key(i), "lost");
            }
        }
        for (unsigned i = 3000; i < 3500; ++i) put(key(i), "lost");
        crash(evicted::everything);
        open();
        await_pass();  // no other access to the leaves yet
        expect_contents(m(), "after the pass");
        if (HasFatalFailure()) return;
        // The pass's changes are durable: they depend on no failed epoch.
        crash(evicted::nothing);
        expect_kept("after the pass and another crash");
        if (HasFatalFailure()) return;
        open();
        await_pass();
    }
}

TEST_F(rare, a_pass_that_is_stopped_anywhere_has_done_no_harm) {
    open({});
    for (unsigned i = 0; i < 2000; ++i) put(number(i), std::string(i % 200, 'p'));
    put("large", std::string(100'000, 'l'));
    end_epoch();
    const unsigned stops = scaled(24);
    for (unsigned stop = 0; stop < stops; ++stop) {
        for (unsigned i = 0; i < 2000; i += 2) remove(number(i));
        remove("large");
        for (unsigned i = 1; i < 2000; i += 2) put(number(i), "lost");
        crash(evicted::everything);
        {
            machine stopped(file, options_);
            for (unsigned spin = 0; spin < stop * 40; ++spin) {
                std::this_thread::yield();
                if (!stopped.has_failed_epochs()) break;
            }
            must(stopped->close());
        }
        expect_kept("stop " + std::to_string(stop));
        if (HasFatalFailure()) return;
        open();
    }
}

}  // namespace
}  // namespace hf::test
