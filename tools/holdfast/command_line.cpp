// The command line: its verbs, and what all of them share.
#include "verb.hpp"
#include "view/output.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <exception>
#include <string>
#include <vector>

namespace {

using words = std::vector<std::string>;

constexpr const char* about =
    "Keeps data structures across crashes, at memory speed. A region is a file that is mapped "
    "into\n"
    "memory; a crash restores the end of the last completed epoch.";

constexpr const char* exit_codes =
    "Exit codes:\n"
    "  0 done    1 violations found         2 bad arguments     3 no such file   4 unsafe file\n"
    "  5 busy    6 corrupt                  7 other version     8 no space       9 no permission\n"
    "  10 unsuitable file system            11 other system error                12 too large\n"
    "`holdfast VERB --help` describes a verb, holdfast(1) and docs/cli.md all of them.";

bool is_verb(const CLI::App& app, const std::string& word) {
    const auto verbs = app.get_subcommands([](const CLI::App*) { return true; });
    return std::any_of(verbs.begin(), verbs.end(),
                       [&](const CLI::App* verb) { return verb->check_name(word); });
}

/// Users try `help`, `help VERB` and `VERB help` first. For a file of that name, use
/// ./help.
words with_help_as_option(const CLI::App& app, words given) {
    if (given.size() == 2 && given[1] == "help" && is_verb(app, given[0])) {
        given[1] = "--help";
    } else if (!given.empty() && given[0] == "help") {
        std::erase(given, "help");
        given.emplace_back("--help");
    }
    return given;
}

/// `run [OPTION...] -- PROGRAM ...` without the separator: for CLI11 it would end the verb.
/// A separator after PROGRAM belongs to it.
words without_separator(const CLI::App& app, words given) {
    if (given.empty() || given[0] != "run") return given;
    const CLI::App* const run = app.get_subcommand("run");
    for (auto word = given.begin() + 1; word != given.end() && word->starts_with('-'); ++word) {
        if (*word == "--") {
            given.erase(word);
            break;
        }
        const CLI::Option* const option = run->get_option_no_throw(*word);
        const bool has_value = option != nullptr && option->get_items_expected_min() > 0;
        if (has_value && ++word == given.end()) break;
    }
    return given;
}

/// Detects errors before parsing; "": none.
std::string what_is_wrong_at_first_sight(const CLI::App& app, const words& given) {
    if (given.empty()) return "no verb was given";
    if (given[0].starts_with('-') || is_verb(app, given[0])) return "";
    return "there is no verb '" + hf::tool::printable(given[0]) + "'";
}

int refuse(const std::string& why, const std::string& verb) {
    return hf::tool::complain({hf::errc::usage, "understand the arguments", "", why,
                               "see `holdfast" + verb + " --help`"});
}

int parse_and_run(const words& arguments) {
    CLI::App app(about, "holdfast");
    app.require_subcommand(1);
    app.set_help_flag("-h,--help", "Print this help and exit");
    app.set_version_flag("-V,--version", "holdfast " HF_VERSION, "Print the version and exit");
    app.footer(exit_codes);
    hf::tool::action chosen;
    hf::tool::add_serve(app, chosen);
    hf::tool::add_info(app, chosen);
    hf::tool::add_check(app, chosen);
    hf::tool::add_inspect(app, chosen);
    hf::tool::add_repair(app, chosen);
    hf::tool::add_copy(app, chosen);
    hf::tool::add_compact(app, chosen);
    hf::tool::add_dump(app, chosen);
    hf::tool::add_load(app, chosen);
    hf::tool::add_doctor(app, chosen);
    hf::tool::add_run(app, chosen);
    hf::tool::add_bench(app, chosen);
    for (CLI::App* verb : app.get_subcommands({})) {
        verb->set_version_flag("-V,--version", "holdfast " HF_VERSION,
                               "Print the version and exit");
    }
    const words given = without_separator(app, with_help_as_option(app, arguments));
    if (const std::string why = what_is_wrong_at_first_sight(app, given); !why.empty()) {
        return refuse(why, "");
    }
    try {
        app.parse(words(given.rbegin(), given.rend()));  // CLI11 expects them in reverse order
    } catch (const CLI::Success& wanted) {               // help, version
        return app.exit(wanted);
    } catch (const CLI::ParseError& e) {
        const auto verbs = app.get_subcommands();
        return refuse(e.what(), verbs.empty() ? "" : " " + verbs.front()->get_name());
    }
    return chosen();
}

}  // namespace

namespace hf::tool {

int command_line(int argc, char** argv) {
    try {
        return end(parse_and_run(words(argv + std::min(argc, 1), argv + argc)));
    } catch (const std::exception& e) {  // out of memory, or no thread could be started
        return complain({errc::io, "go on", "", e.what(), "see the reason"});
    }
}

}  // namespace hf::tool
