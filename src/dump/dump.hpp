// dump/dump.hpp: dumps a store as text, and loads it again. The format: dump_text.hpp.
//
// Purpose. dump_store() opens a region for inspection, while no process uses it. After a crash it
// sees the state that recovery would produce, and changes nothing. It writes what a client could
// read: expired and flushed records are omitted.
// Contents. Key, data, flags and expiry are always preserved; cas uniques only if the dump is
// loaded into a new region, which then never assigns one that the dump contains (docs/store.md).
// Values that are not records of a store, from programs that use a map directly, are preserved
// unchanged.
// A new region gets its name after it is complete (image/partial.hpp). Before a dump is loaded into
// an existing region, it is read to its end and verified.
#pragma once

#include "dump/dump_text.hpp"
#include "map/inspect.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace hf {

/// Called from time to time with the progress: bytes of the map while dumping, of text while
/// loading. A total of 0 is unknown.
using transfer_progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

struct dump_report {
    detail::dump_totals text;
    std::uint64_t absent = 0;  ///< expired or flushed
};

/// `now`: seconds since 1970; records expired by then are omitted. errc::corrupt: data is damaged,
/// and the dump ends there; an eager region is audited before. For an unordered index all keys are
/// kept in memory.
[[nodiscard]] result<dump_report> dump_store(const std::filesystem::path& region, std::uint64_t now,
                                             detail::dump_writer::sink to,
                                             const transfer_progress& progress = {});

struct salvage_report {
    dump_report dumped;
    audit_report found;
    std::uint64_t ambiguous = 0;  ///< records omitted because another had the same key
};

/// Dumps a region that may be damaged: audits all of it, and writes the sound records. The report
/// lists the damage; the number of lost records is unknown. Keeps all keys in memory.
/// errc::corrupt: the region cannot be opened, or its type cannot be determined.
[[nodiscard]] result<salvage_report> salvage_store(const std::filesystem::path& region,
                                                   std::uint64_t now, detail::dump_writer::sink to,
                                                   const audit_progress& progress = {});

struct load_options {
    bool new_uniques = false;  ///< assign new cas uniques, also in a new region
    bool replace = false;      ///< load_new(): replace an existing region of this name
    std::optional<discipline> kind = std::nullopt;  ///< load_new(): see map_options::kind
    std::string index = {};                         ///< load_new(): see map_options::index
    /// load_new(): see map_options::small_values_in_leaves
    bool small_values_in_leaves = false;
};

/// Creates a region with the contents of the dump.
[[nodiscard]] result<detail::dump_totals> load_new(const std::filesystem::path& region,
                                                   detail::dump_reader& from,
                                                   const load_options& options = {},
                                                   const transfer_progress& progress = {});

/// Reads a dump to its end to verify that it is complete; keeps nothing.
[[nodiscard]] result<detail::dump_totals> verify_dump(detail::dump_reader& from,
                                                      const transfer_progress& progress = {});

/// Adds the dump's contents to an existing region. Records with the same keys are replaced, and
/// every record gets a new cas unique. The caller has verified the dump.
[[nodiscard]] result<detail::dump_totals> load_into(const std::filesystem::path& region,
                                                    detail::dump_reader& from,
                                                    const transfer_progress& progress = {});

}  // namespace hf
