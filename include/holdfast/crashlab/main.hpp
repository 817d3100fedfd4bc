// holdfast/crashlab/main.hpp: the crash lab's command line, for a user's own program:
//
//     int main(int argc, char** argv) {
//         return hf::lab::command_line(argc, argv, {my_target()});
//     }
//
// The program then explores, minimises, replays, draws timelines and writes reports; --help lists
// all of it, docs/crashlab.md explains it.
#pragma once

#include <holdfast/crashlab/target.hpp>

#include <vector>

namespace hf::lab {

/// Exit status: 0 nothing found, 1 a violation, 2 bad arguments, 4 a persist point missed.
/// `as`: the program's name in the printed commands that repeat a finding; nullptr: argv[0].
[[nodiscard]] int command_line(int argc, char** argv, std::vector<target_description> targets,
                               const char* as = nullptr);

}  // namespace hf::lab
