// Power failures at every call of the disks, also during recovery; the lab's target journal.disk
// does the same for longer, with statistics.
#include "crashlab/disk/journal_machine.hpp"
#include "support/effort.hpp"

#include <gtest/gtest.h>

namespace hf::test {

TEST(power_cut, nothing_announced_is_lost) {
    for (u64 seed = 1, last = effort<u64>(40, 10); seed <= last; ++seed) {
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

// Before the power failure, in the first session, some calls of the disks fail or find no space, at
// every position. Announced epochs are durable even so: also if a sync has failed, the process died
// because of it, and the data of the sync can still be read but is not on the disk.
TEST(power_cut, nothing_announced_is_lost_where_disks_fail_before) {
    for (const errc code : {errc::io, errc::no_space}) {
        for (u64 seed = 1; seed <= scaled(100); ++seed) {
            for (u64 from = 0;; ++from) {
                lab::disk_faults faults{code, from, 1 + (seed + from) % 3};
                u64 random_cut = seed * 71 + from * 13;
                for (unsigned turn = 0; turn < 4; ++turn, random_cut += 17) {
                    faults.calls = 0;
                    lab::journal_machine m(seed);
                    m.live_before(&faults);
                    m.live(random_cut % 60);
                    xoshiro256ss random(random_cut);
                    const auto wrong = m.judge(lab::journal_machine::by_chance(random));
                    ASSERT_FALSE(wrong) << *wrong << ": seed " << seed << ", "
                                        << (code == errc::io ? "failed" : "full") << " from call "
                                        << from << " on, then cut at call " << random_cut % 60;
                }
                if (!faults.have_begun()) break;
            }
        }
    }
}

}  // namespace hf::test
