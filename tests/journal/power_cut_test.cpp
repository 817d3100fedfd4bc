// The power goes at every call of the disk: what recovery makes of what is left must be the state
// at the end of one epoch, no older than the last that was announced.
#include <gtest/gtest.h>

#include <memory>

#include "journal/apply.hpp"
#include "journal/core.hpp"
#include "journal/scan.hpp"
#include "memory_disk.hpp"

namespace hf::test {
namespace {

using bytes = std::vector<std::byte>;

constexpr u64 lines_of_base = 96;
constexpr journal::geometry small{2 * journal::page, 3};

/// A region that is nothing but lines, and what it was at the end of each epoch.
struct workload {
    explicit workload(u64 seed) : random(seed), memory(lines_of_base * line_size) {
        ends.push_back(memory);
    }

    /// Changes some lines; returns them, as the dirty set would.
    std::vector<u64> run_epoch() {
        std::vector<u64> lines;
        std::vector<bool> seen(lines_of_base);
        const u64 changes = 1 + random() % (random() % 4 == 0 ? 200 : 12);
        for (u64 i = 0; i < changes; ++i) {
            const u64 line = random() % lines_of_base;
            const auto value = static_cast<std::byte>(random());
            memory[line * line_size + random() % line_size] = value;
            if (!seen[line]) lines.push_back(line);
            seen[line] = true;
        }
        ends.push_back(memory);
        return lines;
    }

    xoshiro256ss random;
    bytes memory;
    std::vector<bytes> ends;  ///< [e]: at the end of epoch e
};

struct machine {
    explicit machine(u64 seed) : work(seed), base(bytes(lines_of_base * line_size)) {}

    /// Sessions until the power goes, at the `calls`-th call of either disk. False: it did not.
    bool run(u64 calls, unsigned epochs) {
        journal.calls_left = base.calls_left = &calls;
        auto core = journal::core::start(journal, base, who, durable, small);
        if (!core) return true;
        for (unsigned i = 0; i < epochs; ++i) {
            if (!one_epoch(**core)) return true;
        }
        return false;
    }

    bool one_epoch(journal::core& core) {
        const auto lines = work.run_epoch();
        bytes data;
        for (const u64 line : lines) {
            const auto* const from = work.memory.data() + line * line_size;
            data.insert(data.end(), from, from + line_size);
        }
        const journal::record r{work.ends.size() - 1, lines, data.data()};
        while (core.needs_space(r) && core.used() > 1) {
            if (!core.apply_some(1)) return false;
        }
        if (!core.commit(r)) return false;
        durable = r.epoch;
        return work.random() % 4 != 0 || core.apply_some(2).has_value();
    }

    journal::identity who{{1, 2, 3}, 1};
    workload work;
    memory_disk journal;
    memory_disk base;
    u64 durable = 0;
};

/// The base after recovery; its error, if it fails.
result<bytes> recover(const bytes& journal_content, const bytes& base_content) {
    memory_disk journal(journal_content);
    memory_disk base(base_content);
    auto found = journal::scan(journal);
    if (!found) return tl::unexpected(found.error());
    auto done = journal::apply(journal, found->chunks, [&](u64 at, std::span<const std::byte> b) {
        return base.write(at, b);
    });
    if (!done) return tl::unexpected(done.error());
    return base.now();
}

}  // namespace

TEST(power_cut, nothing_announced_is_lost) {
    u64 images = 0;
    for (u64 seed = 1; seed <= 40; ++seed) {
        for (u64 calls = 4;; ++calls) {
            machine m(seed);
            const bool cut = m.run(calls, 12);
            for (unsigned draw = 0; draw < 6; ++draw, ++images) {
                xoshiro256ss random(seed * 1000003 + calls * 101 + draw);
                const auto left =
                    recover(m.journal.after_power_cut(random), m.base.after_power_cut(random));
                ASSERT_TRUE(left) << left.error().to_string() << ", seed " << seed << ", calls "
                                  << calls << ", draw " << draw;
                bool is_an_end = false;
                for (u64 e = m.durable; e < m.work.ends.size(); ++e) {
                    is_an_end = is_an_end || m.work.ends[e] == *left;
                }
                ASSERT_TRUE(is_an_end) << "seed " << seed << ", calls " << calls << ", draw "
                                       << draw << ", durable epoch " << m.durable;
            }
            if (!cut) break;
        }
    }
    RecordProperty("images", static_cast<int>(images));
}

}  // namespace hf::test
