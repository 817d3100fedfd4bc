// section_graph/program_runner.hpp: runs a program's steps, in their order, on a region in graph
// mode, and reads what recovery makes of a copy of the region.
#pragma once

#include "crashlab/litmus/allowed_states.hpp"
#include "section/graph/graph.hpp"
#include "support/scratch.hpp"

namespace hf::test {

using litmus::action;
using litmus::max_objects;
using litmus::max_variables;
using litmus::step;
using litmus::values;

class program_runner {
   public:
    explicit program_runner(const std::filesystem::path& file,
                            const graph::graph_options& options = default_options());
    ~program_runner();
    program_runner(const program_runner&) = delete;
    program_runner& operator=(const program_runner&) = delete;

    /// No manager's thread; a ring of 64 KiB.
    [[nodiscard]] static graph::graph_options default_options();

    void take(const step& s);
    /// The variables as recovery leaves them if the process ended now.
    [[nodiscard]] values after_crash();

    [[nodiscard]] graph::graph_mode& mode() noexcept { return *mode_; }
    [[nodiscard]] graph::lane_state& lane(unsigned thread);
    [[nodiscard]] region& file() noexcept { return *region_; }
    [[nodiscard]] u64* variable(unsigned number) noexcept;

   private:
    void lock(const step& s, graph::access how);
    void unlock(const step& s, graph::access how);

    std::filesystem::path path_;
    std::unique_ptr<region> region_;
    std::unique_ptr<graph::graph_mode> mode_;
    std::array<unsigned, 4> held_{};
    std::array<char, max_objects> locks_{};  ///< their addresses are the objects
    std::array<char, max_objects> semaphores_{};
};

}  // namespace hf::test
