// section/runtime.hpp: the sections of this process: one gate, one group, one thread that cuts.
//
// Purpose. The faces (section_c.cpp, locks/) call this class and nothing else. It lives as long as
// the process, so that locks may be taken before the group is opened, after it is closed, and by
// destructors at exit.
//
// States. none --open()--> open --close()--> none. `is_open()` is the one word that a lock of a
// program without a group reads.
//
// Concurrency. enter() and leave() by any thread; open() and close() by one, outside of sections.
// Lock order: cut_mutex, gate (closed), held output, the rooms below.
#pragma once

#include <holdfast/section.h>
#include <holdfast/section_hooks.h>

#include "section/cutter.hpp"
#include "section/gate.hpp"
#include "section/group.hpp"
#include "section/held_output.hpp"
#include "section/huge_growth.hpp"
#include "section/inside_runtime.hpp"
#include "section/touched.hpp"

#include <pthread.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace hf::section {

/// The object whose release is a thread's end in graph mode.
[[nodiscard]] inline const void* thread_object(pthread_t thread) noexcept {
    return reinterpret_cast<const void*>(thread);  // NOLINT(performance-no-int-to-ptr)
}

class runtime {
   public:
    /// The one of this process. Never destroyed.
    [[nodiscard]] static runtime& get() noexcept {
        if (runtime* const r = the_runtime.load(std::memory_order_acquire)) [[likely]]
            return *r;
        return make();
    }

    /// Makes the key whose destructor tells that a thread ends. Called before main().
    static void make_key() noexcept;
    [[nodiscard]] static pthread_key_t end_of_thread_key() noexcept { return thread_key; }

    [[nodiscard]] result<void> open(const std::filesystem::path& path,
                                    const hf_group_options& options);
    [[nodiscard]] result<void> close();
    /// Whether sections count. Not in a child of fork().
    [[nodiscard]] static bool is_open() noexcept {
        return is_in_use.load(std::memory_order_acquire);
    }

    /// Whether a group is open in epoch mode, and not audited: the fast paths ask.
    [[nodiscard]] static bool is_in_epoch_mode() noexcept {
        return epoch_mode.load(std::memory_order_acquire);
    }

    // --- sections, by a thread that is not inside the runtime ---
    [[nodiscard]] thread_record& me() noexcept {
        if (thread_record* r = detail::my_record) [[likely]]
            return *r;
        return bind();
    }
    /// One level deeper; the outermost level passes the gate. `site`: for diagnosis.
    void enter(thread_record& r, const void* site) noexcept {
        if (r.depth != 0) {
            ++r.depth;
            return;
        }
        const at_the_gate entering;
        gate_.enter(r, site);
        r.depth = 1;
        note_section(r);
        if (graph_sections* const g = graph()) [[unlikely]]
            g->begin(r);
    }
    /// As enter(), but never waits. False: the gate is closed, or in graph mode the thread's log is
    /// half full; nothing has changed.
    [[nodiscard]] bool try_enter(thread_record& r, const void* site) noexcept {
        if (r.depth != 0) {
            ++r.depth;
            return true;
        }
        const at_the_gate entering;
        if (!gate_.try_enter(r, site)) [[unlikely]]
            return false;
        graph_sections* const g = graph();
        if (g != nullptr && !g->try_begin(r)) [[unlikely]] {
            gate::leave(r);
            return false;
        }
        note_section(r);
        r.depth = 1;
        return true;
    }
    static void leave(thread_record& r) noexcept {
        HF_ASSERT(r.depth != 0, "a section ends that has not begun");
        if (--r.depth == 0) {
            if (graph_sections* const g = graph()) [[unlikely]]
                g->end(r);
            gate::leave(r);
        }
    }
    static void note_section(thread_record& r) noexcept {
        r.entered.store(r.entered.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    void wait_open() noexcept { gate_.wait_open(); }

    // --- graph mode: happens-before. Nothing is done in epoch mode ---
    [[nodiscard]] static bool has_graph() noexcept { return graph() != nullptr; }
    [[nodiscard]] static graph_sections* graph() noexcept {
        return open_graph.load(std::memory_order_acquire);
    }
    /// After the thread has acquired a lock or another object, before it releases one. Inside a
    /// section or outside.
    static void acquired(const thread_record& r, const void* object, graph::access how) noexcept {
        if (graph_sections* const g = graph()) [[unlikely]]
            g->acquired(r, object, how);
    }
    static void releasing(const thread_record& r, const void* object, graph::access how) noexcept {
        if (graph_sections* const g = graph()) [[unlikely]]
            g->releasing(r, object, how);
    }
    static void destroyed(const void* object) noexcept {
        if (graph_sections* const g = graph()) g->destroyed(object);
    }

    /// A store was announced by the program (report_silence() in runtime.cpp).
    static void note_announcement() noexcept {
        if (has_announced.load(std::memory_order_relaxed)) [[likely]]
            return;
        has_announced.store(true, std::memory_order_relaxed);
    }
    /// Before a store to [p, p + n) of the group, by a thread that is inside.
    void touch(thread_record& r, const void* p, std::size_t n) noexcept(!crashes_throw) {
        if (first_touch* const undo = undo_) return undo->touch(r, p, n, group_->epoch());
        if (graph_sections* const g = graph()) g->touch(r, p, n);
    }

    // --- cuts ---
    /// Tries once, now, within that time-out. By a thread that is outside.
    [[nodiscard]] cut_outcome try_cut(u64 patience_ns);
    [[nodiscard]] result<void> wait_stable();
    [[nodiscard]] u64 ticket();
    [[nodiscard]] u64 durable();
    [[nodiscard]] group& opened() noexcept { return *group_; }
    [[nodiscard]] hf_section_numbers numbers() noexcept;
    /// Clears maxima and quantiles of pauses.
    void restart_numbers() noexcept;
    [[nodiscard]] thread_table& threads() noexcept { return threads_; }
    [[nodiscard]] u64 patience_ns() const noexcept { return patience_ns_; }
    /// Guards the table of regions and their roots. Taken inside the gate, for a few stores.
    [[nodiscard]] spin_lock& table_lock() noexcept { return table_lock_; }
    [[nodiscard]] bool created() const noexcept { return created_; }
    [[nodiscard]] bool recovered() const noexcept { return recovered_; }

    // --- output that is held until it is stable (held_output.hpp) ---
    /// Whether the program's own writes are held.
    [[nodiscard]] static bool holds_output() noexcept {
        return is_holding.load(std::memory_order_acquire);
    }
    /// As held_output::hold(), with what the calling thread has done so far. A signal handler may
    /// call it, if the writer runs.
    [[nodiscard]] ssize_t hold(int fd, const held_output::message& m);
    [[nodiscard]] result<void> flush_output();
    [[nodiscard]] held_output& output() noexcept { return output_; }

   private:
    runtime();
    [[nodiscard]] static runtime& make() noexcept;
    [[gnu::noinline]] thread_record& bind() noexcept;
    static void thread_ends(void* record) noexcept;
    static void process_ends() noexcept;
    static void fork_begins() noexcept;
    static void parent_goes_on() noexcept;
    static void child_begins() noexcept;
    void start_holding(const hf_group_options& options);
    [[nodiscard]] ssize_t hold_in_handler(int fd, const held_output::message& m);
    void end_holding(bool is_all_stable);
    void finish_output();
    [[nodiscard]] bool needs_cut() noexcept;
    /// Until a cut can be made without waiting for the disk. errc::no_space: the disk refuses.
    [[nodiscard]] result<void> wait_for_disk();
    [[nodiscard]] result<void> last_cut();
    void start_cutting(const hf_group_options& options);
    [[nodiscard]] u64 sections_begun() const noexcept;
    static void add_graph_numbers(hf_section_numbers& n) noexcept;
    void report_silence() noexcept;
    void note_attempt(const gate::attempt& a, bool cut) noexcept;

    static inline pthread_key_t thread_key{};
    static inline bool has_key = false;
    static inline std::atomic<bool> is_in_use{false};
    static inline std::atomic<bool> epoch_mode{false};  ///< is_in_use, no graph, not audited
    static inline std::atomic<bool> is_holding{false};
    static inline std::atomic<bool> has_announced{false};
    static inline constinit std::atomic<runtime*> the_runtime{nullptr};
    /// nullptr: epoch mode. Changes while no thread is inside and is_in_use is false.
    static inline std::atomic<graph_sections*> open_graph{nullptr};

    thread_table threads_;
    gate gate_;
    std::unique_ptr<group> group_;
    first_touch* undo_ = nullptr;
    spin_lock table_lock_;
    u64 patience_ns_ = 0;
    bool created_ = false;
    bool recovered_ = false;

    std::mutex cut_mutex_;  ///< the leader's (S2)
    cutter cutter_;
    cut_numbers numbers_;
    held_output output_;
    huge_growth growth_;
    std::atomic<u64> sections_at_cut_{0};
    u64 sections_at_open_ = 0;
    // The section that the last failed attempts waited for; the leader's.
    const thread_record* blocker_ = nullptr;
    u64 blocking_section_ = 0;
    u64 blocked_since_ns_ = 0;
};

}  // namespace hf::section
