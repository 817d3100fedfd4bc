#include "sync/thread_slots.hpp"

#include <pthread.h>

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace hf::detail {

namespace {

struct table_registry {
    std::mutex mutex;
    std::unordered_map<u64, slot_table*> living;
    u64 next_id = 1;
};

/// Never destroyed, since threads may end after main() has. Without memory of its own, since a
/// library that contains it may be unloaded.
table_registry& registry() {
    alignas(table_registry) static std::byte place[sizeof(table_registry)];
    static auto* r = new (place) table_registry;
    return *r;
}

}  // namespace

/// The slots of one thread. Allocated when it takes its first one.
struct slots_of_thread {
    struct binding {
        u64 owner;
        u32 index;
        void* slot;
    };
    std::vector<binding> bindings;

    slots_of_thread() = default;
    slots_of_thread(const slots_of_thread&) = delete;
    slots_of_thread& operator=(const slots_of_thread&) = delete;
    ~slots_of_thread() {
        const std::lock_guard guard(registry().mutex);
        for (const binding& b : bindings) {
            auto it = registry().living.find(b.owner);
            if (it != registry().living.end()) it->second->release(b.index);
        }
        my_slot_cache = {};
    }

    /// Removes bindings to destroyed objects.
    void prune() {
        const std::lock_guard guard(registry().mutex);
        std::erase_if(bindings,
                      [](const binding& b) { return !registry().living.contains(b.owner); });
    }
};

namespace {

/// Without a destructor: T5.
[[gnu::tls_model("initial-exec")]] thread_local constinit slots_of_thread* my_slots = nullptr;

/// At the end of a thread that has slots.
void give_back(void* slots) {
    my_slots = nullptr;
    delete static_cast<slots_of_thread*>(slots);
}

constinit bool is_key_gone = false;

/// The key is deleted together with the code of give_back(): a library may be unloaded before the
/// threads that have slots end. Their objects, which were made after it, are destroyed by then.
/// Some 70 bytes that such a thread has allocated here are lost.
class thread_end_key {
   public:
    thread_end_key() {
        HF_CHECK(::pthread_key_create(&key_, give_back) == 0,
                 "no pthread key is left (PTHREAD_KEYS_MAX): the process has made too many");
    }
    thread_end_key(const thread_end_key&) = delete;
    thread_end_key& operator=(const thread_end_key&) = delete;
    ~thread_end_key() {
        is_key_gone = true;
        ::pthread_key_delete(key_);
        delete std::exchange(my_slots, nullptr);
    }
    [[nodiscard]] bool set(const slots_of_thread* mine) const {
        return ::pthread_setspecific(key_, mine) == 0;
    }

   private:
    pthread_key_t key_{};
};

void give_back_at_end_of_thread(const slots_of_thread* mine) {
    static const thread_end_key key;
    if (!is_key_gone && !key.set(mine)) throw std::bad_alloc();
}

slots_of_thread& slots_of_this_thread() {
    if (my_slots == nullptr) {
        auto made = std::make_unique<slots_of_thread>();
        give_back_at_end_of_thread(made.get());
        my_slots = made.release();
    }
    return *my_slots;
}

}  // namespace

namespace {

/// The child's thread must ask for its slots again, and be refused (T6). The registry's lock is
/// taken around the fork, so that it is free in the child.
void watch_forks() {
    [[maybe_unused]] static const bool watched = [] {
        const int refused =
            ::pthread_atfork([] { registry().mutex.lock(); }, [] { registry().mutex.unlock(); },
                             [] {
                                 registry().mutex.unlock();
                                 ++forks_before;
                                 my_slot_cache = {};
                             });
        HF_CHECK(refused == 0, "pthread_atfork has no memory");
        return true;
    }();
}

}  // namespace

slot_table::slot_table(u32 first, u32 end) : first_(first), used_(first), owned_(end) {
    HF_CHECK(first < end, "an object without slots for threads");
    watch_forks();
    const std::lock_guard guard(registry().mutex);
    id_ = registry().next_id++;
    registry().living.emplace(id_, this);
}

slot_table::~slot_table() {
    const std::lock_guard guard(registry().mutex);
    auto& living = registry().living;
    living.erase(id_);
    if (living.empty()) std::remove_reference_t<decltype(living)>().swap(living);
}

void* slot_table::bind() {
    if (made_in_.is_inherited()) fatal(inherited("use the region").to_string().c_str());
    slots_of_thread& mine = slots_of_this_thread();
    for (const auto& b : mine.bindings) {
        if (b.owner == id_) {
            my_slot_cache = {id_, b.slot};
            return b.slot;
        }
    }
    mine.prune();
    std::unique_lock lock(mutex_);
    u32 index = 0;
    freed_.wait(lock, [&] {
        for (index = first_; index < owned_.size(); ++index) {
            if (!owned_[index]) return true;
        }
        return false;
    });
    // Allocate first: if that fails, no slot has been taken (T2).
    mine.bindings.reserve(mine.bindings.size() + 1);
    void* const slot = make(index);
    owned_[index] = true;
    if (index >= used_.load(std::memory_order_relaxed)) {
        HF_ASSERT(index == used_.load(std::memory_order_relaxed), "T2: a slot was skipped");
        used_.store(index + 1, std::memory_order_seq_cst);
    }
    mine.bindings.push_back({id_, index, slot});
    my_slot_cache = {id_, slot};
    return slot;
}

void slot_table::release(u32 index) {
    {
        const std::lock_guard guard(mutex_);
        HF_ASSERT(owned_[index], "T1: a slot without an owner was returned");
        owned_[index] = false;
    }
    freed_.notify_one();
}

bool slot_table::with_idle(u32 index, const std::function<void()>& work) {
    const std::lock_guard guard(mutex_);
    if (owned_[index]) return false;
    work();
    return true;
}

}  // namespace hf::detail
