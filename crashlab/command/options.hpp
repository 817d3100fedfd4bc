// command/options.hpp: command-line options of a program of the lab.
#pragma once

#include "crashlab/model/crash_model.hpp"
#include "crashlab/targets/target.hpp"

#include <string>
#include <vector>

namespace hf::lab {

struct arguments {
    std::string program;  ///< the command by which a user starts it
    std::vector<target_description> all;

    std::vector<std::string> targets{"all"};
    std::string room;
    std::string budget;
    u64 rounds = 0;
    u64 seed = 1;
    u64 schedules = 40;
    std::string model = "pcso";
    std::string replay;
    std::string trace;
    std::string json;
    std::string html;
    std::string svg;
    bool list = false;
    bool lint = false;
    bool brief = false;

    [[nodiscard]] persistence mode() const;
    /// The budget in seconds; 0: none was given, negative: invalid.
    [[nodiscard]] double seconds() const;
    [[nodiscard]] std::vector<const target_description*> chosen() const;
};

/// The program's exit status.
enum class outcome : u8 {
    clean = 0,
    violation = 1,
    bad_arguments = 2,
    points_missed = 4,
};

}  // namespace hf::lab
