// The project's files, as the house rules read them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hf::house {

/// A text file of the project. `path` is relative to the project's root, with slashes.
struct source_file {
    std::string path;
    std::vector<std::string> lines;  ///< as they are, without line ends
    std::vector<std::string>
        code;  ///< the same lines, comments and the inside of literals blanked out
    bool ends_with_newline = true;

    source_file(std::string p, const std::string& text);

    [[nodiscard]] bool is_cpp() const;  ///< C or C++, headers included
    [[nodiscard]] bool is_header() const;
    [[nodiscard]] bool is_program_text() const;  ///< is_cpp(), or CMake, shell, Python
};

/// C++ text with comments and the inside of string and character literals replaced by spaces; the
/// line structure stays. The file names of #include "..." stay, too.
[[nodiscard]] std::string blank_comments_and_literals(const std::string& text);

/// All text files of the project: what lies in the directories that belong to it, and the files
/// beside them. Build trees, data and hidden directories other than .ci are left out.
[[nodiscard]] std::vector<source_file> read_project(const std::filesystem::path& root);

}  // namespace hf::house
