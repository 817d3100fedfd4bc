// lanes.cpp: which thread owns which lane of which domain.
//
// A thread finds its lane in a one-entry cache (domain.hpp), then in a list of its own. When it
// ends, its lanes go back to their domains, as far as these still exist: a registry of living
// domains decides that, since neither may outlive the other's knowledge of it.
#include <algorithm>
#include <unordered_map>

#include "base/check.hpp"
#include "checkpoint/domain.hpp"

namespace hf {

namespace {

struct domain_registry {
    std::mutex mutex;
    std::unordered_map<u64, domain*> living;
    u64 next_id = 1;
};

domain_registry& registry() {
    static auto* r = new domain_registry;  // never destroyed: threads may end after main() has
    return *r;
}

}  // namespace

void domain::forget(u64 id) {
    const std::lock_guard guard(registry().mutex);
    registry().living.erase(id);
}

/// The lanes of the calling thread.
struct thread_lanes {
    struct binding {
        u64 domain_id;
        lane* bound;
    };
    std::vector<binding> bindings;

    thread_lanes() = default;
    thread_lanes(const thread_lanes&) = delete;
    thread_lanes& operator=(const thread_lanes&) = delete;
    ~thread_lanes() {
        const std::lock_guard guard(registry().mutex);
        for (const binding& b : bindings) {
            auto it = registry().living.find(b.domain_id);
            if (it != registry().living.end()) it->second->release_lane(*b.bound);
        }
        detail::my_lane_cache = {};
    }

    /// Forgets domains that are gone.
    void prune() {
        const std::lock_guard guard(registry().mutex);
        std::erase_if(bindings,
                      [](const binding& b) { return !registry().living.contains(b.domain_id); });
    }
};

namespace {
thread_local thread_lanes my_lanes;
}

domain::domain(region& r, const domain_options& options, journalled_file* journal)
    : region_(r), journal_(journal), options_(options) {
    const std::lock_guard guard(registry().mutex);
    id_ = registry().next_id++;
    registry().living.emplace(id_, this);
}

lane& domain::make_lane(u32 index) {
    if (!lanes_[index]) {
        auto fresh = std::make_unique<lane>();
        fresh->index = index;
        fresh->track = options_.durable && region_.med().flushes();
        fresh->base = region_.base();
        fresh->med = region_.med();
        if (options_.durable) fresh->log.attach(region_, static_cast<u16>(index));
        lanes_[index] = std::move(fresh);
    }
    return *lanes_[index];
}

lane& domain::bind_lane() {
    for (const auto& b : my_lanes.bindings) {
        if (b.domain_id == id_) {
            detail::my_lane_cache = {id_, b.bound};
            return *b.bound;
        }
    }
    my_lanes.prune();
    std::unique_lock lock(lanes_mutex_);
    u32 index = 0;
    lane_free_.wait(lock, [&] {
        // Lane 0 is the system's: the shared free lists, and work while the world is stopped.
        for (index = 1; index < max_lanes; ++index) {
            if (!lane_owned_[index]) return true;
        }
        return false;
    });
    lane_owned_[index] = true;
    lane& mine = make_lane(index);
    if (index >= lanes_used_.load(std::memory_order_relaxed)) {
        lanes_used_.store(index + 1, std::memory_order_seq_cst);
    }
    my_lanes.bindings.push_back({id_, &mine});
    detail::my_lane_cache = {id_, &mine};
    return mine;
}

void domain::release_lane(lane& l) {
    {
        const std::lock_guard guard(lanes_mutex_);
        lane_owned_[l.index] = false;
    }
    lane_free_.notify_one();
}

bool domain::with_idle_lane(u32 index, const std::function<void()>& work) {
    const std::lock_guard guard(lanes_mutex_);
    if (lane_owned_[index]) return false;
    work();
    return true;
}

bool domain::is_pinned(u64 offset) const noexcept {
    const u32 used = lanes_used();
    for (u32 i = 0; i < used; ++i) {
        if (lanes_[i] && lanes_[i]->pinned.load(std::memory_order_acquire) == offset) return true;
    }
    return false;
}

u64 domain::log_entries() const noexcept {
    u64 n = 0;
    for (u32 i = 0; i < lanes_used(); ++i) n += lanes_[i] ? lanes_[i]->log.entries() : 0;
    return n;
}

u64 domain::log_bytes() const noexcept {
    u64 n = 0;
    for (u32 i = 0; i < lanes_used(); ++i) n += lanes_[i] ? lanes_[i]->log.bytes() : 0;
    return n;
}

}  // namespace hf
