#include "option_checks.hpp"
#include "verb.hpp"

#include <CLI/CLI.hpp>

#include <utility>

namespace hf::tool {

verb_line::verb_line(CLI::App& app, const std::string& name, const std::string& what)
    : verb_(*app.add_subcommand(name, what)) {}

verb_line& verb_line::name(const std::string& called, std::string& value, const std::string& what) {
    verb_.add_option(called, value, what)->required()->check(some_name())->type_name("");
    return *this;
}

verb_line& verb_line::optional_name(const std::string& called, std::string& value,
                                    const std::string& what) {
    auto* const option = verb_.add_option(called, value, what)->check(some_name())->type_name("");
    if (!value.empty()) option->capture_default_str();
    return *this;
}

verb_line& verb_line::option(const std::string& called, std::string& value,
                             const std::string& what) {
    verb_.add_option(called, value, what)->check(some_name())->capture_default_str();
    return *this;
}

verb_line& verb_line::number(const std::string& called, std::uint64_t& value, std::uint64_t least,
                             std::uint64_t most, const std::string& what) {
    verb_.add_option(called, value, what)->check(CLI::Range(least, most))->capture_default_str();
    return *this;
}

verb_line& verb_line::choice(const std::string& called, std::string& value,
                             const std::vector<std::string>& values, const std::string& what) {
    verb_.add_option(called, value, what)
        ->check(CLI::IsMember(values).description(""))
        ->type_name("NAME");
    return *this;
}

verb_line& verb_line::flag(const std::string& called, bool& value, const std::string& what) {
    verb_.add_flag(called, value, what);
    return *this;
}

verb_line& verb_line::json(bool& value, const std::string& what) {
    return flag("--json", value, what);
}

verb_line& verb_line::not_both(const std::string& one, const std::string& other) {
    verb_.get_option(one)->excludes(verb_.get_option(other));
    return *this;
}

verb_line& verb_line::needs(const std::string& one, const std::string& other) {
    verb_.get_option(one)->needs(verb_.get_option(other));
    return *this;
}

verb_line& verb_line::remarks(const std::string& text) {
    verb_.footer(text);
    return *this;
}

void verb_line::runs(action& chosen, action what) {
    verb_.callback([&chosen, what = std::move(what)] { chosen = what; });
}

}  // namespace hf::tool
