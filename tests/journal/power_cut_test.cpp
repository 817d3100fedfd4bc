// The power goes at every call of the disks, during recovery too; the lab's target journal.disk
// does the same for longer, and counts.
#include "crashlab/disk/journal_machine.hpp"

#include <gtest/gtest.h>

namespace hf::test {

TEST(power_cut, nothing_announced_is_lost) {
    for (u64 seed = 1; seed <= 40; ++seed) {
        for (u64 calls = 0;; ++calls) {
            lab::journal_machine m(seed);
            m.live_before();
            const bool cut = m.live(calls);
            for (unsigned draw = 0; draw < 4; ++draw) {
                xoshiro256ss random(seed * 1000003 + calls * 101 + draw);
                const auto wrong = m.judge(lab::journal_machine::by_chance(random));
                ASSERT_FALSE(wrong)
                    << *wrong << ": seed " << seed << ", calls " << calls << ", draw " << draw;
            }
            if (!cut) break;
        }
    }
}

}  // namespace hf::test
