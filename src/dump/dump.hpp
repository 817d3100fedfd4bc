// dump/dump.hpp: a store as text, and back again. The format is dump_text.hpp's.
//
// Purpose. dump_store() reads a region that nobody uses, through an opening for inspection: after a
//  crash it sees the state that a recovery would find, and changes nothing. What it writes is what
//  a client could read: expired and flushed records are left out.
// What is kept. Key, data, flags and expiry always; the cas unique in a region that is made new,
//  which then gives out none that the dump holds (docs/store.md). Values that are no records of a
//  store, as programs put them that use a map by itself, are carried as they are.
// A new region gets its name once everything is in it (image/partial.hpp). Into an existing one
//  only a dump is brought that has been read to its end and found whole before.
#pragma once

#include "dump/dump_text.hpp"
#include "map/inspect.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace hf {

/// Called now and then with how much is done: bytes of the map while dumping, of text while
/// loading. A total of 0 is not known.
using transfer_progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

struct dump_report {
    detail::dump_totals text;
    std::uint64_t absent = 0;  ///< expired or flushed
};

/// `now`: seconds since 1970; what has expired by then is left out. errc::corrupt: something is
/// damaged, and the dump ends there; an eager region is checked before. Of an index without order
/// all keys are kept in memory.
[[nodiscard]] result<dump_report> dump_store(const std::filesystem::path& region, std::uint64_t now,
                                             detail::dump_writer::sink to,
                                             const transfer_progress& progress = {});

struct salvage_report {
    dump_report dumped;
    audit_report found;
    std::uint64_t ambiguous = 0;  ///< records left out, for others had the same key
};

/// The same of a region that may be damaged: checks all of it, and writes what is sound. What is
/// not is named by the check's report; how many records were there nobody knows. It keeps all keys
/// in memory. errc::corrupt: it can't be opened, or what it is like can't be told.
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

/// A new region with what the dump holds.
[[nodiscard]] result<detail::dump_totals> load_new(const std::filesystem::path& region,
                                                   detail::dump_reader& from,
                                                   const load_options& options = {},
                                                   const transfer_progress& progress = {});

/// Reads a dump to its end, which tells whether it is whole, and keeps nothing of it.
[[nodiscard]] result<detail::dump_totals> verify_dump(detail::dump_reader& from,
                                                      const transfer_progress& progress = {});

/// Adds what the dump holds to a region that is there; records of the same keys are replaced, and
/// every record gets a new cas unique. The caller has verified the dump.
[[nodiscard]] result<detail::dump_totals> load_into(const std::filesystem::path& region,
                                                    detail::dump_reader& from,
                                                    const transfer_progress& progress = {});

}  // namespace hf
