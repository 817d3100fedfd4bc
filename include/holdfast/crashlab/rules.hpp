// holdfast/crashlab/rules.hpp: which rules of the crash lab's lint hold for a target: a discipline
// says when a thread's work is promised, and what need not survive. See docs/crashlab.md, "The
// lint".
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

/// When a thread's work is promised to survive.
enum class promise : std::uint8_t {
    at_epoch_end,
    at_once,
};

/// Which loads count as having read what another thread stored.
enum class reads : std::uint8_t {
    all,
    acquiring,  ///< an optimistic reader's other loads are thrown away when they don't hold
};

/// Stores made by functions of `file` (the end of a path) need not survive, but for those whose
/// call chain in that file goes through one of `durable`.
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
    /// A persist point whose name begins like this begins a session: what was under way before
    /// belongs to an epoch that failed, and nobody will promise it. "": there is none.
    std::string_view opening;
    /// At a persist point whose name begins like this everything must be sure already, so that the
    /// epoch may be counted; an announcement comes later. "": there is none.
    std::string_view written_back;
    /// When a thread's work is promised, and so what a durable act is (lint/dirty_reads.hpp), and
    /// which of the rules about epochs and about operations hold.
    promise durable = promise::at_epoch_end;
    /// Who stores the record that counts an epoch; nobody: the announcement alone is looked at.
    functions_of record = {};
    /// Behind a persist point whose name begins like this, the thread's next fence makes something
    /// durable that outlives a failed epoch and rests on what the thread has read. "": there is
    /// none.
    std::string_view lasting = {};
    reads dirty = reads::all;
    /// Ends of paths: stores made in these files rest on nothing that was read, as what they
    /// promise is harmless where it is all that a crash leaves.
    std::vector<std::string_view> rests_on_nothing = {};
    /// Rules that don't hold here.
    std::vector<rule> silent = {};
};

}  // namespace hf::lab
