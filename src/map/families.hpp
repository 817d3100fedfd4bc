// map/families.hpp: the families of maps, one row each.
#pragma once

#include "index/masstree/audit.hpp"
#include "map_engine/map_engine.hpp"

#include <filesystem>
#include <memory>

namespace hf {

struct map_family {
    discipline kind;
    result<std::unique_ptr<map_engine>> (*open)(const std::filesystem::path& path,
                                                const map_options& options);
    /// Audits the file; no process may have it open.
    result<audit_report> (*audit)(const std::filesystem::path& path,
                                  const audit_progress& progress);
    /// Makes a copied file ready for use, as recovery would.
    result<void> (*settle)(const std::filesystem::path& image);
};

/// The index of a map of the default family.
inline constexpr std::string_view default_index = "masstree";
[[nodiscard]] const map_family* default_family() noexcept;
/// nullptr: maps are not of this discipline.
[[nodiscard]] const map_family* find_family(discipline kind) noexcept;
/// The family of an existing region, or the one to create with these options.
[[nodiscard]] result<const map_family*> family_for(const std::filesystem::path& path,
                                                   const map_options& options);

}  // namespace hf
