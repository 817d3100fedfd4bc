// lint/lint.hpp: mistakes that a single trace shows, without exploration.
//
// Purpose. Two sources report the same writes (trace/recorder.hpp): the compiler's instrumentation
// reports the stores, the persist layer the requests to make lines durable. If they disagree, or
// the second did unnecessary work, a rule fires; findings of one rule at one place are merged.
//
//   unnoted              error    a store of an announced epoch was not reported
//   acknowledged_early   error    it was reported, but is not durable yet
//   returned_early       error    an operation returned while a store of its own is not durable
//   published_early      error    a release store precedes the durability of what it publishes
//   dirty_read           error    a thread acted durably on data that another had not made durable
//   released_early       warning  a lock was released while a store made under it is not durable
//   flush_of_clean_line  warning  the write-back has nothing to write
//   empty_fence          warning  the fence has nothing to wait for
//   mixed_streaming      info     streamed and cached stores to one line before a fence
//
// "Reported" means: recorded in the store's epoch, flushed after it, streamed, or written by a
// system call. A line is judged by the floors of the crash model (model/line.hpp).
// Durable acts, by discipline: dirty_reads.hpp. That rule needs a trace with loads
// (laboratory::record(..., loads::dirty)); the others accept such a trace.
//
// Applicability. The first two are about epochs, and apply with promise::at_epoch_end. The next two
// and released_early are about operations (begin_operation(), end_operation()), and apply with
// promise::at_once: a store made within an operation is durable when it returns; everything that a
// release store publishes, that is every earlier store of the operation to another line, is durable
// first; and so is what a lock guards when it is released, or the next holder must persist it
// (dirty_read). lint_rules::silent disables single rules.
//
// Volatile stores. Stores that need not survive are identified by the code that makes them, not by
// their line, which may contain other data: see volatile_place.
//
// Limits. The lint sees one run, and judges only epochs that end in it: stores of open(), before
// operations may run, are left to the exploration. Memory written outside of operations while
// another thread ends the epoch would be reported although the epoch does not cover it.
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
/// One sentence.
[[nodiscard]] std::string_view meaning_of(rule r) noexcept;

/// The rules of this project's checkpointing; holdfast/crashlab/rules.hpp describes the options.
[[nodiscard]] const lint_rules& project_rules();

struct lint_finding {
    rule broken = rule::unnoted;
    std::string place;  ///< of a dirty read: the load
    /// Flush: where the line was last stored to; "" if nowhere. Dirty read: the store.
    std::string stored_at;
    std::string acted_at;  ///< of a dirty read: the durable act
    u64 count = 0;
    u32 event = 0;  ///< the first one
};

/// Sorted: errors first, then by count.
[[nodiscard]] std::vector<lint_finding> lint(const std::vector<event>& trace,
                                             const source_places& places,
                                             const lint_rules& rules = project_rules());

/// Adds the findings of another trace.
void merge(std::vector<lint_finding>& into, const std::vector<lint_finding>& more);

[[nodiscard]] bool has_errors(const std::vector<lint_finding>& all) noexcept;
/// For a terminal; findings below severity `least` are omitted.
[[nodiscard]] std::string to_text(const std::vector<lint_finding>& all,
                                  severity least = severity::info);

}  // namespace hf::lab
