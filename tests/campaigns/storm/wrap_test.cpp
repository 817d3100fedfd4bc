// Epochs whose low bits repeat: value logs keep 16 bits, 29 with inlined values, compact cells 36,
// and counters two.
#include "storm/crash_fixture.hpp"

namespace hf::test {
namespace {

class old_logs : public crashing_map_of_a_kind {
   protected:
    static std::string key(unsigned leaf, unsigned i) {
        std::string k = "00000000";
        k[0] = static_cast<char>('a' + leaf);
        k[7] = static_cast<char>('a' + i);
        return k;
    }
    /// Full leaves of short keys, each with a different kind of log of the current epoch.
    void leave_logs() {
        for (unsigned leaf = 0; leaf < 12; ++leaf) {
            for (unsigned i = 0; i < 10; ++i) put(key(leaf, i), "first");
        }
        end_epoch();
        for (unsigned leaf = 0; leaf < 12; ++leaf) change(leaf, leaf % 6, "second");
    }
    void change(unsigned leaf, unsigned how, const std::string& value) {
        switch (how) {
            case 0:  // one log in a line
                put(key(leaf, 0), value);
                break;
            case 1:  // several: spare slots, or the external log
                for (unsigned i = 0; i < 10; i += 2) put(key(leaf, i), value);
                break;
            case 2:
                remove(key(leaf, 3));
                break;
            case 3:
                put(key(leaf, 11), value);
                break;
            case 4:
                put(key(leaf, 12), value);
                remove(key(leaf, 12));
                put(key(leaf, 1), value);
                break;
            default:  // all kinds
                put(key(leaf, 2), value);
                remove(key(leaf, 4));
                put(key(leaf, 13), value);
                put(key(leaf, 5), value + "+");
                break;
        }
    }
};

/// Only without inlined values: with them the wrap takes too many epochs.
class old_logs_of_records : public old_logs {};

TEST_P(old_logs_of_records, are_not_taken_for_the_running_epochs_when_their_low_bits_come_again) {
    for (const u64 distance : {u64{65535}, u64{65536}, u64{65537}, u64{2 * 65536}}) {
        open({.first_epoch = 300 + distance % 7});
        leave_logs();
        end_epoch();
        m().end_epochs(distance - 1);
        // Half of the leaves are accessed in the epoch whose low bits are those of their logs.
        for (unsigned leaf = 0; leaf < 6; ++leaf) {
            change(leaf, static_cast<unsigned>((leaf + distance) % 6), "third");
        }
        crash(evicted::everything);
        expect_kept("after " + std::to_string(distance) + " epochs");
        if (HasFatalFailure()) return;
        // The recovered state can be changed, and undone, again.
        open();
        for (unsigned leaf = 0; leaf < 12; ++leaf) change(leaf, (leaf + 1) % 6, "fourth");
        crash(evicted::everything);
        expect_kept("crashed again after " + std::to_string(distance) + " epochs");
        if (HasFatalFailure()) return;
        forget();
    }
}

TEST_P(old_logs, are_undone_after_the_upper_bits_have_moved_on) {
    for (const u64 before : {u64{1}, u64{2}, u64{5}}) {
        open({.first_epoch = 2 * wrap() - 100});
        while (m().epoch() != 2 * wrap() - before - 1) end_epoch();
        leave_logs();
        for (u64 i = 0; i < before; ++i) {
            crash(evicted::everything);
            expect_kept("crash " + std::to_string(i));
            if (HasFatalFailure()) return;
            open();
            for (unsigned leaf = 0; leaf < 12; ++leaf) {
                if (now_.size() < 100) break;
                change(leaf, (leaf + static_cast<unsigned>(i)) % 6, "x");
            }
        }
        end_epoch();
        for (unsigned leaf = 0; leaf < 12; ++leaf) change(leaf, (leaf + 3) % 6, "y");
        crash(evicted::half);
        expect_kept("the last crash");
        if (HasFatalFailure()) return;
        forget();
    }
}

INSTANTIATE_TEST_SUITE_P(with, old_logs_of_records, ::testing::Values(false), name_of_kind);
INSTANTIATE_TEST_SUITE_P(with, old_logs, ::testing::Bool(), name_of_kind);

class crashes_in_a_row : public crashing_map_of_a_kind {};

// Without a completed epoch in between, lists and cells are undone repeatedly.
TEST_P(crashes_in_a_row, leave_the_same_state_again_and_again) {
    for (const u64 first : {u64{1}, (u64{1} << 36) - 6, wrap() - 4}) {
        open({.first_epoch = first});
        for (unsigned i = 0; i < 300; ++i) {
            put("key " + std::to_string(i), std::string(i % 90, 'k'));
        }
        put("large", std::string(200'000, 'L'));
        end_epoch();
        for (unsigned i = 0; i < 300; i += 3) remove("key " + std::to_string(i));
        end_epoch();
        for (unsigned round = 0; round < 9; ++round) {
            for (unsigned i = 0; i < 120; ++i) {
                const std::string key = "key " + std::to_string((i * 7 + round) % 300);
                if (i % 2 == 0) {
                    remove(key);
                } else {
                    put(key, std::string((i * 5) % 120, static_cast<char>('a' + round)));
                }
            }
            put("large", std::string(70'000 + round * 30'000, 'l'));
            if (round % 3 == 1) remove("large");
            crash(round % 2 == 0 ? evicted::half : evicted::everything);
            expect_kept("crash " + std::to_string(round));
            if (HasFatalFailure()) return;
            open();
            expect_contents(m(), "opened after crash " + std::to_string(round));
            if (HasFatalFailure()) return;
            if (round % 4 == 3) end_epoch();
        }
        crash(evicted::nothing);
        forget();
    }
}

INSTANTIATE_TEST_SUITE_P(with, crashes_in_a_row, ::testing::Bool(), name_of_kind);

}  // namespace
}  // namespace hf::test
