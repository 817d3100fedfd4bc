// The cost of structures of one's own under checkpointing: the queue and the hash map of
// examples/checkpoint, compared with the standard library's under the same locks. Durable ones
// flush as on persistent memory, with epochs of 64 ms.
#include "base/check.hpp"
#include "bench/scratch_space.hpp"
#include "examples/checkpoint/hash_map.hpp"
#include "examples/checkpoint/queue.hpp"

#include <benchmark/benchmark.h>

#include <deque>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

namespace hf::bench {

namespace {

constexpr u64 records = 100'000;
const std::string value(32, 'v');

std::string key_of_record(u64 n) { return "record " + std::to_string(n % records); }

/// A file of structures in tmpfs, with flushes.
class file_of_structures {
   public:
    file_of_structures() : space_(must(scratch_space::make(std::nullopt, huge_pages::automatic))) {
        checkpointed_options options;
        options.region.initial_size = u64{256} << 20;
        options.region.flush = flush_policy::always;
        options.region.mode = open_mode::create_new;
        path_ = space_.file("structures");
        space_.remove(path_);
        file_ = std::make_unique<checkpointed>(must(checkpointed::open(path_, options)));
    }
    ~file_of_structures() {
        file_.reset();
        space_.remove(path_);
    }
    file_of_structures(const file_of_structures&) = delete;
    file_of_structures& operator=(const file_of_structures&) = delete;
    checkpointed& operator*() { return *file_; }

   private:
    template <class T>
    static T must(tl::expected<T, error> r) {
        HF_CHECK(r.has_value(), "the region cannot be had");
        return std::move(*r);
    }
    scratch_space space_;
    std::filesystem::path path_;
    std::unique_ptr<checkpointed> file_;
};

struct plain_queue {
    void push(std::string_view bytes) {
        const std::lock_guard lock(mutex);
        items.emplace_back(bytes);
    }
    std::optional<std::string> pop() {
        const std::lock_guard lock(mutex);
        if (items.empty()) return std::nullopt;
        std::string first = std::move(items.front());
        items.pop_front();
        return first;
    }
    std::mutex mutex;
    std::deque<std::string> items;
};

struct plain_map {
    void put(const std::string& key, const std::string& v) {
        const std::lock_guard lock(mutex);
        items.insert_or_assign(key, v);
    }
    std::optional<std::string> get(const std::string& key) {
        const std::shared_lock lock(mutex);
        const auto found = items.find(key);
        return found == items.end() ? std::nullopt : std::optional(found->second);
    }
    std::shared_mutex mutex;
    std::unordered_map<std::string, std::string> items;
};

template <class Queue>
void push_and_pop(benchmark::State& state, Queue& queue) {
    for (unsigned i = 0; i < 1000; ++i) (void)queue.push(value);
    for ([[maybe_unused]] auto _ : state) {
        (void)queue.push(value);
        benchmark::DoNotOptimize(queue.pop());
    }
}
void structures_queue_durable(benchmark::State& state) {
    file_of_structures file;
    example::queue queue(*file);
    push_and_pop(state, queue);
}
void structures_queue_plain(benchmark::State& state) {
    plain_queue queue;
    push_and_pop(state, queue);
}

template <class Map>
void put_again(benchmark::State& state, Map& map) {
    for (u64 n = 0; n < records; ++n) (void)map.put(key_of_record(n), value);
    u64 n = 0;
    for ([[maybe_unused]] auto _ : state) (void)map.put(key_of_record(n += 7919), value);
}
template <class Map>
void get_all(benchmark::State& state, Map& map) {
    for (u64 n = 0; n < records; ++n) (void)map.put(key_of_record(n), value);
    u64 n = 0;
    for ([[maybe_unused]] auto _ : state)
        benchmark::DoNotOptimize(map.get(key_of_record(n += 7919)));
}
void structures_map_put_durable(benchmark::State& state) {
    file_of_structures file;
    example::hash_map map(*file);
    put_again(state, map);
}
void structures_map_put_plain(benchmark::State& state) {
    plain_map map;
    put_again(state, map);
}
void structures_map_get_durable(benchmark::State& state) {
    file_of_structures file;
    example::hash_map map(*file);
    get_all(state, map);
}
void structures_map_get_plain(benchmark::State& state) {
    plain_map map;
    get_all(state, map);
}

BENCHMARK(structures_queue_durable);
BENCHMARK(structures_queue_plain);
BENCHMARK(structures_map_put_durable);
BENCHMARK(structures_map_put_plain);
BENCHMARK(structures_map_get_durable);
BENCHMARK(structures_map_get_plain);

}  // namespace

}  // namespace hf::bench
