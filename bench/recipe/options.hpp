// bench/recipe/options.hpp: the command line of `holdfast bench recipe`, checked.
#pragma once

#include "bench/recipe/work.hpp"
#include "bench/scratch_space.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

// Names of another library.
// NOLINTBEGIN(readability-identifier-naming)
namespace CLI {
class App;
}
// NOLINTEND(readability-identifier-naming)

namespace hf::bench {

struct recipe_bench_options {
    std::vector<std::string> stores;  ///< of recipe_store_names()
    std::vector<recipe_keys> keys;
    std::vector<recipe_load> loads;  ///< in the order of the enumeration, including `load`
    std::vector<distribution> spreads;
    std::vector<unsigned> threads;
    u64 records = 1'000'000;
    u64 operations = 0;  ///< never left at 0
    unsigned repetitions = 3;
    u64 seed = 1;
    std::optional<std::string> directory;
    huge_pages huge = huge_pages::automatic;
};

class recipe_bench_parser {
   public:
    recipe_bench_parser();
    ~recipe_bench_parser();
    recipe_bench_parser(const recipe_bench_parser&) = delete;
    recipe_bench_parser& operator=(const recipe_bench_parser&) = delete;

    /// Adds the subcommand; this object must outlive it.
    [[nodiscard]] CLI::App* add_to(CLI::App& bench);
    /// After parsing. An invalid value throws as in option_values.hpp.
    [[nodiscard]] recipe_bench_options translate() const;
    [[nodiscard]] std::optional<std::string> json() const;

   private:
    struct raw;
    std::unique_ptr<raw> raw_;
};

}  // namespace hf::bench
