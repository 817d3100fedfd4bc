// dump/compact.hpp: gives the space of a map's region back to the file system.
//
// Purpose. A region never becomes shorter, and blocks of one size stay in the slabs of that size.
// compact_map() copies all records that a client could read, in key order, to a new region beside
// the old one, which then takes its name. Kept: discipline, index, small values in leaves, data,
// flags, expiry, cas uniques (a later one is greater than all that the old region gave out), values
// of programs that use a map directly. Not kept: expired and flushed records, the old identity and
// number of openings.
//
//     FILE            open for inspection     closed           gone
//     FILE.partial    loaded                  closed, holes    FILE
//                                                        ^ rename: image/partial.hpp, N1, N2
//
// After a crash. FILE is the old region or the new one, and whole; FILE.partial is removed by the
// next compaction. A region that was not closed in order is opened and closed first, which removes
// its journal: otherwise a crash after the rename would leave it beside the new region.
//
// Concurrency. No process may have the region open for writing, from the beginning on, nor for
// reading at the end: errc::busy.
// Full disk. errc::no_space; the old region is unchanged. The new one needs room for its records
// beside it.
#pragma once

#include <holdfast/result.hpp>

#include "base/bits.hpp"
#include "dump/dump.hpp"

#include <filesystem>

namespace hf {

struct compact_report {
    u64 records = 0;        ///< in the region, values that are no records of a store included
    u64 absent = 0;         ///< expired or flushed: left out
    u64 bytes_before = 0;   ///< length of the file
    u64 bytes = 0;          ///< now
    u64 stored_before = 0;  ///< bytes that the file took on its file system
    u64 stored = 0;         ///< now
};

/// `now`: seconds since 1970. errc::incompatible: the region holds no map that can be opened by the
/// name of its index alone.
[[nodiscard]] result<compact_report> compact_map(const std::filesystem::path& region, u64 now,
                                                 const transfer_progress& progress = {});

}  // namespace hf
