// holdfast/crashlab/rules.hpp: the rules of the crash lab's lint that apply to a target. They
// depend on its discipline: when a thread's work is promised to survive, and which stores need not
// survive. See docs/crashlab.md, "The lint".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace hf::lab {

enum class rule : std::uint8_t {
    unnoted,
    acknowledged_early,
    returned_early,
    published_early,
    dirty_read,
    released_early,
    flush_of_clean_line,
    empty_fence,
    mixed_streaming,
};

/// When the discipline promises that a thread's work survives.
enum class promise : std::uint8_t {
    at_epoch_end,
    at_once,
};

/// Which loads count as reading a value that another thread stored.
enum class reads : std::uint8_t {
    all,
    acquiring,  ///< acquire loads only: an optimistic reader discards its others if it must retry
};

/// Stores made by functions of `file` (the end of a path) need not survive, except those with one
/// of the functions `durable` of that file in their call chain.
struct volatile_place {
    std::string_view file;
    std::vector<std::string_view> durable;
};

/// Functions of `file` (the end of a path).
struct functions_of {
    std::string_view file;
    std::vector<std::string_view> names;
};

struct lint_rules {
    std::vector<volatile_place> volatile_places;
    /// A persist point with this prefix begins a session: operations that were running before it
    /// belong to a failed epoch, and nothing promises them. Empty: there is none.
    std::string_view opening;
    /// At a persist point with this prefix all stores of the epoch must be durable, so that the
    /// epoch may be counted; it is announced later. Empty: there is none.
    std::string_view written_back;
    /// When a thread's work is promised. Determines what a durable act is (lint/dirty_reads.hpp),
    /// and whether the rules about epochs or those about operations apply.
    promise durable = promise::at_epoch_end;
    /// The functions that store the epoch count; none: only the announcement is checked.
    functions_of record = {};
    /// After a persist point with this prefix, the thread's next fence makes something durable that
    /// outlives a failed epoch and depends on values that the thread has read. Empty: none.
    std::string_view lasting = {};
    reads dirty = reads::all;
    /// Ends of paths: stores made in these files do not depend on values that were read, because
    /// the stored data is harmless even if it is all that a crash leaves.
    std::vector<std::string_view> rests_on_nothing = {};
    /// Rules that do not apply to the target.
    std::vector<rule> silent = {};
};

}  // namespace hf::lab
