// map/inspect.hpp: access to the implementation and the file of an hf::map, for checks, tests and
// measurements.
#pragma once

#include <holdfast/map.hpp>

#include "checkpoint/discipline.hpp"
#include "index/masstree/inspection.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

namespace hf {

template <any_discipline D>
class engine;

struct map_inspection {
    /// The engine lives as long as the map.
    [[nodiscard]] static engine<incll_discipline>& machine_of(map& m) noexcept;
    /// Whether small values are stored in the leaves of its tree.
    [[nodiscard]] static bool has_small_values(const map& m) noexcept;
    /// Waits for the sweep, so that the placement of an eager map's next records is deterministic.
    [[nodiscard]] static result<void> wait_for_sweep(map& m);
    /// Waits for the sweep of an eager map, then audits it, leaks included. The map must not be in
    /// use. errc::usage: only the file of a map of this discipline can be audited.
    [[nodiscard]] static result<audit_report> audit(map& m);
    /// As map::remove_if(), but the condition is also called with a value whose checksum is wrong.
    [[nodiscard]] static result<write_outcome> remove_unverified_if(
        map& m, std::string_view key, const std::function<bool(std::string_view)>& condition);
};

/// Audits the region file of a map of any discipline. No process may have it open. Fails if opening
/// it would fail.
[[nodiscard]] result<audit_report> audit_map(const std::filesystem::path& path,
                                             const audit_progress& progress = {});

/// Opens the map of discipline incll in a region file for inspection; the file does not change. No
/// process may have it open.
[[nodiscard]] inspection inspect_map(const std::filesystem::path& path);

/// Whether a map's root says that small values are stored in its leaves; nullopt: it is not the
/// root of a map of discipline incll.
[[nodiscard]] std::optional<bool> map_has_small_values(std::string_view root, u64 type, u64 format);

}  // namespace hf
