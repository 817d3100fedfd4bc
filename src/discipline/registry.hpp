// discipline/registry.hpp: the disciplines that this program knows, a row each.
//
// Purpose. The header of a region holds the number of its discipline. The code that opens, copies
// and describes regions of any discipline asks the row of that number; it names no discipline. So a
// further discipline is one row and the folder of its own code. The command line has a table of the
// same kind for its verbs (tools/holdfast/region_kind.hpp).
//
// A program that brings a discipline of its own calls add() before it opens a region.
// tests/programs/made_up is an example: a discipline of a hundred lines, with its row, verbs and
// lab target.
//
// Numbers. They lie on the medium: 1 to 8 are Holdfast's, those up to 127 are kept for it, and
// 128 to 255 are for other programs. A number is never used again.
//
// Threads. add() must have returned before another thread calls any function of this file.
#pragma once

#include <holdfast/options.hpp>

#include <span>
#include <string>
#include <string_view>

namespace hf::registry {

struct row {
    discipline number;
    std::string_view name;
    /// Completes a sentence that begins with "its discipline is NAME: ".
    std::string_view contents;
    /// False: nothing in such a region outlives its process.
    bool is_durable;
    /// Operations belong to epochs on every medium, not only where a sync makes them durable.
    bool has_epochs_in_place;
    /// The process that has the region open can keep its memory still for a copy
    /// (region/copy_pause.hpp), because each of its changes belongs to an epoch.
    bool pauses_for_copies;
};

/// nullptr: this program does not know the number.
[[nodiscard]] const row* find(discipline d) noexcept;
/// In the order of their numbers.
[[nodiscard]] std::span<const row> all() noexcept;
/// "transient, logged, ... or plain".
[[nodiscard]] std::string all_names();
/// Aborts the process if the number is taken, or if 32 are known.
void add(const row& r);

}  // namespace hf::registry
