// lint/lint.hpp: mistakes that one trace shows, without exploring anything.
//
// Purpose. Two sources tell of the same writes (trace/recorder.hpp): the compiler's instrumentation
// of the stores, the persist layer of what it was asked to make durable. Where they disagree, or
// the second was asked for nothing, a rule fires; findings of one rule at one place are one.
//
//   unnoted              error    the persist layer never heard of a store of an announced epoch
//   acknowledged_early   error    it heard of it, but the store is still on its way
//   returned_early       error    an operation returned while a store of its own is on its way
//   published_early      error    a release store came before what it publishes was sure
//   dirty_read           error    a thread acted durably upon what another had not made durable
//   released_early       warning  a lock was given back while a store made under it is on its way
//   flush_of_clean_line  warning  the write-back has nothing to write
//   empty_fence          warning  the fence has nothing to wait for
//   mixed_streaming      info     streamed and cached stores to one line before a fence
//
// "Heard" means: noted in the store's epoch, flushed after it, streamed, or written by a system
// call. A line is judged by the same floors as in the crash model (model/line.hpp).
// What acting durably means in which discipline: dirty_reads.hpp. That rule needs a trace with
// loads (laboratory::record(..., loads::dirty)); the others don't mind them.
//
// Which hold. The first two are about epochs, and hold where promise is at_epoch_end; the next two
// and released_early are about operations (begin_operation(), end_operation()), and hold where it
// is at_once: a store made inside of an operation is sure when it returns; what a release store
// publishes, that is every store to another line that the operation has made before it, is sure
// first; and so is what a lock guards when it is given back, or whoever takes it has to see to it
// (dirty_read). lint_rules::silent turns single ones off.
//
// What need not survive. Stores that are volatile in meaning are told by who makes them, not by the
// line they go to, which may hold other things: see volatile_place.
//
// Limits. A lint sees one run, and judges only epochs that end in it: what an opening stores before
// it lets operations in is left to the exploration. Space that is written outside of any operation
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
/// One sentence.
[[nodiscard]] std::string_view meaning_of(rule r) noexcept;

/// Of this project's checkpointing; holdfast/crashlab/rules.hpp says what a discipline chooses.
[[nodiscard]] const lint_rules& project_rules();

struct lint_finding {
    rule broken = rule::unnoted;
    std::string place;  ///< of a dirty read: the load
    /// Of a flush: where the line was last stored to; "" if nowhere. Of a dirty read: the store.
    std::string stored_at;
    std::string acted_at;  ///< of a dirty read: the durable act
    u64 count = 0;
    u32 event = 0;  ///< the first
};

/// Errors first, then by count.
[[nodiscard]] std::vector<lint_finding> lint(const std::vector<event>& trace,
                                             const source_places& places,
                                             const lint_rules& rules = project_rules());

/// Adds what another trace showed.
void merge(std::vector<lint_finding>& into, const std::vector<lint_finding>& more);

[[nodiscard]] bool has_errors(const std::vector<lint_finding>& all) noexcept;
/// For a terminal; findings below `least` are left out.
[[nodiscard]] std::string to_text(const std::vector<lint_finding>& all,
                                  severity least = severity::info);

}  // namespace hf::lab
