// `holdfast run`: runs a program with the runtime of failure-atomic sections loaded before it.
#include "option_checks.hpp"
#include "section/environment.hpp"
#include "verb.hpp"
#include "view/output.hpp"

#include <CLI/CLI.hpp>

#include <elf.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace hf::tool {

namespace {

namespace fs = std::filesystem;

constexpr const char* library_name = "libholdfast_section.so";

struct run_arguments {
    std::string file;
    std::string library;
    std::string stores = "pages";
    std::uint64_t period_ms = 0;
    bool report = false;
    bool hold_output = false;
};

/// Beside this program as installed, or in its build tree. "": it is nowhere.
std::string find_library() {
    std::error_code ignored;
    const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    for (const char* const from :
         {"../lib", "../lib/x86_64-linux-gnu", "../lib64", "../../src/section"}) {
        const fs::path candidate = here / from / library_name;
        if (fs::exists(candidate, ignored)) return fs::weakly_canonical(candidate, ignored);
    }
    return "";
}

/// As a shell finds it. "": it is nowhere.
std::string find_program(const std::string& name) {
    if (name.find('/') != std::string::npos) return fs::exists(name) ? name : "";
    const char* const path = std::getenv("PATH");
    std::stringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
        const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
        if (::access(candidate.c_str(), X_OK) == 0 && !fs::is_directory(candidate)) {
            return candidate;
        }
    }
    return "";
}

/// Whether it is an ELF program without a dynamic loader: nothing can be loaded into it.
bool is_static(const std::string& program) {
    std::ifstream in(program, std::ios::binary);
    Elf64_Ehdr head{};
    if (!in.read(reinterpret_cast<char*>(&head), sizeof head)) return false;
    if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64) {
        return false;
    }
    in.seekg(static_cast<std::streamoff>(head.e_phoff));
    for (unsigned i = 0; i < head.e_phnum; ++i) {
        Elf64_Phdr part{};
        if (!in.read(reinterpret_cast<char*>(&part), sizeof part)) return false;
        if (part.p_type == PT_INTERP) return false;
    }
    return true;
}

void set(const char* variable, const std::string& value) {
    if (!value.empty()) ::setenv(variable, value.c_str(), 1);
}

void prepare_environment(const run_arguments& a, const std::string& library) {
    const char* const others = std::getenv("LD_PRELOAD");
    const bool has_others = others != nullptr && *others != '\0';
    set("LD_PRELOAD", has_others ? library + ":" + others : library);
    if (!a.file.empty()) set(section::file_variable, fs::absolute(a.file).string());
    set(section::stores_variable, a.stores);
    if (a.period_ms != 0) set(section::period_variable, std::to_string(a.period_ms));
    if (a.report) set(section::report_variable, "1");
    if (a.hold_output) set(section::hold_variable, "1");
}

error error_of(errc code, const std::string& where, std::string why, std::string next) {
    return {code, "run the program", where, std::move(why), std::move(next)};
}

int run(const run_arguments& a, const std::vector<std::string>& words) {
    if (words.empty() || words[0].empty()) {
        return complain({errc::usage, "understand the arguments", "", "no program was given",
                         "see `holdfast run --help`"});
    }
    if (words[0].starts_with('-')) {
        return complain({errc::usage, "understand the arguments", "",
                         "there is no option " + printable(words[0]), "see `holdfast run --help`"});
    }
    const std::string library = a.library.empty() ? find_library() : a.library;
    if (library.empty() || ::access(library.c_str(), R_OK) != 0) {
        return complain(error_of(errc::not_found, library.empty() ? library_name : library,
                                 "the runtime's library cannot be read",
                                 "install Holdfast, or name the library with --library"));
    }
    const std::string program = find_program(words[0]);
    if (program.empty()) {
        return complain(error_of(errc::not_found, words[0], "there is no such program",
                                 "check its name and PATH"));
    }
    if (is_static(program)) {
        return complain(error_of(errc::usage, program,
                                 "it is statically linked: no library can be loaded before it, so "
                                 "its locks would not be seen",
                                 "link it dynamically, or with the runtime itself"));
    }
    prepare_environment(a, fs::absolute(library).string());
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execv(program.c_str(), argv.data());
    const int why = errno;
    return complain(error_of(why == EACCES ? errc::denied : errc::io, program, std::strerror(why),
                             "see the reason"));
}

constexpr const char* remarks =
    "PROGRAM opens its group of regions itself (hf_group_open); it need not be compiled with the\n"
    "plugin, nor linked with the runtime's locks. Its locks are found because the runtime is\n"
    "loaded before all other libraries, its stores by pages. Programs that it starts inherit "
    "both,\n"
    "and a second one that opens the same file is refused as busy.\n\n"
    "The exit code is PROGRAM's. If it cannot be started, it is one of the codes of `holdfast\n"
    "--help`: 3 no such program or library, 9 not executable, 2 statically linked.\n\n"
    "Example:\n"
    "  holdfast run --file data/counts.hf ./my_program";

}  // namespace

void add_run(CLI::App& app, action& chosen) {
    auto a = std::make_shared<run_arguments>();
    CLI::App* const verb =
        app.add_subcommand("run", "Runs PROGRAM [ARGUMENT...] with failure-atomic sections");
    verb->add_option("--file", a->file, "Open the group in this file, whichever PROGRAM names")
        ->check(some_name());
    verb->add_option("--period", a->period_ms,
                     "Milliseconds from one cut to the next; else as "
                     "PROGRAM asks, or 500")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{section::max_period_ms}));
    verb->add_option("--stores", a->stores,
                     "How stores are found: pages, or announced by the "
                     "plugin's calls")
        ->check(CLI::IsMember({"pages", "announced"}).description(""))
        ->type_name("NAME")
        ->capture_default_str();
    verb->add_option("--library", a->library, "The runtime, if it is not beside this program")
        ->check(some_name());
    verb->add_flag("--report", a->report, "At the end print numbers of cuts to standard error");
    verb->add_flag("--hold-output", a->hold_output,
                   "Hold what PROGRAM writes to clients until no crash can undo it");
    verb->prefix_command();
    verb->footer(remarks);
    verb->callback(
        [a, verb, &chosen] { chosen = [a, words = verb->remaining()] { return run(*a, words); }; });
}

}  // namespace hf::tool
