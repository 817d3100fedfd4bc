// The crash lab's command line on the hash table of examples/converting. Begin with --budget 10s;
// docs/converting.md says what it looks for.
#include <holdfast/crashlab/main.hpp>

#include "examples/converting/lab/table_targets.hpp"

int main(int argc, char** argv) {
    return hf::lab::command_line(argc, argv, example::table_cases());
}
