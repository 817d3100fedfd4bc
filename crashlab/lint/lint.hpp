// lint/lint.hpp: finds mistakes in one trace, without exploration.
//
// Purpose. Two sources report the same writes (trace/recorder.hpp): the compiler's instrumentation
// reports stores, the persist layer reports requests to make them durable. If they disagree, or
// a request is useless, a rule reports it; findings of one rule at one place are merged.
//
//   unnoted              error    an epoch was announced without a flush of one of its stores
//   acknowledged_early   error    the store was flushed, but is not durable at the announcement
//   returned_early       error    an operation returned before a store of its own was durable
//   published_early      error    a release store came before the data it publishes was durable
//   dirty_read           error    a thread acted durably on another thread's non-durable store
//   released_early       warning  a lock was released before a store made under it was durable
//   flush_of_clean_line  warning  the write-back has nothing to write
//   empty_fence          warning  the fence has nothing to wait for
//   mixed_streaming      info     streamed and cached stores to one line before a fence
//
// "Flushed" means: added to a dirty list in the store's epoch, flushed after it, streamed, or
// written by a system call. A line has the same floors as in the crash model (model/line.hpp).
// dirty_reads.hpp defines durable acts for each discipline. That rule needs a trace with
// loads (laboratory::record(..., loads::dirty)); the others ignore loads.
//
// Which rules apply. The first two concern epochs, and apply to promise::at_epoch_end; the next two
// and released_early concern operations (begin_operation(), end_operation()), and apply to
// promise::at_once. Then a store made within an operation must be durable when it returns; the
// data published by a release store, that is every earlier store of the operation to another line,
// must be durable first; and so must the data guarded by a lock when it is released, or the next
// owner has to make it durable (dirty_read). lint_rules::silent disables single rules.
//
// Stores that need not survive are identified by the function that makes them, not by their
// line, which may contain other data: see volatile_place.
//
// Limits. The lint sees one run, and checks only epochs that end in it; stores of recovery
// before operations begin are left to the exploration. Space written outside of any operation
// while another thread ends the epoch would be reported although the epoch does not promise it.
#pragma once

#include <holdfast/crashlab/rules.hpp>

#include "crashlab/lint/dirty_reads.hpp"
#include "crashlab/report/places.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace hf::lab {

enum class severity : u8 { error, warning, info };

[[nodiscard]] std::string_view to_string(severity s) noexcept;
[[nodiscard]] std::string_view to_string(rule r) noexcept;
[[nodiscard]] severity severity_of(rule r) noexcept;
/// The meaning of a rule, in one sentence.
[[nodiscard]] std::string_view meaning_of(rule r) noexcept;

/// The rules of this project's checkpointing; see holdfast/crashlab/rules.hpp.
[[nodiscard]] const lint_rules& project_rules();

struct lint_finding {
    rule broken = rule::unnoted;
    std::string place;  ///< for a dirty read: the load
    /// For a flush: the last store to the line; "" if none. For a dirty read: the store.
    std::string stored_at;
    std::string acted_at;  ///< for a dirty read: the durable act
    u64 count = 0;
    u32 event = 0;  ///< the first
};

/// Errors first, then by count.
[[nodiscard]] std::vector<lint_finding> lint(const std::vector<event>& trace,
                                             const source_places& places,
                                             const lint_rules& rules = project_rules());

/// Adds the findings of another trace.
void merge(std::vector<lint_finding>& into, const std::vector<lint_finding>& more);

[[nodiscard]] bool has_errors(const std::vector<lint_finding>& all) noexcept;
/// For a terminal; findings below `least` are left out.
[[nodiscard]] std::string to_text(const std::vector<lint_finding>& all,
                                  severity least = severity::info);

}  // namespace hf::lab
