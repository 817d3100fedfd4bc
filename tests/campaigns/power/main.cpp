// hf_power_test: power cuts in a virtual machine (docs/power_test.md).
#include "base/clock.hpp"
#include "device_cache.hpp"
#include "summary.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>

namespace {

namespace fs = std::filesystem;
using namespace hf;
using namespace hf::power_test;

constexpr int not_runnable = 3;

struct arguments {
    campaign_options options;
    std::string file_system = "both";
    std::vector<std::string> media{"file", "dax"};
    std::string json;
    bool no_control = false;
    bool device_cache = false;
    u64 images = 20;
};

/// One cycle in five uses dax, if there are others.
std::vector<target> targets_of(const arguments& a) {
    std::vector<target> all;
    const bool dax = std::ranges::count(a.media, "dax") != 0;
    if (std::ranges::count(a.media, "file") != 0) {
        if (a.file_system != "xfs") all.push_back({"file", "ext4"});
        if (a.file_system != "ext4") all.push_back({"file", "xfs"});
    }
    const u64 of_dax = !dax ? 0 : all.empty() ? a.options.cycles : (a.options.cycles + 4) / 5;
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].cycles = (a.options.cycles - of_dax + i) / all.size();
    }
    if (dax) all.push_back({"dax", "ext4", of_dax});
    std::erase_if(all, [](const target& one) { return one.cycles == 0; });
    return all;
}

int try_device_caches(const arguments& a, nlohmann::json facts) {
    bool well = true;
    nlohmann::json all = nlohmann::json::array();
    const std::vector<std::string> systems = a.file_system == "both"
                                                 ? std::vector<std::string>{"ext4", "xfs"}
                                                 : std::vector{a.file_system};
    u64 lost = 0;
    u64 control_lost = 0;
    for (const std::string& system : systems) {
        if (interrupted()) break;
        const u64 images = (a.images + systems.size() - 1) / systems.size();
        const cache_outcome out = device_cache(a.options, {"file", system}, images).run();
        well = well && out.well(a.options.control_cycles != 0);
        lost += out.sum.broken();
        control_lost += out.control_lost;
        all.push_back(out.to_json());
        std::printf("  file on %s: %llu writes left out in all; a disk that lies lost %llu\n",
                    system.c_str(), static_cast<unsigned long long>(out.left_out),
                    static_cast<unsigned long long>(out.control_lost));
    }
    facts["well"] = well;
    facts["file_systems"] = all;
    if (!a.json.empty()) std::ofstream(a.json) << facts.dump(2) << '\n';
    std::printf(
        "power-test: device caches: %llu durable records lost or altered, the control lost "
        "%llu: %s; seed %llu\n",
        static_cast<unsigned long long>(lost), static_cast<unsigned long long>(control_lost),
        well ? "passed" : "FAILED", static_cast<unsigned long long>(a.options.seed));
    return well && !interrupted() ? 0 : 1;
}

int run(arguments& a) {
    // From here on signals are only counted, and the directory is always removed.
    if (interrupted()) return 1;
    summary all;
    all.seed = a.options.seed;
    all.control_wanted = !a.no_control && std::ranges::count(a.media, "file") != 0;
    if (!all.control_wanted) a.options.control_cycles = 0;
    std::printf("power-test: seed %llu, %llu cycles; booting the machine once\n",
                static_cast<unsigned long long>(a.options.seed),
                static_cast<unsigned long long>(a.options.cycles));
    (void)std::fflush(stdout);
    const u64 start = now_ns();
    const auto by = machine::prepare(
        {a.options.guest, a.options.directory, a.options.directory / "persistent_memory"},
        a.options.directory / "snapshot");
    if (!by) {
        (void)std::fprintf(stderr, "hf_power_test: %s\n", by.error().to_string().c_str());
        return not_runnable;
    }
    all.boot_seconds = static_cast<double>(now_ns() - start) / 1e9;
    all.by = a.options.by = *by;
    std::printf("booted by %s, snapshot taken, in %.1f s\n", machine::to_string(*by),
                all.boot_seconds);
    if (a.device_cache) {
        return try_device_caches(a, {{"seed", all.seed}, {"accelerator", to_string(*by)}});
    }
    for (const target& where : targets_of(a)) {
        if (!interrupted()) all.outcomes.push_back(campaign(a.options, where).run());
    }
    all.print();
    if (!a.json.empty()) std::ofstream(a.json) << all.to_json().dump(2) << '\n';
    return all.well() && !interrupted() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    arguments a;
    a.options.seed = std::random_device()();
    CLI::App app(
        "Cuts the power of a virtual machine while clients outside write to a server inside, and "
        "compares what is there afterwards with what they were told. A control run, whose syncs do "
        "nothing, must lose records. The exit status is 0 if nothing durable was lost or altered "
        "and the control lost something; 3 if there is no machine to run.",
        "hf_power_test");
    app.add_option("--cycles", a.options.cycles, "Power cuts, over all media and file systems")
        ->capture_default_str()
        ->check(CLI::Range(1, 1'000'000));
    app.add_option("--file-system", a.file_system, "ext4, xfs or both, of the medium file")
        ->capture_default_str()
        ->check(CLI::IsMember({"ext4", "xfs", "both"}));
    app.add_option("--media", a.media, "file, dax, or both")
        ->delimiter(',')
        ->capture_default_str()
        ->check(CLI::IsMember({"file", "dax"}));
    app.add_option("--seed", a.options.seed, "Of keys, values and instants");
    app.add_option("--connections", a.options.connections, "Clients that write")
        ->capture_default_str()
        ->check(CLI::Range(1, 64));
    app.add_option("--json", a.json, "Writes the results to this file, too");
    app.add_flag("--device-cache", a.device_cache,
                 "Instead: records a run's writes and flushes, and opens images of what a disk "
                 "with a cache may have kept");
    app.add_option("--images", a.images, "Such images")
        ->capture_default_str()
        ->check(CLI::Range(1, 1'000'000));
    app.add_flag("--no-control", a.no_control, "No run without syncs");
    app.add_option("--guest", a.options.guest, "Directory with the machine's kernel and initramfs")
        ->required()
        ->check(CLI::ExistingDirectory);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    }
    a.options.kept = a.options.guest;
    std::string made = (a.options.guest / "run.XXXXXX").string();
    if (mkdtemp(made.data()) == nullptr) {
        std::perror("hf_power_test: cannot make a directory for the machine");
        return not_runnable;
    }
    a.options.directory = made;
    const int status = run(a);
    std::error_code ignored;
    fs::remove_all(made, ignored);
    return status;
}
