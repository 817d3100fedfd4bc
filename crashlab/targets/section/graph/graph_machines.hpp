// targets/section/graph/graph_machines.hpp: the two ways to graph mode that small programs run on
// in the lab: the library by itself (section/graph), and a group of regions, as the section runtime
// opens it.
//
// The group brings its table, its heap and its epoch record with it, and recovery is
// section::group::open(), unchanged. The variables lie in a block of the heap, and the heap must
// have no other after a crash.
#pragma once

#include "base/bits.hpp"
#include "section/graph/lock_table.hpp"

#include <memory>

namespace hf::lab {

inline constexpr unsigned graph_threads = 3;

class graph_machine {
   public:
    graph_machine() = default;
    graph_machine(const graph_machine&) = delete;
    graph_machine& operator=(const graph_machine&) = delete;
    virtual ~graph_machine() = default;

    /// Of thread t < graph_threads, around its outermost sections.
    virtual void begin(unsigned t) = 0;
    virtual void end(unsigned t) = 0;
    virtual void acquired(unsigned t, const void* object, graph::access how) = 0;
    virtual void releasing(unsigned t, const void* object, graph::access how) = 0;
    virtual void store(unsigned t, unsigned variable, u64 value) = 0;
    virtual void step() = 0;
    /// Throws violation if it cannot be stable.
    virtual void wait_stable(unsigned t) = 0;
    [[nodiscard]] virtual u64 variable(unsigned n) const = 0;
    /// Throws violation if what is beside the variables is damaged.
    virtual void audit() const {}
    /// The session ends without an end.
    virtual void crash() = 0;
};

/// Opens the lab's file, which recovers. Throws violation.
[[nodiscard]] std::unique_ptr<graph_machine> open_graph_library();
[[nodiscard]] std::unique_ptr<graph_machine> open_graph_group();
/// A file that epoch mode has made and closed in order.
void make_closed_epoch_group();

}  // namespace hf::lab
