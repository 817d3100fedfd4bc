// bench/table.hpp: rows of text in columns, and the block that says what they were measured on.
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
    /// Columns as wide as they need to be; `left` of them to the left, the others, numbers, to the
    /// right.
    void print(std::ostream& out, std::size_t left) const;

   private:
    std::vector<std::vector<std::string>> rows_;
};

/// With `digits` behind the point.
[[nodiscard]] std::string fixed(double value, int digits);

/// A line of the block, and an entry of "environment".
void say(const std::string& name, const std::string& value, std::ostream& out,
         nlohmann::json& json);
/// What was built, and what it runs on.
void describe_machine(std::ostream& out, nlohmann::json& json);
/// The machine and the options.
void describe(const options& o, const scratch_space& space, std::ostream& out,
              nlohmann::json& json);

}  // namespace hf::bench
