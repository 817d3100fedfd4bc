// hf_damage_test: a campaign of damaged regions (docs/testing.md).
#include "damage/campaign.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <random>
#include <thread>

int main(int argc, char** argv) {
    hf::damage_test::campaign_options options;
    CLI::App app(
        "Damages regions where their bytes mean something, opens and uses each in a process of "
        "its own, and tells what came of it. The exit status is 0 if there was no crash, no hang, "
        "no wrong answer, and nothing that the check overlooks.",
        "hf_damage_test");
    options.seed = std::random_device()();
    options.workers = std::clamp(2 * std::thread::hardware_concurrency(), 2U, 64U);
    app.add_option("--budget", options.seconds, "Seconds to run for; 60s, 20m or 2h will do")
        ->capture_default_str()
        ->transform(
            CLI::AsNumberWithUnit(std::map<std::string, double>{{"s", 1}, {"m", 60}, {"h", 3600}}));
    app.add_option("--images", options.images, "Stop after so many, whatever the time");
    app.add_option("--seed", options.seed, "Of all that is random");
    app.add_option(
           "--regions", options.regions,
           "Of epochs, inlined (epochs, small values in leaves), eager, all, or of one eager "
           "index")
        ->capture_default_str();
    app.add_option("--image", options.only, "Try only this one, in this process, to replay");
    app.add_option("--save", options.save_to,
                   "Write the image, or so many images, to this directory, and try none")
        ->check(CLI::ExistingDirectory);
    app.add_option("--workers", options.workers, "Processes at once")
        ->capture_default_str()
        ->check(CLI::Range(1, 64));
    app.add_option("--patience", options.patience,
                   "Seconds without a sign of life after which a process hangs")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_option("--dir", options.directory, "Where the regions are made")
        ->capture_default_str()
        ->check(CLI::ExistingDirectory);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    }
    return hf::damage_test::run_campaign(options) ? 0 : 1;
}
