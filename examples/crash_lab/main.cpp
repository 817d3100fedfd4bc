// Explores one's own structures with the lab's command line: those of examples/checkpoint. Start
// with --budget 10s; see docs/crashlab.md.
#include <holdfast/crashlab/main.hpp>

#include "examples/crash_lab/structure_targets.hpp"

int main(int argc, char** argv) {
    return hf::lab::command_line(argc, argv, example::structure_cases());
}
