// The rules on a medium whose power is cut at every step: what recovers is what was committed, or
// that and the transaction that was committing. Each rule that is broken on purpose is noticed.
#include "shadow/rule_machine.hpp"
#include "support/effort.hpp"

#include <gtest/gtest.h>

#include <string>

namespace hf::shadow::testing {
namespace {

/// Beside the machine: the words of all lines, running and committed.
class plain_model {
   public:
    using words = std::array<std::array<line_content, lines_per_page>, page_count>;
    void store(u64 page, unsigned line, unsigned word, u64 value) {
        running[page][line][word] = value;
    }
    [[nodiscard]] static plain_pages read(const words& w) {
        plain_pages pages{};
        for (u64 v = 0; v < page_count; ++v) {
            for (unsigned i = 0; i < lines_per_page; ++i) {
                u64 sum = 0;
                for (const u64 word : w[v][i]) sum = sum * 31 + word;
                pages[v][i] = sum;
            }
        }
        return pages;
    }
    words running{};
    words committed{};
};

struct outcome {
    u64 steps = 0;      ///< of a run that was not cut short
    bool lost = false;  ///< recovery found neither of the allowed states
};

/// One random run, cut off after `steps_to_live` steps, with several images of the crash.
outcome run(u64 seed, u64 steps_to_live, broken b, plain_model::words& allowed_before,
            plain_model::words& allowed_after) {
    torn_medium medium(steps_to_live);
    plain_model model;
    outcome found;
    xoshiro256ss random(seed);
    allowed_before = allowed_after = model.committed;
    try {
        rule_machine machine(medium, b);
        // So that P1 may be the slot that is kept: it needs more than half of the lines.
        for (unsigned line = 0; seed % 4 == 0 && line <= lines_per_page / 2; ++line) {
            machine.store(0, line, 0, line + 1);
            model.store(0, line, 0, line + 1);
        }
        for (unsigned operation = 0; operation < 24; ++operation) {
            const u64 page = random.below(page_count);
            const auto line = static_cast<unsigned>(random.below(3) * 31);
            switch (random.below(8)) {
                case 0:
                    machine.abort();
                    model.running = model.committed;
                    break;
                case 1:
                    machine.consolidate(page);
                    break;
                case 2:
                case 3:
                    allowed_after = model.running;
                    machine.commit();
                    allowed_before = model.committed = model.running;
                    break;
                default: {
                    const auto word = static_cast<unsigned>(random.below(8));
                    const u64 value = random() | 1;
                    machine.store(page, line, word, value);
                    model.store(page, line, word, value);
                }
            }
            if (machine.load(page, line) != model.running[page][line][0]) found.lost = true;
        }
    } catch (const power_cut&) {
    }
    found.steps = medium.steps();
    for (unsigned i = 0; i < 4; ++i) {
        const auto pages = recovered(medium.after_crash(random));
        found.lost |= !pages || (*pages != plain_model::read(allowed_before) &&
                                 *pages != plain_model::read(allowed_after));
    }
    return found;
}

/// Crashes at every step of `runs` random runs; the number of the first run that lost something.
std::optional<u64> first_loss(broken b, u64 runs) {
    plain_model::words before;
    plain_model::words after;
    for (u64 seed = 1; seed <= runs; ++seed) {
        const outcome whole = run(seed, ~u64{0}, b, before, after);
        if (whole.lost) return seed;
        for (u64 step = 0; step < whole.steps; ++step) {
            if (run(seed, step, b, before, after).lost) return seed;
        }
    }
    return std::nullopt;
}

TEST(rules, survive_a_crash_at_every_step) {
    EXPECT_EQ(first_loss(broken::nothing, hf::test::effort(40, 8)), std::nullopt);
}

class a_broken_rule : public ::testing::TestWithParam<broken> {};

TEST_P(a_broken_rule, is_noticed) {
    if (hf::test::is_sanitized) GTEST_SKIP() << "a sanitizer learns nothing from a broken rule";
    EXPECT_NE(first_loss(GetParam(), 40), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(
    each, a_broken_rule,
    ::testing::Values(broken::old_line_is_not_fetched, broken::store_into_committed_slot,
                      broken::updated_page_consolidated, broken::no_data_before_record,
                      broken::answer_before_record, broken::bits_before_record,
                      broken::truncated_before_table, broken::page_before_slots,
                      broken::entry_after_record, broken::copies_not_durable,
                      broken::removed_before_mapping, broken::freed_before_removal));

}  // namespace
}  // namespace hf::shadow::testing
