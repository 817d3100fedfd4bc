// hf_demo: a minute's show on real input (./dev demo).
#include <CLI/CLI.hpp>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <system_error>

#include "performance.hpp"

namespace {

namespace fs = std::filesystem;

/// Where the build has put the command line, seen from this program.
fs::path beside_us() {
    std::error_code ignored;
    const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
    return self.parent_path().parent_path() / "holdfast" / "holdfast";
}

}  // namespace

int main(int argc, char** argv) {
    hf::demo::demo_options options;
    options.program = beside_us();
    options.seed = std::random_device()();
    fs::path parent = "/dev/shm";
    bool keep = false;
    CLI::App app(
        "Loads this machine's package index into `holdfast serve`, kills the server with SIGKILL "
        "in the middle of it, starts it again and compares every durable record byte for byte. "
        "The exit status is 0 if none was lost or altered.",
        "hf_demo");
    app.add_option("--holdfast", options.program, "The holdfast program")->check(CLI::ExistingFile);
    app.add_option("--dir", parent, "Where the region's directory is made; a tmpfs")
        ->capture_default_str()
        ->check(CLI::ExistingDirectory);
    app.add_option("--input", options.input, "Records to load, in Debian's control format")
        ->check(CLI::ExistingFile);
    app.add_option("--epoch", options.epoch, "Length of an epoch")->capture_default_str();
    app.add_option("--connections", options.connections, "Clients at once")
        ->capture_default_str()
        ->check(CLI::Range(1, 64));
    app.add_option("--kills", options.kills, "How often the server is killed")
        ->capture_default_str()
        ->check(CLI::Range(1, 100));
    app.add_option("--seconds", options.seconds,
                   "Time that loading everything takes; 0: as fast as it goes")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 3600.0));
    app.add_option("--seed", options.seed, "Chooses when the server is killed");
    app.add_flag("--keep", keep, "Leave the region for holdfast info and holdfast check");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    }
    if (!fs::exists(options.program)) {
        (void)std::fprintf(stderr, "hf_demo: there is no %s; build it, or name one by --holdfast\n",
                           options.program.c_str());
        return 3;
    }
    std::string made = (parent / "holdfast-demo.XXXXXX").string();
    if (mkdtemp(made.data()) == nullptr) {
        std::perror("hf_demo: cannot make a directory for the region");
        return 3;
    }
    options.directory = made;
    const bool well = hf::demo::performance(options).run();
    if (keep) {
        (void)std::printf("the region stays: %s/store.hf\n", made.c_str());
    } else {
        std::error_code ignored;
        fs::remove_all(made, ignored);
    }
    return well ? 0 : 1;
}
