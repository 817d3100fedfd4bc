// The house rules, as functions from files to violations.
#pragma once

#include "house/source.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace hf::house {

struct violation {
    std::string path;
    std::size_t line = 0;  ///< from 1; 0: the file as a whole
    std::string what;

    [[nodiscard]] std::string to_string() const;
};

using violations = std::vector<violation>;
using files = std::vector<source_file>;

/// The layering table: directory of a part to the directories that it may include from.
using layers = std::map<std::string, std::set<std::string>>;

/// Reads the table. A line that makes no sense throws std::runtime_error.
[[nodiscard]] layers parse_layers(const std::string& text);
[[nodiscard]] std::set<std::string> parse_list(const std::string& text);

/// Includes stay within the table, name a file that exists, and every directory under src/ is in
/// the table.
[[nodiscard]] violations check_layering(const files& project, const layers& table);
/// Flushes, fences and streaming stores are src/persist/'s alone, in intrinsics as in inline
/// assembly.
[[nodiscard]] violations check_persist_instructions(const files& project);
/// The shared code of an index (src/index/X itself) knows no discipline: it names none, asks none
/// for a property, and includes adapters (src/index/X/<discipline>/) in adapters.hpp only.
[[nodiscard]] violations check_shared_index_code(const files& project);
/// No file above 900 lines, few above 500, half of the C++ files under 200.
[[nodiscard]] violations check_lengths(const files& project);
/// 100 columns, no tab, no carriage return, no space at a line's end, a newline at the file's.
[[nodiscard]] violations check_lines(const files& project);
[[nodiscard]] violations check_file_names(const files& project);
/// #pragma once, and an opening comment that says what the file is for.
[[nodiscard]] violations check_headers(const files& project);
/// A room of the table that has headers has one of its own name, which says what the room is for.
[[nodiscard]] violations check_room_headers(const files& project, const layers& table);
/// A label of an invariant or an order (I1, P2) is defined by one header of its room. A definition
/// is a line of a header's opening comment that begins with the label and a space.
[[nodiscard]] violations check_labels(const files& project);
/// No home directory, and no link to a host that is not on the list.
[[nodiscard]] violations check_places(const files& project, const std::set<std::string>& hosts);
/// A relative link of a page leads to a file or directory of the project.
[[nodiscard]] violations check_page_links(const files& project);

}  // namespace hf::house
