// hf_kill_test: the SIGKILL campaign (docs/testing.md).
#include <holdfast/eager.hpp>
#include <holdfast/map.hpp>

#include "campaign.hpp"
#include "heap_campaign.hpp"

#include <CLI/CLI.hpp>

#include <random>

namespace {

/// "1ms..20ms", "500us..5ms", or one time for both.
void parse_epochs(const std::string& text, hf::kill_test::campaign_options& options) {
    const auto one = [](const std::string& part) {
        std::size_t end = 0;
        const unsigned long number = std::stoul(part, &end);
        const std::string unit = part.substr(end);
        if (unit == "us") return std::chrono::microseconds(number);
        if (unit == "ms") return std::chrono::microseconds(number * 1000);
        throw std::invalid_argument("the unit is us or ms");
    };
    const std::size_t dots = text.find("..");
    try {
        options.shortest_epoch = one(text.substr(0, dots));
        options.longest_epoch =
            dots == std::string::npos ? options.shortest_epoch : one(text.substr(dots + 2));
    } catch (const std::exception&) {
        throw CLI::ValidationError("--epoch", "is '" + text + "', but looks like 1ms..20ms");
    }
    if (options.shortest_epoch < std::chrono::milliseconds(1) ||
        options.longest_epoch > std::chrono::seconds(10) ||
        options.longest_epoch < options.shortest_epoch) {
        throw CLI::ValidationError("--epoch", "lies between 1ms and 10s");
    }
}

void choose_discipline(const std::string& name, hf::kill_test::campaign_options& options) {
    if (name != "eager" && !options.indexes.empty()) {
        throw CLI::ValidationError("--index", "is of discipline eager");
    }
    if (name == "incll") return;
    options.kind = hf::discipline::eager;
    if (name == "transaction") options.kind = hf::discipline::transaction;
    if (options.indexes.empty()) options.indexes = hf::eager_index_names();
}

void choose_engine(const std::string& name, hf::kill_test::campaign_options& options) {
    if (name.empty()) return;
    if (options.kind != hf::discipline::transaction) {
        throw CLI::ValidationError("--engine", "is of discipline transaction");
    }
    for (const hf::engine_kind k : hf::all_engines()) {
        if (to_string(k) == name) options.engine = k;
    }
}

}  // namespace

int main(int argc, char** argv) {
    hf::kill_test::campaign_options options;
    CLI::App app(
        "Kills writers of a durable map, or of a heap of objects, at random instants, opens it "
        "again, and compares what is there with what the writers were told. The exit status is 0 "
        "if nothing was violated.",
        "hf_kill_test");
    options.seed = std::random_device()();
    options.directory = "/dev/shm";
    std::string epochs = "1ms..20ms";
    app.add_option("--cycles", options.cycles, "Cycles to run")->capture_default_str();
    app.add_option("--seed", options.seed, "Of all that is random but the scheduler");
    app.add_option("--threads", options.writers, "Writers")
        ->capture_default_str()
        ->check(CLI::Range(1, 64));
    app.add_option("--keys", options.keys, "Keys of a map, about")
        ->capture_default_str()
        ->check(CLI::Range(2'000, 10'000'000));
    app.add_option("--seconds-per-cycle", options.seconds_per_cycle,
                   "Mean time that a session writes")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 60.0));
    app.add_option("--epoch", epochs, "Shortest and longest epoch")->capture_default_str();
    app.add_option("--cycles-per-region", options.cycles_per_region, "A new region after so many")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_option("--storm-every", options.storm_every,
                   "A storm of 250 quick crashes once in so many cycles; 0: never")
        ->capture_default_str();
    app.add_option("--from", options.first_cycle, "First cycle, to replay");
    app.add_option("--dir", options.directory, "Where the regions are made: tmpfs or a disk")
        ->capture_default_str()
        ->check(CLI::ExistingDirectory);
    app.add_option("--give-up-after", options.give_up_after, "End after so many bad cycles")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    std::string kind = "incll";
    app.add_option(
           "--discipline", kind,
           "incll: the last epoch may be lost. eager: no write that was answered, but\non a disk. "
           "transaction: a heap of objects; no transaction that returned")
        ->capture_default_str()
        ->check(CLI::IsMember({"incll", "eager", "transaction"}));
    app.add_option("--index", options.indexes, "Of regions of discipline eager, in turn; none: all")
        ->delimiter(',')
        ->check(CLI::IsMember(hf::eager_index_names()));
    std::string engine;
    std::vector<std::string> engines;
    for (const hf::engine_kind k : hf::all_engines()) engines.emplace_back(to_string(k));
    app.add_option("--engine", engine, "Of heaps of objects: how they commit; none: each in turn")
        ->check(CLI::IsMember(engines));
    std::string small_values = "in-turn";
    app.add_option("--small-values", small_values,
                   "Of regions of discipline incll that have small values in their leaves")
        ->capture_default_str()
        ->check(CLI::IsMember({"in-turn", "always", "never"}));
    app.add_flag("--keep", options.keep, "Keep all regions, not only those that went wrong");
    app.add_flag("--discard", options.discard, "Keep no region, not even one that went wrong");
    try {
        app.parse(argc, argv);
        parse_epochs(epochs, options);
        choose_discipline(kind, options);
        choose_engine(engine, options);
        if (small_values != "in-turn") options.small_values = small_values == "always";
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    }
    if (options.kind == hf::discipline::transaction) {
        return hf::kill_test::heap_campaign(options).run() ? 0 : 1;
    }
    return hf::kill_test::campaign(options).run() ? 0 : 1;
}
