// bench/layers/plain_items.hpp: memcached's workload on a volatile hash table of malloc'ed items,
// under a lock. It represents memcached's own store, without the network.
#pragma once

#include "bench/layers/workload.hpp"

#include <array>
#include <mutex>
#include <unordered_map>

namespace hf::bench {

class plain_items final : public paper_work {
   public:
    explicit plain_items(const work_options& o) : items_(2 * o.elements), seed_(o.seed) {}
    [[nodiscard]] bool has_threads() const override { return true; }
    void make() override {
        xoshiro256ss random(seed_);
        for (u64 k = 0; k < items_; ++k) {
            if (random.below(2) == 0) (void)toggle(k);
        }
    }
    u64 step(xoshiro256ss& random, const zipfian* skewed) override {
        return toggle(draw(random, skewed, items_));
    }
    [[nodiscard]] u64 digest() override { return all_.size(); }
    [[nodiscard]] std::string complaints() override { return {}; }

   private:
    struct by_low {
        std::size_t operator()(const std::array<u64, 2>& key) const noexcept { return key[0]; }
    };
    using value = std::array<u64, 64>;

    u64 toggle(u64 number) {
        splitmix64 names(number);
        const std::array<u64, 2> key{names(), number};
        const std::lock_guard turn(mutex_);
        const auto at = all_.find(key);
        if (at != all_.end()) {
            all_.erase(at);
            return 0;
        }
        all_.try_emplace(key).first->second.fill(number);
        return 1;
    }
    u64 items_;
    u64 seed_;
    std::mutex mutex_;
    std::unordered_map<std::array<u64, 2>, value, by_low> all_;
};

}  // namespace hf::bench
