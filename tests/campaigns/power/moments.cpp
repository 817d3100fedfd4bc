#include "moments.hpp"

#include <algorithm>
#include <utility>

namespace hf::power_test {

namespace {

constexpr std::size_t flushes_of_a_lie = 6;

/// The number of entries up to and including the last flush among the first `cut`.
std::size_t synced_before(const write_log& log, std::size_t cut) {
    while (cut > 0 && log.entries[cut - 1].is != log_entry::kind::flush) --cut;
    return cut;
}

}  // namespace

const char* to_string(fate f) noexcept {
    switch (f) {
        case fate::boundary:
            return "boundary";
        case fate::dropped:
            return "dropped";
        case fate::late:
            return "late";
        case fate::torn:
            return "torn";
        case fate::whole:
            return "whole";
        default:
            return "lies";
    }
}

std::vector<moment> choose_moments(const write_log& log, u64 images, u64 lies,
                                   xoshiro256ss& random) {
    std::vector<std::size_t> flushes;
    for (std::size_t i = 0; i < log.entries.size(); ++i) {
        if (log.entries[i].is == log_entry::kind::flush) flushes.push_back(i + 1);
    }
    std::vector<moment> all;
    if (flushes.empty()) return all;
    constexpr fate behind[] = {fate::dropped, fate::torn, fate::late, fate::whole};
    for (u64 i = 0; i < images; ++i) {
        const std::size_t flush = flushes[random.below(flushes.size())];
        if (i % 2 == 0) {
            all.push_back({flush, flush, fate::boundary});
            continue;
        }
        // Just before a flush, when most writes are unflushed, or at any time; preferably with
        // unflushed writes.
        moment one;
        for (int tries = 0; tries < 20 && one.cut == one.synced; ++tries) {
            const std::size_t before = flushes[random.below(flushes.size())] - 1;
            one.cut = random.below(3) != 0 ? before : random.below(log.entries.size());
            one.synced = synced_before(log, one.cut);
        }
        one.of = behind[i / 2 % std::size(behind)];
        all.push_back(one);
    }
    for (u64 i = 0; i < lies && flushes.size() > 2 * flushes_of_a_lie; ++i) {
        // In the second half: by then clients have been promised records.
        const std::size_t n = flushes.size() / 2 + random.below(flushes.size() / 2);
        all.push_back({flushes[n - flushes_of_a_lie], flushes[n], fate::lies});
    }
    std::ranges::sort(all, {}, [](const moment& m) { return std::pair(m.synced, m.cut); });
    return all;
}

}  // namespace hf::power_test
