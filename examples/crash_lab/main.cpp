// How to explore a structure of one's own: all of the lab's command line, on the queue. Begin with
// --budget 10s; docs/crashlab.md explains what goes on.
#include "queue_target.hpp"

#include <holdfast/crashlab/main.hpp>

int main(int argc, char** argv) {
    return hf::lab::command_line(argc, argv, {example::queue_case()});
}
