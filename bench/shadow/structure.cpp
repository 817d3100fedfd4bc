#include "bench/shadow/structure.hpp"

#include "bench/layers/b_tree.hpp"
#include "bench/layers/hash_table.hpp"
#include "bench/layers/red_black_tree.hpp"
#include "bench/shadow/traced.hpp"

#include <algorithm>

namespace hf::bench {

const std::vector<std::string>& shadow_work_names() {
    static const std::vector<std::string> names{"sps", "ht", "rbt", "bt"};
    return names;
}

namespace {

class on_a_heap : public traced_structure {
   public:
    explicit on_a_heap(u64 bytes) : store(bytes) {}
    void trace_to(sim::sink* to, unsigned core) final { store.trace_to(to, core); }
    [[nodiscard]] u64 pages() const final { return store.bytes() / 4096; }
    [[nodiscard]] u64 used_bytes() const final { return store.used(); }

   protected:
    template <class F>
    void atomic(F&& f) {
        store.atomic([&](traced_heap& h) {
            traced::tx t(h);
            f(t);
            return 0;
        });
    }
    traced_heap store;
};

template <class Map>
class traced_map final : public on_a_heap {
   public:
    /// Half of all keys, in an order of chance, as bench/layers makes its maps.
    traced_map(u64 bytes, u64 elements, u64 seed) : on_a_heap(bytes), elements_(elements) {
        traced::tx t(store);
        map_ = t.make<Map>();
        map_->make(t, elements_);
        xoshiro256ss random(seed);
        std::vector<u32> keys;
        for (u64 k = 0; k < 2 * elements_; ++k) {
            if (random.below(2) == 0) keys.push_back(static_cast<u32>(k));
        }
        for (std::size_t i = keys.size(); i > 1; --i) std::swap(keys[i - 1], keys[random.below(i)]);
        for (const u32 k : keys) (void)map_->toggle(t, k);
    }
    [[nodiscard]] u64 keys() const override { return 2 * elements_; }
    void transaction(const std::vector<u64>& keys) override {
        atomic([&](traced::tx& t) {
            for (const u64 k : keys) (void)map_->toggle(t, k);
        });
    }

   private:
    u64 elements_;
    Map* map_ = nullptr;
};

class traced_swaps final : public on_a_heap {
   public:
    traced_swaps(u64 bytes, u64 elements) : on_a_heap(bytes), elements_(elements) {
        traced::tx t(store);
        all_ = t.make_array<traced::p<u64>[]>(elements).first();
        for (u64 i = 0; i < elements; ++i) all_[i].set(t, i);
    }
    [[nodiscard]] u64 keys() const override { return elements_; }
    void transaction(const std::vector<u64>& keys) override {
        atomic([&](traced::tx& t) {
            for (std::size_t i = 0; i + 1 < keys.size(); i += 2) {
                const u64 old = all_[keys[i]];
                all_[keys[i]].set(t, all_[keys[i + 1]].get());
                all_[keys[i + 1]].set(t, old);
            }
        });
    }

   private:
    u64 elements_;
    traced::p<u64>* all_ = nullptr;
};

template <unsigned Least>
std::unique_ptr<traced_structure> make_b_tree(u64 bytes, u64 seed) {
    using tree = b_tree<traced, Least>;
    constexpr u64 node_bytes = align_up(sizeof(typename tree::node), line_size);
    // Random insertions leave nodes full to ln 2.
    const u64 elements = bytes / node_bytes * tree::most * 69 / 100;
    return std::make_unique<traced_map<tree>>(bytes + bytes / 4 + 65'536, elements, seed);
}

}  // namespace

std::unique_ptr<traced_structure> make_structure(shadow_work work, u64 bytes, unsigned node_bytes,
                                                 u64 seed) {
    // The structure's bytes, and a quarter more: inserts and removes leave gaps.
    const u64 room = bytes + bytes / 4 + 65'536;
    switch (work) {
        case shadow_work::sps:
            return std::make_unique<traced_swaps>(room, bytes / 8);
        case shadow_work::hash_table: {
            using map = hash_table<traced>;
            // As many buckets as a power of two allows within a quarter of the bytes.
            const u64 elements = std::bit_floor(bytes / 4 / 8);
            return std::make_unique<traced_map<map>>(
                room, std::min(elements, (bytes - elements * 8) / 32), seed);
        }
        case shadow_work::red_black:
            return std::make_unique<traced_map<red_black_tree<traced>>>(room, bytes / 64, seed);
        case shadow_work::b_tree:
            if (node_bytes == 384) return make_b_tree<8>(bytes, seed);
            if (node_bytes == 512) return make_b_tree<10>(bytes, seed);
            if (node_bytes == 4096) return make_b_tree<85>(bytes, seed);
            throw std::invalid_argument("a B-tree's node has 384, 512 or 4096 bytes");
    }
    throw std::invalid_argument("there is no such workload");
}

}  // namespace hf::bench
