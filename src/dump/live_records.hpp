// dump/live_records.hpp: the records of a store that a client could read, from a region that is
// opened for inspection.
//
// Purpose. Dumps (dump.hpp) and compaction (compact.hpp) read a whole store in key order. Expired
// and flushed records are left out. Values that are no records of a store, of programs that use a
// map directly, are passed on unchanged.
#pragma once

#include <holdfast/map.hpp>

#include "dump/dump_text.hpp"
#include "store/store_record.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <utility>

namespace hf::detail {

/// Opens a map of any discipline for inspection. `task`: a verb, for an error. An eager region is
/// audited before, because readers of eager indexes trust their data.
[[nodiscard]] result<map> open_to_read(const std::filesystem::path& path, const std::string& task);

/// The store's own record; default values if the region is a plain map.
[[nodiscard]] result<master_record> master_of(const map& m);

/// Decodes values, and counts those that are left out.
class live_records {
   public:
    using user = std::function<result<void>(const dump_line&)>;

    /// `now`: seconds since 1970; records expired by then are left out.
    live_records(const master_record& master, u64 now, user use)
        : master_(master),
          now_(now),
          all_flushed_(master.flush_at != 0 && master.flush_at <= now),
          use_(std::move(use)) {}

    /// When a flush_all that is still to come is due; 0: none.
    [[nodiscard]] u64 flush_at() const noexcept { return all_flushed_ ? 0 : master_.flush_at; }
    /// Calls the user, unless the record is left out.
    [[nodiscard]] result<void> add(std::string_view key, std::string_view bytes);
    /// Number of records that are expired or flushed.
    [[nodiscard]] u64 absent() const noexcept { return absent_; }

   private:
    master_record master_;
    u64 now_;
    bool all_flushed_;
    user use_;
    u64 absent_ = 0;
};

/// Estimated bytes of a record beyond key and value, for a progress.
inline constexpr u64 record_overhead = 64;

using record_visitor = std::function<result<void>(std::string_view key, std::string_view bytes)>;
/// Visits all records by ascending key. For an unordered index all keys are kept in memory.
[[nodiscard]] result<void> visit_by_key(const map& m, const record_visitor& visit);

}  // namespace hf::detail
