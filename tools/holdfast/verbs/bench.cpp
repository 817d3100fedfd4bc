// `holdfast bench`: passes its arguments on to the benchmarks, if they are part of the build.
#include "verb.hpp"
#include "view/output.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#ifdef HF_HAS_BENCH
// Declared here, because the layering table lets tools include rooms only, and bench/ is not one.
namespace hf::bench {
int bench_command(const std::vector<std::string>& arguments);
}
#endif

namespace hf::tool {

namespace {

int run([[maybe_unused]] const std::vector<std::string>& arguments) {
#ifdef HF_HAS_BENCH
    return bench::bench_command(arguments);
#else
    return complain({errc::usage, "run the benchmarks", "", "this build was made without them",
                     "use one that has them"});
#endif
}

}  // namespace

void add_bench(CLI::App& app, action& chosen) {
    CLI::App* verb =
        app.add_subcommand("bench", "Measure: YCSB, recovery, pauses, other stores, memcached");
    // The benchmarks parse their arguments themselves, --help included.
    verb->set_help_flag();
    verb->prefix_command();
    verb->callback(
        [verb, &chosen] { chosen = [arguments = verb->remaining()] { return run(arguments); }; });
}

}  // namespace hf::tool
