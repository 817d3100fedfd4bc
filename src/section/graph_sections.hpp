// section/graph_sections.hpp: the sections of a group in graph mode, by the runtime's threads.
//
// Purpose. The second mode of a group: sections are logged and ordered by happens-before
// (section/graph), and no cut is made. The runtime calls this class where it would otherwise enter
// or leave the gate for a section, touch a line, or take and give back a lock:
//
//     runtime                       epoch mode            graph mode (here)
//     outermost section begins      the gate              the gate, then begin()
//     store is announced            undo by line          touch(): the old bytes into the log
//     lock taken, lock given        nothing               acquired(), releasing()
//     create, join, post, wait      nothing               releasing(), acquired()
//     outermost section ends        the gate              end(), then the gate
//     durable                       the next cut          once all that it depends on has ended
//
// Each thread record has one lane of the graph, by its number. A record that passes from a thread
// that has ended to a new one hands its lane on; so the new thread's sections depend on the old
// one's, which is more than happens-before asks for, and safe.
//
// The runtime's own locks (the heap's, the table's of regions) order sections like locks of the
// program: a section whose block was freed by another one cannot be kept without it
// (ordered_guard in change.hpp).
//
// Memory. Unlike epoch mode, graph mode allocates with malloc. A program that replaces malloc by
// one with pthread locks names these with hf_not_a_consistency_lock().
//
// Concurrency. Any thread, with its own record. All calls are made inside the runtime.
#pragma once

#include "section/graph/graph.hpp"
#include "section/threads.hpp"

#include <memory>

namespace hf::section {

class graph_sections {
   public:
    /// Undoes what a crash left, and begins a session. errc::medium: the file is on a disk.
    [[nodiscard]] static result<std::unique_ptr<graph_sections>> open(
        region& file, const graph::graph_options& options);
    graph_sections(const graph_sections&) = delete;
    graph_sections& operator=(const graph_sections&) = delete;

    /// Around an outermost section. begin() waits while the thread's log is half full.
    void begin(const thread_record& r);
    [[nodiscard]] bool try_begin(const thread_record& r);
    void end(const thread_record& r);
    /// Before a store of n bytes, inside a section or not.
    void touch(const thread_record& r, const void* p, u64 n);
    /// After `object` was acquired; before it is released.
    void acquired(const thread_record& r, const void* object, graph::access how);
    void releasing(const thread_record& r, const void* object, graph::access how);
    void destroyed(const void* object);

    /// Waits until all that the thread has done is kept. errc::busy: a section that it depends on
    /// does not end.
    [[nodiscard]] result<void> wait_stable(const thread_record& r, std::chrono::milliseconds limit);
    /// The number of the thread's newest section, and of its newest one that is kept.
    [[nodiscard]] u64 ticket(const thread_record& r);
    [[nodiscard]] u64 kept(const thread_record& r);
    /// Keeps what can be kept. Whether no section that has ended is left over.
    bool step();

    [[nodiscard]] graph::graph_statistics stats() const { return mode_->stats(); }
    [[nodiscard]] const graph::graph_recovery& recovery() const noexcept {
        return mode_->recovery();
    }

   private:
    explicit graph_sections(std::unique_ptr<graph::graph_mode> mode) : mode_(std::move(mode)) {}
    [[nodiscard]] graph::lane_state& lane(const thread_record& r);

    std::unique_ptr<graph::graph_mode> mode_;
};

}  // namespace hf::section
