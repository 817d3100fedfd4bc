// The crash lab's command line for the hash table of examples/converting. Start with --budget 10s;
// see docs/converting.md.
#include <holdfast/crashlab/main.hpp>

#include "examples/converting/lab/table_targets.hpp"

int main(int argc, char** argv) {
    return hf::lab::command_line(argc, argv, example::table_cases());
}
