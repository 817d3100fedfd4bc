// The command line of a program that has a discipline of its own: `made_up new FILE N` makes a
// counter at N, without closing it; all else is Holdfast's command line.
#include "made_up/counter.hpp"
#include "made_up/tool.hpp"
#include "tools/holdfast/verb.hpp"

#include <unistd.h>

#include <string>

int main(int argc, char** argv) {
    made_up::register_discipline();
    made_up::register_verbs();
    if (argc != 4 || std::string(argv[1]) != "new") return hf::tool::command_line(argc, argv);
    const auto made = made_up::counter::open(argv[2]);
    if (!made) return made.error().exit_code();
    for (unsigned long i = std::stoul(argv[3]); i != 0; --i) (*made)->add_one();
    ::_exit(0);  // as a killed process would
}
