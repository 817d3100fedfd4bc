// tools/holdfast/verb.hpp: the parts of a verb of the command line.
//
// Each verb is in a separate file. add_<verb>() describes its options and sets the function to be
// run after they have been parsed; that function returns the exit status: 0, or the number of an
// hf::errc. Invalid arguments are detected while parsing, with exit status 2.
#pragma once

#include <holdfast/result.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// Another library's names.
// NOLINTBEGIN(readability-identifier-naming)
namespace CLI {
class App;
}
// NOLINTEND(readability-identifier-naming)

namespace hf::tool {

/// Parses the arguments, runs the verb, and returns the exit status (the list above).
[[nodiscard]] int command_line(int argc, char** argv);

/// The function of the chosen verb.
using action = std::function<int()>;

void add_serve(CLI::App& app, action& chosen);
void add_info(CLI::App& app, action& chosen);
void add_check(CLI::App& app, action& chosen);
void add_inspect(CLI::App& app, action& chosen);
void add_repair(CLI::App& app, action& chosen);
void add_copy(CLI::App& app, action& chosen);
void add_compact(CLI::App& app, action& chosen);
void add_dump(CLI::App& app, action& chosen);
void add_load(CLI::App& app, action& chosen);
void add_doctor(CLI::App& app, action& chosen);
void add_run(CLI::App& app, action& chosen);
void add_bench(CLI::App& app, action& chosen);

/// The command line of a verb that takes names and flags only. Hides CLI11, whose headers take
/// longer to compile than the rest of such a file. Variables bound to options must live until the
/// verb has run.
class verb_line {
   public:
    verb_line(CLI::App& app, const std::string& name, const std::string& what);

    /// A required positional argument.
    verb_line& name(const std::string& called, std::string& value, const std::string& what);
    /// An optional positional argument.
    verb_line& optional_name(const std::string& called, std::string& value,
                             const std::string& what);
    /// `--called VALUE`; a nonempty default is shown.
    verb_line& option(const std::string& called, std::string& value, const std::string& what);
    verb_line& number(const std::string& called, std::uint64_t& value, std::uint64_t least,
                      std::uint64_t most, const std::string& what);
    /// An optional choice of one of `values`.
    verb_line& choice(const std::string& called, std::string& value,
                      const std::vector<std::string>& values, const std::string& what);
    verb_line& flag(const std::string& called, bool& value, const std::string& what);
    /// --json
    verb_line& json(bool& value, const std::string& what = "Print JSON");
    verb_line& not_both(const std::string& one, const std::string& other);
    /// The first option requires the second.
    verb_line& needs(const std::string& one, const std::string& other);
    /// Text of `--help` after the options.
    verb_line& remarks(const std::string& text);
    void runs(action& chosen, action what);

   private:
    CLI::App& verb_;
};

}  // namespace hf::tool
