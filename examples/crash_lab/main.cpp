// How to explore structures of one's own: all of the lab's command line, on those of
// examples/checkpoint. Begin with --budget 10s; docs/crashlab.md explains what goes on.
#include <holdfast/crashlab/main.hpp>

#include "examples/crash_lab/structure_targets.hpp"

int main(int argc, char** argv) {
    return hf::lab::command_line(argc, argv, example::structure_cases());
}
