// tools/holdfast/region_kind.hpp: the functions by which the command line handles a discipline.
//
// Purpose. `info`, `check` and `copy` take a region of any discipline: they ask the row of its
// number, as the rooms below ask discipline/registry.hpp. A program with a discipline of its own
// adds a row and calls command_line(); tests/programs/made_up does so.
#pragma once

#include <holdfast/options.hpp>

#include "image/copy.hpp"
#include "region/layout.hpp"
#include "view/heap_view.hpp"

#include <string>
#include <utility>
#include <vector>

namespace hf::tool {

/// A name for people and for JSON, and a value.
using facts = std::vector<std::pair<std::string, std::string>>;

struct region_kind {
    discipline number;
    /// Prints what it finds. Returns the exit status.
    int (*check)(const std::string& path, bool as_json);
    /// As detail::make_ready_copy().
    result<detail::image_facts> (*copy)(const std::filesystem::path& from,
                                        const std::filesystem::path& to, bool replace,
                                        const detail::copy_progress& progress);
    /// Maps the region for inspection, and reads how its heap is used.
    result<heap_view> (*view)(const std::filesystem::path& path);
    /// The facts in the discipline's area of the superblock.
    facts (*describe)(const layout::superblock& s);
};

/// The row of the discipline in this file's header. If the header is damaged, a row whose functions
/// report that.
[[nodiscard]] const region_kind& kind_of(const std::string& path);
[[nodiscard]] const region_kind& kind_of(discipline d);
/// Call before command_line(), after registry::add().
void add_kind(const region_kind& k);

/// check for a discipline of which only its program knows what a region holds: header, epoch record
/// and journal.
int check_header(const std::string& path, bool as_json);
/// check for maps.
int check_map(const std::string& path, bool as_json);
/// No facts.
facts no_facts(const layout::superblock& s);

}  // namespace hf::tool
