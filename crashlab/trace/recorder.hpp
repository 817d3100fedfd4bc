// trace/recorder.hpp: records the events of a workload.
//
// Two independent sources. Stores come from the compiler's instrumentation (runtime/); flushes,
// fences, streaming copies, entries in dirty lists and announcements come from the persist layer's
// hooks (persist/trace.hpp). A stored line that the second source never reports is a
// finding of the lint (lint/).
//
// Loads are recorded on request (loads::dirty), and then only those of another thread's store that
// is not durable: the first one for each thread and store.
//
// A store is reported before it is executed and without its value, which is read from memory at the
// next event. Nothing else can have changed it: all threads are fibers, and a fiber is switched
// only inside of a hook.
#pragma once

#include "crashlab/runtime/observer.hpp"
#include "crashlab/trace/event.hpp"
#include "crashlab/trace/unsure_stores.hpp"
#include "persist/trace.hpp"

#include <array>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

namespace hf::lab {

/// Which loads become events.
enum class loads : u8 {
    none,
    dirty,  ///< of another thread's store that is not durable; also locks acquired and released
};

/// Points are numbered in the order in which they are first reached.
[[nodiscard]] u64 number_of_point(const char* name);

class recorder final : public observer, public trace_sink {
   public:
    /// Watches [base, base + size) from now on.
    void start(const std::byte* base, u64 size, loads which = loads::none);
    /// As start(), but another observer watches and passes on writes; `touch` notifies it of the
    /// recorder's own writes.
    void start_behind(const std::byte* base, std::function<void(u64 at, u64 size)> touch);
    void stop();
    [[nodiscard]] bool running() const noexcept { return running_; }

    [[nodiscard]] const std::vector<event>& events() const noexcept { return events_; }
    [[nodiscard]] std::vector<event> take() { return std::move(events_); }
    /// Names of points, by number.
    [[nodiscard]] static const std::vector<std::string>& points() noexcept;

    void mark(event_kind kind, u64 value, u64 where = 0);
    void point(const char* name);
    /// An operation begins, or ends with a result.
    void operation(event_kind kind, u64 number, u64 result);
    /// A write by a system call.
    void file_write(u64 at, const std::byte* from, u64 size);

    void reading(u64 at, u64 size, u64 pc, bool acquires) override {
        if (with_loads_) note_loads(at, size, pc, acquires);
    }
    void acquiring(u64 pc) override {
        if (with_loads_) add(event_kind::acquire, 0, 0, pc);
    }
    void releasing(u64 pc) override {
        if (with_loads_) add(event_kind::release, 0, 0, pc);
    }
    void writing(u64 at, u64 size, ordering how, u64 pc) override;
    void flush(const void* line) noexcept override;
    void fence() noexcept override;
    void stream(void* to, const void* from, std::size_t n) noexcept override;
    void noted(const void* p, std::size_t n) noexcept override;
    void announced(u64 epoch) noexcept override;

   private:
    struct pending_store {
        u64 at = 0;
        u64 size = 0;
        u64 pc = 0;
        store_kind how = store_kind::plain;
        u8 thread = 0;
        bool after_barrier = false;
    };

    void commit();
    void add_pieces(const pending_store& s);
    void add(event_kind kind, u64 where, u64 value, u64 pc);
    void push(const event& e);
    void note_loads(u64 at, u64 size, u64 pc, bool acquires);
    [[nodiscard]] bool passed_barrier(u8 thread) noexcept;

    void begin(const std::byte* base);

    std::function<void(u64, u64)> touch_;
    bool running_ = false;
    bool watching_ = false;
    const std::byte* base_ = nullptr;
    pending_store pending_;
    std::array<u64, max_threads> barriers_seen_{};
    std::vector<event> events_;
    bool with_loads_ = false;
    unsure_stores unsure_;
    std::unordered_set<u64> told_;  ///< pairs of a store and a thread that has loaded it
};

}  // namespace hf::lab
