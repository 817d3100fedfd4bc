#include "bench/sections/options.hpp"

#include "bench/option_values.hpp"
#include "bench/sections/measured_work.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace hf::bench {

const std::vector<std::string>& section_row_names() {
    static const std::vector<std::string> all{
        "original", "graph", "graph-unflushed", "graph-elided", "hooks", "pages", "msync"};
    return all;
}

struct sections_bench_parser::raw {
    sections_bench_options o;
    std::string works = fmt::format("{}", fmt::join(section_work_names(), ","));
    std::string rows = "original,graph,graph-unflushed,graph-elided,hooks,pages";
    std::string threads = "1,2,4";
    std::string operations = "200K";
    std::string megabytes = "64";
    std::string directory;
    std::string json;
};

sections_bench_parser::sections_bench_parser() : raw_(std::make_unique<raw>()) {}
sections_bench_parser::~sections_bench_parser() = default;

CLI::App* sections_bench_parser::add_to(CLI::App& bench) {
    raw& r = *raw_;
    CLI::App* verb = bench.add_subcommand(
        "sections", "Programs with locks made durable: what each mode costs, and what it counts");
    verb->footer(
        "Rows:\n"
        "  original         ordinary memory, no section\n"
        "  graph            graph mode, lines written back, every store logged (paper: nvram)\n"
        "  graph-unflushed  the same, nothing written back (nvram noflush)\n"
        "  graph-elided     the same, stores outside of sections not logged where they need not "
        "be\n"
        "                   (nvram noflush opt)\n"
        "  hooks            epoch mode, stores announced, nothing written back\n"
        "  pages            epoch mode, stores found by pages\n"
        "  msync            no section: a file on a disk, mapped, and msync() at the end of each\n"
        "                   section; 1000 operations\n\n"
        "  holdfast bench sections --works bank,avl --threads 2 --json sections.json\n\n"
        "The paper's figure 4 from it: ./dev figures sections.");
    verb->add_option("--works", r.works, "Of those in the default")->capture_default_str();
    verb->add_option("--rows", r.rows, "Of those below")->capture_default_str();
    verb->add_option("--threads", r.threads, "1 to 16, several")->capture_default_str();
    verb->add_option("--operations", r.operations, "Of all threads together")
        ->capture_default_str();
    verb->add_option("--megabytes", r.megabytes, "Of input for dedup")->capture_default_str();
    verb->add_option("--repetitions", r.o.repetitions, "Of each point; the rows take turns")
        ->check(CLI::Range(1U, 100U))
        ->capture_default_str();
    verb->add_option("--dir", r.directory,
                     "A tmpfs or DAX mount for the groups (default: a tmpfs)");
    verb->add_option("--disk", r.o.disk, "A directory on a disk, for the row msync")
        ->capture_default_str();
    verb->add_option("--json", r.json, "File for all that was measured; - for standard output");
    return verb;
}

sections_bench_options sections_bench_parser::translate() const {
    const raw& r = *raw_;
    sections_bench_options o = r.o;
    const auto& works = section_work_names();
    o.works = names<std::string>(
        "--works", r.works,
        [&](const std::string& name) -> std::optional<std::string> {
            if (std::find(works.begin(), works.end(), name) == works.end()) return std::nullopt;
            return name;
        },
        fmt::format("{}", fmt::join(works, ", ")));
    const auto& rows = section_row_names();
    o.rows = names<section_row>(
        "--rows", r.rows,
        [&](const std::string& name) -> std::optional<section_row> {
            const auto at = std::find(rows.begin(), rows.end(), name);
            if (at == rows.end()) return std::nullopt;
            return static_cast<section_row>(at - rows.begin());
        },
        fmt::format("{}", fmt::join(rows, ", ")));
    for (const std::string& one : split("--threads", r.threads)) {
        o.threads.push_back(static_cast<unsigned>(number("--threads", one, 1, 16)));
    }
    o.operations = number("--operations", r.operations, 16, 1'000'000'000);
    o.megabytes = number("--megabytes", r.megabytes, 1, 10'000);
    if (!r.directory.empty()) o.directory = r.directory;
    return o;
}

std::optional<std::string> sections_bench_parser::json() const {
    if (raw_->json.empty()) return std::nullopt;
    return raw_->json;
}

}  // namespace hf::bench
