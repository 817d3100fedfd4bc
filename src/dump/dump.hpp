// dump/dump.hpp: converts a store to text, and back. The format is in dump_text.hpp.
//
// Purpose. dump_store() reads a region that no process uses, opened for inspection: after a crash
// it
//  sees the state that recovery would restore, and changes nothing. It writes the records that a
//  client could read: expired and flushed ones are left out.
// Preserved. Key, data, flags and expiry always; the cas unique if the region is a new one, which
//  then assigns no number that is in the dump (docs/store.md). Values that are not records of a
//  store, written by programs that use a map directly, are copied unchanged.
// A new region gets its name when it is complete (image/partial.hpp). A dump is loaded into an
//  existing region only after it has been read to its end and verified.
#pragma once

#include "dump/dump_text.hpp"
#include "map/inspect.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace hf {

/// Called from time to time with the progress: bytes of the map while dumping, of text while
/// loading. A total of 0 means unknown.
using transfer_progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

struct dump_report {
    detail::dump_totals text;
    std::uint64_t absent = 0;  ///< expired or flushed
};

/// `now`: seconds since 1970; records expired by then are left out. errc::corrupt: the region is
/// damaged, and the dump ends there; an eager region is checked before. For an unordered index
/// all keys are kept in memory.
[[nodiscard]] result<dump_report> dump_store(const std::filesystem::path& region, std::uint64_t now,
                                             detail::dump_writer::sink to,
                                             const transfer_progress& progress = {});

struct salvage_report {
    dump_report dumped;
    audit_report found;
    std::uint64_t ambiguous = 0;  ///< records left out because several had the same key
};

/// As dump_store(), for a region that may be damaged: checks all of it, and writes the valid
/// records. The check's report names the damage; the number of lost records is unknown. Keeps all
/// keys in memory. errc::corrupt: the region cannot be opened, or not be checked.
[[nodiscard]] result<salvage_report> salvage_store(const std::filesystem::path& region,
                                                   std::uint64_t now, detail::dump_writer::sink to,
                                                   const audit_progress& progress = {});

struct load_options {
    bool new_uniques = false;  ///< records get new cas uniques, also in a new region
    bool replace = false;      ///< load_new(): an existing region of this name is replaced
    std::optional<discipline> kind = std::nullopt;  ///< load_new(): as map_options::kind
    std::string index = {};                         ///< load_new(): as map_options::index
    bool small_values_in_leaves = false;            ///< load_new(): as map_options' of this name
};

/// Makes a new region from the dump.
[[nodiscard]] result<detail::dump_totals> load_new(const std::filesystem::path& region,
                                                   detail::dump_reader& from,
                                                   const load_options& options = {},
                                                   const transfer_progress& progress = {});

/// Reads a dump to its end to verify it; stores nothing.
[[nodiscard]] result<detail::dump_totals> verify_dump(detail::dump_reader& from,
                                                      const transfer_progress& progress = {});

/// Adds the dump's records to an existing region; records of the same keys are replaced, and
/// every record gets a new cas unique. The caller must have verified the dump.
[[nodiscard]] result<detail::dump_totals> load_into(const std::filesystem::path& region,
                                                    detail::dump_reader& from,
                                                    const transfer_progress& progress = {});

}  // namespace hf
