// hf_crash: the crash lab with this project's own targets. See docs/crashlab.md.
#include <holdfast/crashlab/main.hpp>

#include "crashlab/targets/target.hpp"

int main(int argc, char** argv) {
    return hf::lab::command_line(argc, argv, hf::lab::all_targets(), "./dev crash");
}
