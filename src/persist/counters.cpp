#include "persist/counters.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace hf {
namespace detail {

constinit thread_local counter_block* own_counters = nullptr;

namespace {

persist_counters read(const counter_block& block) noexcept {
    persist_counters c;
    c.flushes = block.flushes.load(std::memory_order_relaxed);
    c.fences = block.fences.load(std::memory_order_relaxed);
    c.flushed_bytes = c.flushes * line_size;
    c.streamed_bytes = block.streamed_bytes.load(std::memory_order_relaxed);
    return c;
}

void add(persist_counters& sum, const persist_counters& more) noexcept {
    sum.flushes += more.flushes;
    sum.fences += more.fences;
    sum.flushed_bytes += more.flushed_bytes;
    sum.streamed_bytes += more.streamed_bytes;
}

struct registry {
    std::mutex mutex;
    persist_counters ended;
    std::vector<std::unique_ptr<counter_block>> blocks;
    std::vector<counter_block*> idle;
};

// Never destroyed: threads may still count during the destruction of static objects.
registry& the_registry() {
    static registry* const r = new registry;
    return *r;
}

// Returns the thread's block when the thread ends. If a thread_local destructor that runs later
// flushes, it gets a new block, which stays registered: no count is lost, at the cost of an
// unused line of memory.
struct block_owner {
    block_owner() = default;
    block_owner(const block_owner&) = delete;
    block_owner& operator=(const block_owner&) = delete;
    ~block_owner() {
        registry& r = the_registry();
        const std::lock_guard lock(r.mutex);
        add(r.ended, read(*own_counters));
        counter_block& own = *own_counters;
        for (auto* counter : {&own.flushes, &own.fences, &own.streamed_bytes}) {
            counter->store(0, std::memory_order_relaxed);
        }
        r.idle.push_back(own_counters);
        own_counters = nullptr;
    }
    void arm() noexcept {}
};

thread_local block_owner owner_of_block;

}  // namespace

counter_block& make_own_counters() noexcept {
    owner_of_block.arm();
    registry& r = the_registry();
    const std::lock_guard lock(r.mutex);
    if (r.idle.empty()) {
        r.blocks.push_back(std::make_unique<counter_block>());
        r.idle.reserve(r.blocks.size());  // so that an ending thread need not allocate
        own_counters = r.blocks.back().get();
    } else {
        own_counters = r.idle.back();
        r.idle.pop_back();
    }
    return *own_counters;
}

}  // namespace detail

persist_counters total_persist_counters() noexcept {
    detail::registry& r = detail::the_registry();
    const std::lock_guard lock(r.mutex);
    persist_counters sum = r.ended;
    for (const auto& block : r.blocks) detail::add(sum, detail::read(*block));
    return sum;
}

persist_counters thread_persist_counters() noexcept {
    return detail::own_counters == nullptr ? persist_counters{}
                                           : detail::read(*detail::own_counters);
}

}  // namespace hf
