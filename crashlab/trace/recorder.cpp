#include "crashlab/trace/recorder.hpp"

#include "crashlab/schedule/yield.hpp"

#include <algorithm>
#include <unordered_map>

namespace hf::lab {
namespace {

std::vector<std::string>& point_names() {
    static std::vector<std::string> names;
    return names;
}

}  // namespace

u64 number_of_point(const char* name) {
    static std::unordered_map<const char*, u64> numbers;
    const auto known = numbers.find(name);
    if (known != numbers.end()) return known->second;
    auto& names = point_names();
    auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) at = names.insert(at, name);
    const auto number = static_cast<u64>(at - names.begin());
    numbers.emplace(name, number);
    return number;
}

namespace {

u64 caller() { return reinterpret_cast<u64>(__builtin_return_address(0)); }

}  // namespace

std::string_view to_string(event_kind k) noexcept {
    switch (k) {
        case event_kind::store:
            return "store";
        case event_kind::flush:
            return "flush";
        case event_kind::fence:
            return "fence";
        case event_kind::noted:
            return "noted";
        case event_kind::begin:
            return "begin";
        case event_kind::end:
            return "end";
        case event_kind::announced:
            return "announced";
        case event_kind::point:
            return "point";
        case event_kind::length:
            return "length";
        case event_kind::link:
            return "link";
        case event_kind::sync:
            return "sync";
        case event_kind::sync_name:
            return "sync name";
        case event_kind::load:
            return "load";
        case event_kind::acquire:
            return "acquire";
        case event_kind::release:
            return "release";
        case event_kind::killed:
            return "killed";
    }
    return "unknown";
}

const std::vector<std::string>& recorder::points() noexcept { return point_names(); }

void recorder::start(const std::byte* base, u64 size, loads which) {
    with_loads_ = which == loads::dirty;
    begin(base);
    watching_ = true;
    watch_for(this, base, size);
}

void recorder::start_behind(const std::byte* base, std::function<void(u64, u64)> touch) {
    touch_ = std::move(touch);
    begin(base);
}

void recorder::begin(const std::byte* base) {
    base_ = base;
    running_ = true;
    pending_.size = 0;
    std::copy_n(the_watch.barriers, max_threads, barriers_seen_.begin());
    trace::sink = this;
}

void recorder::stop() {
    commit();
    running_ = false;
    trace::sink = nullptr;
    if (watching_) watch_for(nullptr, nullptr, 0);
    watching_ = false;
}

void recorder::push(const event& e) {
    if (with_loads_) unsure_.take(e, static_cast<u32>(events_.size()));
    events_.push_back(e);
}

void recorder::note_loads(u64 at, u64 size, u64 pc, bool acquires) {
    commit();
    unsure_.each_in(at, size, [&](u64 where, u64 bytes, u32 store) {
        if (events_[store].thread == running_fiber) return;
        // The first of each kind: a repeated load with acquire order is meant to be used.
        const u64 who = (store * u64{max_threads} + running_fiber) * 2 + (acquires ? 1 : 0);
        if (!told_.insert(who).second) return;
        event e;
        e.where = where;
        e.value = store;
        e.pc = pc;
        e.kind = event_kind::load;
        e.acquires = acquires;
        e.size = static_cast<u8>(bytes);
        e.thread = running_fiber;
        events_.push_back(e);
    });
}

bool recorder::passed_barrier(u8 thread) noexcept {
    const u64 now = the_watch.barriers[thread];
    const bool passed = barriers_seen_[thread] != now;
    barriers_seen_[thread] = now;
    return passed;
}

void recorder::writing(u64 at, u64 size, ordering how, u64 pc) {
    commit();
    const bool wide = size > 8 || at % 8 + size > 8;
    const store_kind kind = wide                       ? store_kind::piece
                            : how == ordering::plain   ? store_kind::plain
                            : how == ordering::relaxed ? store_kind::relaxed
                                                       : store_kind::release;
    pending_ = {at, size, pc, kind, running_fiber, passed_barrier(running_fiber)};
}

void recorder::commit() {
    if (pending_.size == 0) return;
    const pending_store s = pending_;
    pending_.size = 0;
    add_pieces(s);
}

void recorder::add_pieces(const pending_store& s) {
    bool first = true;
    for (u64 at = s.at; at < s.at + s.size;) {
        const u64 size = std::min(s.at + s.size, align_down(at, 8) + 8) - at;
        event e;
        e.where = at;
        e.pc = s.pc;
        e.kind = event_kind::store;
        e.size = static_cast<u8>(size);
        e.how = s.how;
        e.thread = s.thread;
        e.after_barrier = first && s.after_barrier;
        unseen_copy(&e.value, base_ + offset_of(at), size);
        push(e);
        at += size;
        first = false;
    }
}

void recorder::add(event_kind kind, u64 where, u64 value, u64 pc) {
    if (!running_) return;
    commit();
    event e;
    e.where = where;
    e.value = value;
    e.pc = pc;
    e.kind = kind;
    e.thread = running_fiber;
    push(e);
}

void recorder::mark(event_kind kind, u64 value, u64 where) {
    // For a system call the place would be in the lab itself.
    add(kind, where, value, 0);
}

void recorder::operation(event_kind kind, u64 number, u64 result) {
    add(kind, result, number, caller());
}

void recorder::announced(u64 epoch) noexcept { add(event_kind::announced, 0, epoch, caller()); }

void recorder::point(const char* name) {
    add(event_kind::point, 0, number_of_point(name), caller());
}

void recorder::file_write(u64 at, const std::byte* from, u64 size) {
    commit();
    unseen_copy(const_cast<std::byte*>(base_) + offset_of(at), from, size);
    add_pieces({at, size, caller(), store_kind::file, running_fiber, true});
}

void recorder::flush(const void* line) noexcept {
    yield(true);
    ++the_watch.barriers[running_fiber];
    const u64 at = place_of(reinterpret_cast<u64>(line) - reinterpret_cast<u64>(base_));
    add(event_kind::flush, align_down(at, line_size), 0, caller());
}

void recorder::fence() noexcept {
    yield(true);
    ++the_watch.barriers[running_fiber];
    add(event_kind::fence, 0, 0, caller());
}

void recorder::stream(void* to, const void* from, std::size_t n) noexcept {
    if (n == 0) return;
    commit();
    const u64 at = place_of(reinterpret_cast<u64>(to) - reinterpret_cast<u64>(base_));
    if (touch_) touch_(at, n);
    unseen_copy(to, from, n);
    add_pieces({at, n, caller(), store_kind::stream, running_fiber, true});
}

void recorder::noted(const void* p, std::size_t n) noexcept {
    const u64 at = place_of(reinterpret_cast<u64>(p) - reinterpret_cast<u64>(base_));
    add(event_kind::noted, at, n, caller());
}

}  // namespace hf::lab
