// hf_demo: a demonstration of one minute with real data (./dev demo).
#include "performance.hpp"
#include "server_machine.hpp"
#include "server_process.hpp"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <system_error>

namespace {

namespace fs = std::filesystem;

/// The path of the command-line tool, relative to this program, in the build directory.
fs::path beside_us() {
    std::error_code ignored;
    const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
    return self.parent_path().parent_path() / "holdfast" / "holdfast";
}

struct demo_arguments {
    hf::demo::demo_options options;
    fs::path program = beside_us();
    fs::path parent = "/dev/shm";
    fs::path guest;
    bool power_cut = false;
    bool keep = false;
};

constexpr int not_runnable = 3;
constexpr std::size_t records_of_a_machine = 12'000;

bool kill_processes(const demo_arguments& a, const fs::path& directory) {
    hf::demo::server_process server(a.program, directory / "store.hf",
                                    {"--threads", "2", "--epoch", a.options.epoch});
    return hf::demo::performance(a.options, server).run();
}

/// As kill_processes(), in a virtual machine; and then with a server whose syncs do nothing.
int cut_power(const demo_arguments& a, const fs::path& directory) {
    hf::demo::server_machine server({a.guest, directory, directory / "persistent_memory"},
                                    {"--threads", "2", "--epoch", a.options.epoch});
    (void)std::printf("booting the virtual machine once\n");
    (void)std::fflush(stdout);
    if (const auto by = server.prepare(); !by) {
        (void)std::fprintf(stderr, "hf_demo: %s\n", by.error().to_string().c_str());
        return not_runnable;
    }
    const bool well = hf::demo::performance(a.options, server).run();
    bool control = false;
    if (server.replace_disk()) {
        server.forget_syncs();
        control = hf::demo::performance(a.options, server).run_control();
    }
    (void)std::printf("\ndemo: the control without syncs %s\n",
                      control ? "lost records, as it must" : "lost NOTHING");
    return well && control ? 0 : 1;
}

std::string directory_in(const fs::path& parent) {
    std::string made = (parent / "holdfast-demo.XXXXXX").string();
    return mkdtemp(made.data()) == nullptr ? std::string() : made;
}

void add_options(CLI::App& app, demo_arguments& a) {
    app.add_option("--holdfast", a.program, "The holdfast program")->check(CLI::ExistingFile);
    app.add_option("--dir", a.parent, "Where the region's directory is made; a tmpfs")
        ->capture_default_str()
        ->check(CLI::ExistingDirectory);
    app.add_option("--input", a.options.input, "Records to load, in Debian's control format")
        ->check(CLI::ExistingFile);
    app.add_option("--records", a.options.records,
                   "No more than so many of them; 0: all. 12000 with --power-cut");
    app.add_option("--epoch", a.options.epoch, "Length of an epoch")->capture_default_str();
    app.add_option("--connections", a.options.connections, "Clients at once")
        ->capture_default_str()
        ->check(CLI::Range(1, 64));
    app.add_option("--kills", a.options.kills, "How often the server is killed")
        ->capture_default_str()
        ->check(CLI::Range(1, 100));
    app.add_option("--seconds", a.options.seconds,
                   "Time that loading everything takes; 0: as fast as it goes")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 3600.0));
    app.add_option("--seed", a.options.seed, "Chooses when the server is killed");
    app.add_flag("--keep", a.keep, "Leave the region for holdfast info and holdfast check");
    app.add_flag("--power-cut", a.power_cut,
                 "The server runs in a virtual machine, and the power of that is cut");
    app.add_option("--guest", a.guest, "Directory with the machine's kernel and initramfs")
        ->check(CLI::ExistingDirectory);
}

}  // namespace

int main(int argc, char** argv) {
    demo_arguments a;
    a.options.seed = std::random_device()();
    CLI::App app(
        "Loads this machine's package index into `holdfast serve`, kills the server with SIGKILL "
        "in the middle of it, starts it again and compares every durable record byte for byte. "
        "The exit status is 0 if none was lost or altered. With --power-cut the server runs in a "
        "virtual machine that is killed, and a control run without syncs must lose records.",
        "hf_demo");
    add_options(app, a);
    try {
        app.parse(argc, argv);
        if (a.power_cut && a.guest.empty()) throw CLI::RequiredError("--guest");
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    }
    if (a.power_cut) {
        a.parent = a.guest;
        // An emulated machine is slow.
        if (app.count("--records") == 0) a.options.records = records_of_a_machine;
    } else if (!fs::exists(a.program)) {
        (void)std::fprintf(stderr, "hf_demo: there is no %s; build it, or name one by --holdfast\n",
                           a.program.c_str());
        return not_runnable;
    }
    const std::string made = directory_in(a.parent);
    if (made.empty()) {
        std::perror("hf_demo: cannot make a directory for the region");
        return not_runnable;
    }
    const int status = a.power_cut ? cut_power(a, made) : kill_processes(a, made) ? 0 : 1;
    if (a.keep) {
        (void)std::printf("what it lies in stays: %s\n", made.c_str());
    } else {
        std::error_code ignored;
        fs::remove_all(made, ignored);
    }
    return status;
}
