#include "heap/held_table.hpp"

namespace hf::nv {

held_object& held_table::entry_of(shard& s, u64 offset) {
    held_object*& h = s.objects[offset];
    if (h == nullptr) {
        h = new held_object;
        h->offset = offset;
        h->home = shared_from_this();
        size_.fetch_add(1, std::memory_order_seq_cst);
    }
    return *h;
}

void held_table::enqueue(held_object& h) {
    h.queued = true;
    ++h.weak;
    const std::lock_guard queue_lock(queue_mutex_);
    queue_.push_back(&h);
    queue_size_.fetch_add(1, std::memory_order_release);
}

held_object* held_table::hold(u64 offset, bool strongly) {
    shard& s = shard_of(offset);
    const std::lock_guard lock(s.mutex);
    held_object* const h = &entry_of(s, offset);
    if (strongly) {
        h->strong.fetch_add(1, std::memory_order_seq_cst);
    } else {
        ++h->weak;
    }
    return h;
}

void held_table::unlink(shard& s, held_object* h) {
    const auto found = s.objects.find(h->offset);
    if (found == s.objects.end() || found->second != h) return;
    s.objects.erase(found);
    size_.fetch_sub(1, std::memory_order_relaxed);
}

bool held_table::is_unused(shard& s, held_object* h) {
    if (h->weak != 0 || h->strong.load(std::memory_order_acquire) != 0) return false;
    // An orphan's slot, or an undecided destruction, still needs the entry.
    if (h->state.load(std::memory_order_relaxed) == detail::held::dying) return false;
    unlink(s, h);
    return true;
}

void held_table::drop(held_object* h) {
    u32 n = h->strong.load(std::memory_order_acquire);
    while (n > 1) {
        if (h->strong.compare_exchange_weak(n, n - 1, std::memory_order_acq_rel)) return;
    }
    bool unused = false;
    const std::shared_ptr<held_table> keep = h->home;
    {
        shard& s = shard_of(h->offset);
        const std::lock_guard lock(s.mutex);
        if (h->strong.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        if (h->slot != 0 && !h->queued &&
            h->state.load(std::memory_order_relaxed) == detail::held::live) {
            enqueue(*h);
        }
        unused = is_unused(s, h);
    }
    if (unused) delete h;
}

void held_table::retain_weakly(held_object* h) {
    const std::lock_guard lock(shard_of(h->offset).mutex);
    ++h->weak;
}

void held_table::drop_weakly(held_object* h) {
    bool unused = false;
    const std::shared_ptr<held_table> keep = h->home;
    {
        shard& s = shard_of(h->offset);
        const std::lock_guard lock(s.mutex);
        --h->weak;
        unused = is_unused(s, h);
    }
    if (unused) delete h;
}

held_table::finding held_table::look_before_death(u64 offset) {
    if (size_.load(std::memory_order_seq_cst) == 0) return {};
    shard& s = shard_of(offset);
    const std::lock_guard lock(s.mutex);
    const auto found = s.objects.find(offset);
    if (found == s.objects.end()) return {};
    held_object* const h = found->second;
    if (h->strong.load(std::memory_order_acquire) != 0) {
        if (h->slot == 0) h->slot = slot_to_come;
        return {true, nullptr, false};
    }
    if (h->state.load(std::memory_order_relaxed) == detail::held::dying)
        return {false, nullptr, true};
    h->state.store(detail::held::dying, std::memory_order_release);
    return {false, h, false};
}

void held_table::settle_death(held_object* h, bool died) {
    bool unused = false;
    const std::shared_ptr<held_table> keep = h->home;
    {
        shard& s = shard_of(h->offset);
        const std::lock_guard lock(s.mutex);
        if (h->state.load(std::memory_order_relaxed) == detail::held::dying) {
            h->state.store(died ? detail::held::gone : detail::held::live,
                           std::memory_order_release);
        }
        if (died) {
            h->slot = 0;
            unlink(s, h);
        }
        unused = is_unused(s, h);
    }
    if (unused) delete h;
}

u64 held_table::set_slot(u64 offset, u64 slot) {
    shard& s = shard_of(offset);
    const std::lock_guard lock(s.mutex);
    const auto found = s.objects.find(offset);
    if (found == s.objects.end()) return 0;
    return std::exchange(found->second->slot, slot);
}

u64 held_table::slot_of(u64 offset) {
    shard& s = shard_of(offset);
    const std::lock_guard lock(s.mutex);
    const auto found = s.objects.find(offset);
    return found == s.objects.end() ? 0 : found->second->slot;
}

void held_table::restore_slot(u64 offset, u64 slot) {
    shard& s = shard_of(offset);
    const std::lock_guard lock(s.mutex);
    held_object& h = entry_of(s, offset);
    h.slot = slot;
    if (h.strong.load(std::memory_order_acquire) == 0 && !h.queued) enqueue(h);
}

void held_table::forget(u64 offset) {
    if (size_.load(std::memory_order_acquire) == 0) return;
    shard& s = shard_of(offset);
    bool unused = false;
    held_object* h = nullptr;
    {
        const std::lock_guard lock(s.mutex);
        const auto found = s.objects.find(offset);
        if (found == s.objects.end()) return;
        h = found->second;
        h->state.store(detail::held::gone, std::memory_order_release);
        h->slot = 0;
        unlink(s, h);
        unused = is_unused(s, h);
    }
    if (unused) delete h;
}

std::vector<held_object*> held_table::take_queue() {
    std::vector<held_object*> all;
    {
        const std::lock_guard lock(queue_mutex_);
        all.swap(queue_);
        queue_size_.store(0, std::memory_order_release);
    }
    for (held_object* h : all) {
        const std::lock_guard lock(shard_of(h->offset).mutex);
        h->queued = false;
    }
    return all;
}

void held_table::requeue(held_object* h) {
    const std::lock_guard lock(shard_of(h->offset).mutex);
    h->queued = true;
    const std::lock_guard queue_lock(queue_mutex_);
    queue_.push_back(h);
    queue_size_.fetch_add(1, std::memory_order_release);
}

std::vector<u64> held_table::all() {
    std::vector<u64> found;
    for (shard& s : shards_) {
        const std::lock_guard lock(s.mutex);
        for (const auto& [offset, h] : s.objects) {
            if (h->strong.load(std::memory_order_acquire) != 0) found.push_back(offset);
        }
    }
    return found;
}

void held_table::close() {
    for (held_object* h : take_queue()) give_up(h);
    for (shard& s : shards_) {
        std::vector<held_object*> unused;
        const std::lock_guard lock(s.mutex);
        while (!s.objects.empty()) {
            held_object* const h = s.objects.begin()->second;
            h->state.store(detail::held::closed, std::memory_order_release);
            h->slot = 0;
            unlink(s, h);
        }
    }
}

}  // namespace hf::nv
