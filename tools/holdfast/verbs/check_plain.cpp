// `holdfast check` of plain memory.
#include "plain/machine.hpp"
#include "verbs/other_checks.hpp"
#include "view/output.hpp"

#include <fmt/format.h>

namespace hf::tool {

// Opened for inspection, all of a recovery runs on a private copy: records, the table of slots and
// the lines in them are read as an open for writing would read them.
int check_plain(const std::string& path, bool as_json) {
    plain::machine_options look;
    look.file.mode = open_mode::inspect;
    const auto opened = plain::machine::open(path, look);
    const int code = opened ? 0 : opened.error().exit_code();
    if (as_json) {
        json j{{"file", path}, {"verdict", opened ? "sound" : to_string(opened.error().code)}};
        j["exit_code"] = code;
        j["discipline"] = "plain";
        if (opened) j["bytes"] = (*opened)->memory().size();
        if (!opened) j["error"] = to_json(opened.error());
        say_json(j);
    } else if (opened) {
        say(
            fmt::format("{}: sound: header, records and slots; {} bytes of plain memory, and only "
                        "its program knows what they are\n",
                        path, (*opened)->memory().size()));
    }
    return opened ? 0 : complain(opened.error());
}

}  // namespace hf::tool
