// tools/holdfast/verb.hpp: what a verb of the command line is made of.
//
// Each verb lives in a file of its own. add_<verb>() describes its options and says what is to be
// run once they have been parsed; that function returns the exit code: 0, or the number of an
// hf::errc. What can be wrong with an argument is found while parsing, and ends in exit code 2.
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

/// What the chosen verb does.
using action = std::function<int()>;

void add_serve(CLI::App& app, action& chosen);
void add_info(CLI::App& app, action& chosen);
void add_check(CLI::App& app, action& chosen);
void add_inspect(CLI::App& app, action& chosen);
void add_repair(CLI::App& app, action& chosen);
void add_copy(CLI::App& app, action& chosen);
void add_dump(CLI::App& app, action& chosen);
void add_load(CLI::App& app, action& chosen);
void add_doctor(CLI::App& app, action& chosen);
void add_bench(CLI::App& app, action& chosen);

/// The command line of a verb that takes names and flags only. CLI11, which takes a compiler longer
/// than all the rest of such a file, stays behind it. What values are bound to must live until the
/// verb has run.
class verb_line {
   public:
    verb_line(CLI::App& app, const std::string& name, const std::string& what);

    /// By position; must be given.
    verb_line& name(const std::string& called, std::string& value, const std::string& what);
    /// By position; may be left out.
    verb_line& optional_name(const std::string& called, std::string& value,
                             const std::string& what);
    /// `--called VALUE`; the default is shown where it is not empty.
    verb_line& option(const std::string& called, std::string& value, const std::string& what);
    verb_line& number(const std::string& called, std::uint64_t& value, std::uint64_t least,
                      std::uint64_t most, const std::string& what);
    /// One of `values`, or left out.
    verb_line& choice(const std::string& called, std::string& value,
                      const std::vector<std::string>& values, const std::string& what);
    verb_line& flag(const std::string& called, bool& value, const std::string& what);
    /// --json
    verb_line& json(bool& value, const std::string& what = "Print JSON");
    verb_line& not_both(const std::string& one, const std::string& other);
    /// The first makes no sense without the second.
    verb_line& needs(const std::string& one, const std::string& other);
    /// What `--help` says behind the options.
    verb_line& remarks(const std::string& text);
    void runs(action& chosen, action what);

   private:
    CLI::App& verb_;
};

}  // namespace hf::tool
