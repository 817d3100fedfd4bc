// dump/loader.hpp: stores the lines of a dump, or of another region, in a new map.
//
// Purpose. load_new() (dump.hpp) and compact_map() (compact.hpp) make a region with given records.
// Data, flags, expiry and cas uniques are kept. A store takes a block of uniques in each session,
// by the session's number, which starts at 1 in the new region; so the store's own record says
// how many blocks the loaded records have spent, and no unique is assigned twice.
#pragma once

#include <holdfast/map.hpp>

#include "dump/dump_text.hpp"
#include "store/store_record.hpp"

#include <string>

namespace hf::detail {

/// Stores lines in a map in the store's format. The empty key comes first, if it is loaded.
class loader {
   public:
    loader(map& to, bool new_uniques);

    /// errc::incompatible: its cas unique is so high that a store would run out of them.
    [[nodiscard]] result<void> put(const dump_line& line);
    /// The first `blocks` blocks of uniques were given out by the store that the lines are from,
    /// even if only to records that were removed.
    void spend(u64 blocks) noexcept { spent_ = blocks; }
    /// Writes the store's own record, unless an empty key has a value of its own: the next
    /// session's block of uniques is above all that were loaded. `flush_at`: when a flush_all is
    /// due; 0: none is.
    [[nodiscard]] result<void> finish(u64 flush_at);

   private:
    void encode(const record_header& header, std::string_view data);

    map& to_;
    bool new_uniques_;
    bool has_empty_key_ = false;
    bool short_headers_ = false;
    u64 next_ = 0;
    u64 greatest_ = 0;
    u64 spent_ = 0;
    std::string record_;
};

}  // namespace hf::detail
