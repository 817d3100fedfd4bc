// The simulated machine with contents: each step against a plain model, and the rules' recovery at
// every point where its power can be cut. Every flush and fence that is left out is noticed.
#include "sim/medium_observer.hpp"
#include "support/effort.hpp"

#include <gtest/gtest.h>

namespace hf::sim::testing {
namespace {

using lines = std::map<std::pair<u64, unsigned>, line_content>;

constexpr u64 page_count = 6;
constexpr u64 journal_lines = 6;

/// Committed contents, and those of each core's running transaction.
struct plain_model {
    lines committed;
    std::array<lines, max_cores> running;  ///< the lines that it has updated
    [[nodiscard]] line_content read(unsigned core, u64 page, unsigned line) const {
        for (const lines* from : {&running[core], &committed}) {
            const auto at = from->find({page, line});
            if (at != from->end()) return at->second;
        }
        return {};
    }
    void store(unsigned core, u64 page, unsigned line, unsigned word, u64 value) {
        line_content next = read(core, page, line);
        next[word] = value;
        running[core][{page, line}] = next;
    }
    [[nodiscard]] lines after_commit(unsigned core) const {
        lines all = committed;
        for (const auto& [at, content] : running[core]) all[at] = content;
        return all;
    }
};

struct variant {
    const char* name;
    shadow_config config;
};

void PrintTo(const variant& v, std::ostream* out) { *out << v.name; }

std::vector<variant> variants() {
    shadow_config base;
    base.on.tlb_entries = 2;
    base.on.stlb_sets = 0;
    base.journal_lines = journal_lines;
    std::vector<variant> all{{"at_eviction", base}};
    all.push_back({"first_store", base});
    all.back().config.inserts = insertion::at_first_store;
    all.push_back({"immediately", base});
    all.back().config.when = consolidation::immediately;
    all.push_back({"lazily", base});
    all.back().config.when = consolidation::lazily;
    all.back().config.split_pages = 2;
    all.back().config.inserts = insertion::at_first_store;
    all.push_back({"pinned", base});
    all.back().config.full = overflow::pin;
    all.push_back({"two_cores", base});
    all.back().config.on.cores = 2;
    all.back().config.on.stlb_sets = 1;
    all.back().config.on.stlb_ways = 2;
    return all;
}

struct outcome {
    u64 steps = 0;
    std::string wrong;
};

/// One random run, cut off after some steps.
class one_run {
   public:
    one_run(const shadow_config& c, u64 seed, u64 steps_to_live, missing what)
        : medium_(steps_to_live), random_(seed), config_(c), what_(what), seed_(seed) {}

    outcome go() {
        try {
            shadow_machine<medium_observer> machine(config_, page_count,
                                                    medium_observer(medium_, value_, what_));
            for (unsigned i = 0; i < 30 && wrong_.empty(); ++i) step(machine, i);
        } catch (const shadow::testing::power_cut&) {
        }
        for (unsigned i = 0; i < 3; ++i) {
            const lines found =
                recovered_lines(medium_.after_crash(random_), page_count, journal_lines);
            if (found != before_ && found != after_) wrong_ = "recovery found another state";
        }
        return {medium_.steps(), wrong_};
    }

   private:
    void step(shadow_machine<medium_observer>& m, unsigned i) {
        const auto core = static_cast<unsigned>(random_.below(config_.on.cores));
        if (!is_running_[core]) {
            m.begin(core);
            is_running_[core] = true;
        }
        // A page of which most lines are updated keeps P1.
        if (i == 0 && seed_ % 2 == 0) {
            for (unsigned l = 0; l < 40; ++l) store(m, core, 0, l, 0);
        }
        switch (random_.below(9)) {
            case 0:
                m.abort(core);
                model_.running[core].clear();
                is_running_[core] = false;
                break;
            case 1:
            case 2:
                after_ = model_.after_commit(core);
                m.commit(core);
                before_ = model_.committed = after_;
                model_.running[core].clear();
                is_running_[core] = false;
                break;
            case 3:
                m.shootdown(random_.below(page_count) * shadow::page_size);
                break;
            case 4:
                (void)m.load(core, random_.below(page_count) * shadow::page_size, 8);
                break;
            default:
                store(m, core, random_.below(page_count),
                      static_cast<unsigned>(random_.below(3)) * 31,
                      static_cast<unsigned>(random_.below(8)));
        }
        compare(m);
    }
    void store(shadow_machine<medium_observer>& m, unsigned core, u64 page, unsigned line,
               unsigned word) {
        value_ = random_() | 1;
        const u64 address = page * shadow::page_size + line * line_size + word * 8;
        bool is_foreign = false;
        for (unsigned c = 0; c < max_cores; ++c) {
            is_foreign |= c != core && model_.running[c].contains({page, line});
        }
        if (m.store(core, address, 8) == is_foreign) wrong_ = "a conflict is missed or invented";
        if (!is_foreign) model_.store(core, page, line, word, value_);
    }
    /// After every step: what each core reads, and the machine's invariants.
    void compare(shadow_machine<medium_observer>& m) {
        for (unsigned c = 0; c < config_.on.cores; ++c) {
            for (u64 v = 0; v < page_count; ++v) {
                for (const unsigned line : {0U, 31U, 39U, 62U, 63U}) {
                    const u64 at = m.line_of(c, v * shadow::page_size + line * line_size);
                    if (medium_.load(at) != model_.read(c, v, line)) wrong_ = "a load is wrong";
                }
            }
        }
        u64 entries = 0;
        for (u64 v = 0; v < page_count; ++v) {
            const page_state& p = m.page(v);
            entries += p.has_entry() ? 1 : 0;
            if (p.has_entry() != (p.slot[1] != nothing)) wrong_ = "sim I1";
            const bool leaves_at_once = config_.when != consolidation::lazily;
            if (leaves_at_once && m.tlb_refs(v) == 0 && p.has_entry() && !p.waits)
                wrong_ = "sim I2";
        }
        if (entries != m.entries()) wrong_ = "entries are counted wrongly";
        if (config_.when == consolidation::lazily && !is_running_[0] &&
            entries > config_.split_pages + config_.on.tlb_entries) {
            wrong_ = "too many pages have two slots";
        }
    }

    torn_medium medium_;
    xoshiro256ss random_;
    shadow_config config_;
    missing what_;
    u64 seed_;
    u64 value_ = 0;
    plain_model model_;
    std::array<bool, max_cores> is_running_{};
    lines before_;
    lines after_;
    std::string wrong_;
};

/// Every run as a whole, then with its power cut at every `stride`th step.
std::string first_fault(const shadow_config& c, missing what, u64 runs, u64 stride) {
    for (u64 seed = 1; seed <= runs; ++seed) {
        const outcome whole = one_run(c, seed, ~u64{0}, what).go();
        if (!whole.wrong.empty()) return whole.wrong;
        for (u64 step = seed % stride; step < whole.steps; step += stride) {
            const outcome cut = one_run(c, seed, step, what).go();
            if (!cut.wrong.empty()) {
                return cut.wrong + ", seed " + std::to_string(seed) + ", step " +
                       std::to_string(step);
            }
        }
    }
    return "";
}

class a_machine : public ::testing::TestWithParam<variant> {};

TEST_P(a_machine, recovers_a_committed_state_from_every_crash) {
    // A sanitizer's findings do not depend on the step at which the power is cut.
    const u64 stride = hf::test::is_sanitized ? 9 : 2;
    EXPECT_EQ(first_fault(GetParam().config, missing::nothing, hf::test::effort(8, 2), stride), "");
}

INSTANTIATE_TEST_SUITE_P(each, a_machine, ::testing::ValuesIn(variants()),
                         [](const auto& i) { return std::string(i.param.name); });

class a_machine_without : public ::testing::TestWithParam<missing> {};

TEST_P(a_machine_without, one_flush_or_fence_is_noticed) {
    if (hf::test::is_sanitized) GTEST_SKIP() << "a sanitizer learns nothing from a broken machine";
    std::string found;
    for (const variant& v : variants()) {
        found = first_fault(v.config, GetParam(), 12, 3);
        if (!found.empty()) break;
    }
    EXPECT_NE(found, "");
}

INSTANTIATE_TEST_SUITE_P(each, a_machine_without,
                         ::testing::Values(missing::old_line, missing::flush_of_data,
                                           missing::flush_of_copies, missing::flush_of_entries,
                                           missing::fence_after_data, missing::fence_after_record,
                                           missing::fence_after_copies, missing::fence_after_table,
                                           missing::fence_after_map, missing::flush_of_head,
                                           missing::map));

}  // namespace
}  // namespace hf::sim::testing
