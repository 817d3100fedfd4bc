// How to explore structures of one's own: all of the lab's command line, on those of
// examples/checkpoint and examples/converting. Begin with --budget 10s; docs/crashlab.md explains what goes on.
#include <holdfast/crashlab/main.hpp>

#include "examples/crash_lab/structure_targets.hpp"
#include "examples/crash_lab/table_targets.hpp"

int main(int argc, char** argv) {
    auto cases = example::structure_cases();
    for (auto& one : example::table_cases()) cases.push_back(std::move(one));
    return hf::lab::command_line(argc, argv, std::move(cases));
}
