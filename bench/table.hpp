// bench/table.hpp: text tables, and the description of the measured machine.
#pragma once

#include "bench/options.hpp"

#include <nlohmann/json_fwd.hpp>

#include <iosfwd>
#include <string>
#include <vector>

namespace hf::bench {

class table {
   public:
    explicit table(std::vector<std::string> head) : rows_{std::move(head)} {}
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    /// Columns are as wide as their contents; the first `left` are left-aligned, the others,
    /// numbers, right-aligned.
    void print(std::ostream& out, std::size_t left) const;

   private:
    std::vector<std::vector<std::string>> rows_;
};

/// With `digits` decimal places.
[[nodiscard]] std::string fixed(double value, int digits);

/// Adds a line to the description, and an entry to "environment".
void say(const std::string& name, const std::string& value, std::ostream& out,
         nlohmann::json& json);
/// Describes the build and the machine.
void describe_machine(std::ostream& out, nlohmann::json& json);
/// Describes the machine and the options.
void describe(const options& o, const scratch_space& space, std::ostream& out,
              nlohmann::json& json);

}  // namespace hf::bench
