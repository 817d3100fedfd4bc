// holdfast: serves, inspects, checks, copies and measures regions. See docs/cli.md.
#include "output.hpp"
#include "verb.hpp"

#include <CLI/CLI.hpp>

#include <exception>
#include <string>

namespace {

constexpr const char* about =
    "Keeps data structures across crashes, at memory speed. A region is a file that is mapped "
    "into\n"
    "memory; after a crash it is there again as at the end of the last completed epoch.";

constexpr const char* exit_codes =
    "Exit codes:\n"
    "  0 done    1 violations found         2 bad arguments     3 no such file   4 unsafe file\n"
    "  5 busy    6 corrupt                  7 other version     8 no space       9 no permission\n"
    "  10 unsuitable file system            11 other system error                12 too large\n"
    "`holdfast VERB --help` tells about a verb, holdfast(1) and docs/cli.md about everything.";

int run(int argc, char** argv) {
    CLI::App app(about, "holdfast");
    app.require_subcommand(1);
    app.set_help_flag("-h,--help", "Print this help and exit");
    app.set_version_flag("-V,--version", "holdfast " HF_VERSION, "Print the version and exit");
    app.footer(exit_codes);
    hf::tool::action chosen;
    hf::tool::add_serve(app, chosen);
    hf::tool::add_info(app, chosen);
    hf::tool::add_check(app, chosen);
    hf::tool::add_copy(app, chosen);
    hf::tool::add_dump(app, chosen);
    hf::tool::add_load(app, chosen);
    hf::tool::add_doctor(app, chosen);
    hf::tool::add_bench(app, chosen);
    for (CLI::App* verb : app.get_subcommands({})) {
        verb->set_version_flag("-V,--version", "holdfast " HF_VERSION,
                               "Print the version and exit");
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& wanted) {  // help, version
        return app.exit(wanted);
    } catch (const CLI::ParseError& e) {
        const auto verbs = app.get_subcommands();
        const std::string verb = verbs.empty() ? "" : " " + verbs.front()->get_name();
        const std::string why = verbs.empty() && argc < 2 ? "no verb was given" : e.what();
        return hf::tool::complain({hf::errc::usage, "understand the arguments", "", why,
                                   "see `holdfast" + verb + " --help`"});
    }
    return chosen();
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& e) {  // memory has run out, or a thread could not be started
        return hf::tool::complain({hf::errc::io, "go on", "", e.what(), "see the reason"});
    }
}
