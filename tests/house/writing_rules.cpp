// How statements and comments are written: rules that no formatter checks.
#include "house/rules.hpp"

#include <algorithm>
#include <regex>

namespace hf::house {
namespace {

constexpr std::size_t column_limit = 100;

std::size_t indentation(const std::string& line) {
    const std::size_t at = line.find_first_not_of(' ');
    return at == std::string::npos ? line.size() : at;
}

std::string trimmed(const std::string& line) {
    const std::size_t end = line.find_last_not_of(' ');
    return end == std::string::npos ? "" : line.substr(0, end + 1);
}

long open_parentheses(const std::string& line) {
    return std::count(line.begin(), line.end(), '(') - std::count(line.begin(), line.end(), ')');
}

/// The line on which the head of a statement ends, its parentheses closed.
std::size_t end_of_head(const std::vector<std::string>& code, std::size_t line) {
    long depth = 0;
    for (std::size_t i = line; i < code.size(); ++i) {
        depth += open_parentheses(code[i]);
        if (depth <= 0) return i;
    }
    return code.size();
}

bool is_head(const std::string& line) {
    static const std::regex head(R"(^ *(\} )?(else )?(if|for|while)( constexpr)? \()");
    static const std::regex otherwise(R"(^ *(\} )?else$)");
    return std::regex_search(line, head) || std::regex_match(trimmed(line), otherwise);
}

bool ends_without_body(const std::string& line) {
    return line.ends_with(")") || line.ends_with("]]") || line.ends_with("else");
}

struct words {
    std::size_t indent = 0;
    std::string first;
    std::string text;  ///< without what stands before it
};

/// nullopt-like: text is empty where the line is no comment line, or has nothing in it.
words comment_words(const std::string& line) {
    static const std::regex comment(R"(^( *///?)( +)([^ ].*)$)");
    std::smatch match;
    if (!std::regex_match(line, match, comment)) return {};
    const std::string text = match.str(3);
    return {match.length(1) + static_cast<std::size_t>(match.length(2)),
            text.substr(0, text.find(' ')), text};
}

bool is_item(const words& w) {
    static const std::regex item(R"(^([A-Z]{1,2}\d+\b|[-*] |\d+\.|\(\d).*)");
    return std::regex_match(w.text, item);
}

bool is_of_figure(const words& w) {
    return w.text.find("  ") != std::string::npos || w.text[0] == '|' || w.text[0] == '\'';
}

}  // namespace

violations check_braces(const files& project) {
    violations found;
    for (const auto& file : project) {
        if (!file.is_cpp()) continue;
        for (std::size_t i = 0; i < file.code.size(); ++i) {
            if (!is_head(file.code[i])) continue;
            const std::size_t end = end_of_head(file.code, i);
            if (end + 1 >= file.code.size()) continue;
            const bool deeper = indentation(file.code[end + 1]) > indentation(file.code[i]);
            if (ends_without_body(trimmed(file.code[end])) && deeper) {
                found.push_back({file.path, end + 1, "a body on a line of its own without braces"});
            }
        }
    }
    return found;
}

violations check_torn_comments(const files& project) {
    violations found;
    for (const auto& file : project) {
        if (!file.is_cpp()) continue;
        for (std::size_t i = 1; i + 1 < file.lines.size(); ++i) {
            const words before = comment_words(file.lines[i - 1]);
            const words here = comment_words(file.lines[i]);
            const words after = comment_words(file.lines[i + 1]);
            if (before.text.empty() || here.text.empty() || after.text.empty()) continue;
            const bool was_pushed = file.lines[i - 1].size() + 1 + here.first.size() > column_limit;
            const bool has_room = file.lines[i].size() + 1 + after.first.size() <= column_limit;
            const bool ends = std::string(".:;|").find(here.text.back()) != std::string::npos;
            const bool leaps = ends ? after.indent > here.indent : after.indent != here.indent;
            const bool is_text = !is_of_figure(here) && !is_of_figure(after);
            if (was_pushed && has_room && leaps && is_text && !is_item(here) && !is_item(after)) {
                found.push_back({file.path, i + 1, "a torn comment: join it with what follows"});
            }
        }
    }
    return found;
}

}  // namespace hf::house
