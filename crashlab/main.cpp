// hf_crash: the crash lab on this house's own targets. See docs/crashlab.md.
#include "crashlab/targets/target.hpp"

#include <holdfast/crashlab/main.hpp>

int main(int argc, char** argv) {
    return hf::lab::command_line(argc, argv, hf::lab::all_targets(), "./dev crash");
}
