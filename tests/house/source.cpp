#include "house/source.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

namespace hf::house {

namespace {

std::vector<std::string> split_lines(const std::string& text) {
    std::vector<std::string> lines;
    std::size_t begin = 0;
    while (begin < text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return lines;
}

bool is_identifier(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Position after the literal or comment that starts at `at`; `at` itself where none starts.
std::size_t skip_blank(const std::string& text, std::size_t at) {
    const auto until = [&](std::string_view mark, std::size_t from) {
        const std::size_t found = text.find(mark, from);
        return found == std::string::npos ? text.size() : found + mark.size();
    };
    if (text.compare(at, 2, "//") == 0) return std::min(text.find('\n', at), text.size());
    if (text.compare(at, 2, "/*") == 0) return until("*/", at + 2);
    if (text.compare(at, 2, "R\"") == 0 && (at == 0 || !is_identifier(text[at - 1]))) {
        const std::size_t open = text.find('(', at);
        if (open == std::string::npos) return text.size();
        return until(")" + text.substr(at + 2, open - at - 2) + "\"", open);
    }
    const char quote = text[at];
    // A single quote inside a number separates digits.
    const bool digit_separator = quote == '\'' && at > 0 && is_identifier(text[at - 1]);
    if (quote != '"' && (quote != '\'' || digit_separator)) return at;
    std::size_t end = at + 1;
    while (end < text.size() && text[end] != quote && text[end] != '\n') {
        end += text[end] == '\\' ? 2 : 1;
    }
    return std::min(end + 1, text.size());
}

bool is_binary(const std::string& text) { return text.find('\0') != std::string::npos; }

}  // namespace

std::string blank_comments_and_literals(const std::string& text) {
    std::string out = text;
    std::size_t at = 0;
    std::size_t line_begin = 0;
    while (at < text.size()) {
        if (text[at] == '\n') line_begin = at + 1;
        const std::size_t end = skip_blank(text, at);
        if (end == at) {
            ++at;
            continue;
        }
        const std::size_t first = text.find_first_not_of(" \t", line_begin);
        const bool directive = text[at] == '"' && text.compare(first, 8, "#include") == 0;
        for (std::size_t i = at; i < end; ++i) {
            if (text[i] == '\n') line_begin = i + 1;
            if (text[i] != '\n' && !directive) out[i] = ' ';
        }
        at = end;
    }
    return out;
}

source_file::source_file(std::string p, const std::string& text)
    : path(std::move(p)),
      lines(split_lines(text)),
      code(split_lines(is_cpp() ? blank_comments_and_literals(text) : text)),
      ends_with_newline(text.empty() || text.back() == '\n') {}

bool source_file::is_header() const { return path.ends_with(".hpp") || path.ends_with(".h"); }

bool source_file::is_cpp() const {
    return is_header() || path.ends_with(".cpp") || path.ends_with(".c");
}

bool source_file::is_program_text() const {
    return is_cpp() || path.ends_with(".cmake") || path.ends_with(".cmake.in") ||
           path.ends_with(".sh") || path.ends_with(".py") || path.ends_with("CMakeLists.txt") ||
           path == "dev" || path == ".ci/run";
}

std::vector<source_file> read_project(const std::filesystem::path& root) {
    static const std::set<std::string> directories{
        ".ci",     "bench", "bindings", "cmake", "crashlab", "docs",  "fuzz", "examples",
        "include", "man",   "pass",     "sim",   "src",      "tests", "tools"};
    std::vector<source_file> files;
    const auto read = [&](const std::filesystem::path& path) {
        std::ifstream in(path, std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        if (!is_binary(text)) {
            files.emplace_back(path.lexically_relative(root).generic_string(), text);
        }
    };
    for (const auto& entry : std::filesystem::directory_iterator(root)) {
        if (entry.is_symlink()) continue;
        // In a worktree .git is a file, and none of the project's.
        if (entry.is_regular_file() && entry.path().filename() != ".git") read(entry.path());
        if (!entry.is_directory() || !directories.contains(entry.path().filename().string())) {
            continue;
        }
        for (const auto& inner : std::filesystem::recursive_directory_iterator(entry.path())) {
            if (inner.is_regular_file() && !inner.is_symlink()) read(inner.path());
        }
    }
    std::sort(files.begin(), files.end(),
              [](const auto& a, const auto& b) { return a.path < b.path; });
    return files;
}

}  // namespace hf::house
