#include "bench/bench_command.hpp"

#include "bench/processor.hpp"
#include "bench/run.hpp"

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <fstream>
#include <iostream>

namespace hf::bench {

namespace {

bool to_terminal() {
    static const bool terminal = ::isatty(STDERR_FILENO) == 1;
    return terminal;
}

result<void> write_json(const std::string& where, const nlohmann::json& json) {
    if (where == "-") {
        std::cout << json.dump(2) << std::endl;
        return {};
    }
    std::ofstream file(where);
    file << json.dump(2) << std::endl;
    if (file) return {};
    return failure({errc::io, "write the results", where, "the file cannot be written",
                    "name a file in a directory that exists"});
}

result<void> run(const options& o, nlohmann::json& json) {
    // If the JSON goes to standard output, the tables go to standard error.
    std::ostream& out = o.json == "-" ? std::cerr : std::cout;
    switch (o.what) {
        case measurement_kind::ycsb:
            return run_ycsb(o, out, json);
        case measurement_kind::recovery:
            return run_recovery(o, out, json);
        case measurement_kind::pause:
            return run_pause(o, out, json);
        case measurement_kind::compare:
            return run_compare(o, out, json);
        case measurement_kind::server:
            return run_server(o, out, json);
        case measurement_kind::heap:
            return run_heap(o, out, json);
        case measurement_kind::recipe:
            return run_recipe(o.recipe, out, json);
        case measurement_kind::layers:
            return run_layers(o, out, json);
        case measurement_kind::shadow:
            return run_shadow(o, out, json);
        case measurement_kind::sections:
            return run_sections(o.sections, out, json);
    }
    return {};
}

}  // namespace

void progress(const std::string& line) {
    if (to_terminal()) std::cerr << "\r\033[K" << line << std::flush;
}

void end_progress() {
    if (to_terminal()) std::cerr << "\r\033[K" << std::flush;
}

int bench_command(const std::vector<std::string>& arguments) {
    std::string help;
    auto o = parse_options(arguments, help);
    if (!o) {
        std::cerr << "holdfast bench: " << o.error().to_string() << '\n';
        return o.error().exit_code();
    }
    if (!*o) {
        std::cout << help;
        return 0;
    }
    const interruptible until_interrupted;
    nlohmann::json json;
    auto done = run(**o, json);
    end_progress();
    if (done && (*o)->json) done = write_json(*(*o)->json, json);
    if (!done) {
        std::cerr << "holdfast bench: " << done.error().to_string() << '\n';
        return done.error().exit_code();
    }
    if (interrupted()) {
        std::cerr << "holdfast bench: interrupted; the results are of what had been measured\n";
        return 130;
    }
    if ((*o)->compare.check && !json.value("targets met", false)) {
        std::cerr << (json["targets"].empty()
                          ? "holdfast bench: nothing was measured that there is a target for\n"
                          : "holdfast bench: a target was not met; the table says which\n");
        return static_cast<int>(errc::violation);
    }
    return 0;
}

}  // namespace hf::bench
