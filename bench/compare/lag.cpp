#include "bench/compare/lag.hpp"

#include "base/clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

namespace hf::bench {

namespace {

constexpr std::chrono::milliseconds between_probes{1};
constexpr u64 between_instants_ns = 100'000;
/// Minimum, even for a short round.
constexpr std::size_t fewest_probes = 10;

class prober {
   public:
    prober(contender& c, disk_watch& watch, u32 value_size, u64 key)
        : contender_(c), watch_(watch), value_size_(value_size), key_(key) {}

    void run() {
        auto made = contender_.connect();
        if (!made) {
            failed_ = made.error();
            return;
        }
        const std::string_view key(reinterpret_cast<const char*>(&key_), sizeof(key_));
        while (!stop.load() || acknowledged_ns.size() < fewest_probes) {
            const u64 probe = watch_.putting();
            if (first == 0) first = probe;
            auto done = (*made)->put(key, probe_value(probe, value_size_));
            if (!done) {
                failed_ = done.error();
                return;
            }
            acknowledged_ns.push_back(now_ns());
            watch_.acknowledged(probe);
            std::this_thread::sleep_for(between_probes);
        }
    }
    [[nodiscard]] const std::optional<error>& failed() const { return failed_; }

    std::atomic<bool> stop{false};
    u64 first = 0;
    std::vector<u64> acknowledged_ns;

   private:
    contender& contender_;
    disk_watch& watch_;
    u32 value_size_;
    u64 key_;
    std::optional<error> failed_;
};

/// From the first acknowledgement to the last one; after it no more probes are at risk.
histogram ages_at_risk(u64 first, const std::vector<u64>& acknowledged_ns,
                       std::span<const landing> landings) {
    histogram ages;
    if (acknowledged_ns.empty()) return ages;
    u64 safe = 0;  // number of landed probes
    std::size_t next = 0;
    for (u64 t = acknowledged_ns.front(); t <= acknowledged_ns.back(); t += between_instants_ns) {
        for (; next < landings.size() && landings[next].ns <= t; ++next) {
            safe = landings[next].probe + 1 - first;
        }
        const bool at_risk = safe < acknowledged_ns.size() && acknowledged_ns[safe] <= t;
        ages.add(at_risk ? t - acknowledged_ns[safe] : 0);
    }
    return ages;
}

}  // namespace

lag lag_of(u64 first, std::vector<u64> acknowledged_ns, std::vector<landing> landings) {
    lag found;
    found.first = first;
    found.probes = acknowledged_ns.size();
    found.at_risk_ns = ages_at_risk(first, acknowledged_ns, landings);
    std::size_t next = 0;
    for (u64 i = 0; i < acknowledged_ns.size(); ++i) {
        while (next < landings.size() && landings[next].probe < first + i) ++next;
        const bool landed = next < landings.size();
        found.landed += landed ? 1 : 0;
        found.early += landed && landings[next].ns <= acknowledged_ns[i] ? 0 : 1;
        if (!landed) continue;
        const u64 ns = landings[next].ns;
        found.to_land_ns.add(ns > acknowledged_ns[i] ? ns - acknowledged_ns[i] : 0);
    }
    found.acknowledged_ns = std::move(acknowledged_ns);
    found.landings = std::move(landings);
    return found;
}

result<lag> measure_lag(contender& c, ledger& notes, const round_plan& plan, u64 probe_record) {
    auto watch = disk_watch::begin();
    if (!watch) return tl::unexpected(watch.error());
    if (auto begun = c.begin(); !begun) return tl::unexpected(begun.error());
    prober probes(c, **watch, plan.value_size, key_of(probe_record));
    std::thread probing([&] { probes.run(); });
    auto ran = run_round(c, notes, plan);
    probes.stop = true;
    probing.join();
    if (!ran) return tl::unexpected(ran.error());
    if (probes.failed()) return tl::unexpected(*probes.failed());
    // So that the last probes land, too.
    if (auto done = c.make_durable(); !done) return tl::unexpected(done.error());
    return lag_of(probes.first, std::move(probes.acknowledged_ns), (*watch)->landings());
}

result<void> as_promised(const lag& l, acknowledge ack) {
    if (ack != acknowledge::durable || l.landed == 0 || l.early == 0) return {};
    return failure({errc::violation, "trust what is acknowledged as durable", "the disk",
                    fmt::format("{} of {} writes were on it only later", l.early, l.probes),
                    "the figures are worth nothing; report this as a bug"});
}

}  // namespace hf::bench
