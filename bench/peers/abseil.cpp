// Abseil's btree_map and flat_hash_map as yardsticks. Keys are numbers, for which they are fastest;
// values of 8 bytes are in the nodes, others are strings.
#include "bench/peers/yardstick.hpp"
#include "sync/spin_lock.hpp"

#include <absl/container/btree_map.h>
#include <absl/container/flat_hash_map.h>

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace hf::bench {

namespace {

constexpr unsigned shard_bits = 8;

using small_value = std::array<char, 8>;
void assign(small_value& to, std::string_view from) { from.copy(to.data(), to.size()); }
void assign(std::string& to, std::string_view from) { to = from; }
std::string_view bytes_in(const small_value& value) { return {value.data(), value.size()}; }
std::string_view bytes_in(const std::string& value) { return value; }
std::uint64_t beside(const small_value& /*value*/) { return 0; }
std::uint64_t beside(const std::string& value) {
    return value.capacity() <= std::string().capacity() ? 0 : value.capacity() + 1;
}

/// Counts the allocated bytes of a shard, under the shard's lock.
template <class T>
struct counting {
    using value_type = T;
    explicit counting(std::uint64_t* bytes) noexcept : taken(bytes) {}
    template <class U>  // NOLINTNEXTLINE(google-explicit-constructor): as allocators are copied
    counting(const counting<U>& other) noexcept : taken(other.taken) {}
    T* allocate(std::size_t n) {
        *taken += n * sizeof(T);
        return std::allocator<T>().allocate(n);
    }
    void deallocate(T* at, std::size_t n) noexcept {
        *taken -= n * sizeof(T);
        std::allocator<T>().deallocate(at, n);
    }
    friend bool operator==(const counting& a, const counting& b) { return a.taken == b.taken; }
    std::uint64_t* taken;
};

template <class Value>
using record = std::pair<const std::uint64_t, Value>;
template <class Value>
using btree =
    absl::btree_map<std::uint64_t, Value, std::less<std::uint64_t>, counting<record<Value>>>;
template <class Value>
using hash = absl::flat_hash_map<std::uint64_t, Value, absl::Hash<std::uint64_t>,
                                 std::equal_to<std::uint64_t>, counting<record<Value>>>;

/// The key's first bits select a shard, so each shard has a range, and a scan continues in the next
/// one.
template <class Map, bool Ordered>
class sharded final : public yardstick_store {
   public:
    void work_with(unsigned threads) override { locking_ = threads > 1; }

    void put(std::uint64_t key, std::string_view value) override {
        shard& s = shards_[number_of(key)];
        const auto held = hold(s);
        assign(s.map[key], value);
    }
    bool get(std::uint64_t key, std::string& value) override {
        shard& s = shards_[number_of(key)];
        const auto held = hold(s);
        const auto found = s.map.find(key);
        if (found == s.map.end()) return false;
        value = bytes_in(found->second);
        return true;
    }
    void scan(std::uint64_t key, visitor visit, void* context) override {
        if constexpr (Ordered) {
            for (std::size_t n = number_of(key); n < shards_.size(); ++n) {
                const auto held = hold(shards_[n]);
                auto& map = shards_[n].map;
                for (auto at = map.lower_bound(key); at != map.end(); ++at) {
                    if (!visit(context, at->first, bytes_in(at->second))) return;
                }
            }
        }
    }
    std::uint64_t bytes() const override {
        std::uint64_t sum = 0;
        for (const shard& s : shards_) {
            sum += sizeof(s) + s.taken;
            for (const auto& [key, value] : s.map) sum += beside(value);
        }
        return sum;
    }

   private:
    struct alignas(64) shard {
        spin_lock lock;
        std::uint64_t taken = 0;
        Map map{typename Map::allocator_type(&taken)};
    };
    static std::size_t number_of(std::uint64_t key) { return key >> (64 - shard_bits); }
    std::unique_lock<spin_lock> hold(shard& s) const {
        return locking_ ? std::unique_lock(s.lock) : std::unique_lock<spin_lock>();
    }

    std::vector<shard> shards_{std::size_t{1} << shard_bits};
    bool locking_ = true;
};

template <class Value>
yardstick_store* new_store(std::string_view name) {
    if (name == "absl-btree") return new sharded<btree<Value>, true>;
    if (name == "absl-hash") return new sharded<hash<Value>, false>;
    return nullptr;
}

}  // namespace

}  // namespace hf::bench

unsigned hf_bench_yardstick_interface() { return hf::bench::yardstick_interface; }

hf::bench::yardstick_store* hf_bench_yardstick_open(const char* name, std::uint32_t value_size) {
    const bool small = value_size == sizeof(hf::bench::small_value);
    return small ? hf::bench::new_store<hf::bench::small_value>(name)
                 : hf::bench::new_store<std::string>(name);
}
