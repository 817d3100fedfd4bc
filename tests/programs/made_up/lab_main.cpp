// The crash lab with the counter as its only target.
#include <holdfast/crashlab/main.hpp>

#include "made_up/counter.hpp"
#include "made_up/lab_target.hpp"

int main(int argc, char** argv) {
    made_up::register_discipline();
    return hf::lab::command_line(argc, argv, {made_up::counter_case()});
}
