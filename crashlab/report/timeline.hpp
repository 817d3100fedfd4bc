// report/timeline.hpp: draws a finding: what was written, what of it reached the medium, and what
// recovery reported.
//
// Purpose. A replay token contains lines and numbers; this shows their meaning. For each crash of a
// finding it lists the events that concern the relevant lines, in order, with their source places;
// then the content of each line at the crash, and which stores were lost.
//
// Relevant lines are those for which the finding chooses a content, and the nearest of the others
// that were not durable at the crash, because a finding is often about a line that stayed old.
#pragma once

#include "crashlab/explore/explorer.hpp"
#include "crashlab/report/places.hpp"

#include <string>
#include <vector>

namespace hf::lab {

/// One crash and the trace before it. `before` is the model at the trace's beginning.
struct told_stage {
    std::vector<event> trace;
    crash_model before;
    stage crash;
};

/// The outcome of a store.
enum class fate : u8 {
    none,     ///< not a store
    sure,     ///< fenced before the crash
    reached,  ///< in flight, and reached the medium
    lost,
};

[[nodiscard]] std::string_view to_string(fate f) noexcept;

struct timeline_row {
    event what;
    u32 number = 0;  ///< in the trace
    fate became = fate::none;
    std::string place;
    std::string label;  ///< of a point: its name; of an operation: its description
};

/// A line's content at the crash.
struct held_line {
    u64 line = 0;
    u32 chosen = 0;
    u32 versions = 1;
    u32 on_way = 0;   ///< number of stores in flight
    u32 reached = 0;  ///< of these, on the medium
    line_content content;
};

struct timeline_stage {
    std::vector<timeline_row> rows;
    std::vector<held_line> held;
    std::string file;  ///< the outcome of the file's length and name; "" if they were durable
    u32 crash = 0;
    u32 events = 0;       ///< in the trace
    bool killed = false;  ///< only the process died
};

struct timeline {
    std::string title;
    std::string what;  ///< the error; "": none
    std::string asked;
    std::vector<timeline_stage> stages;
};

/// `places` must know the traces' events; `who`, if given, describes the operations.
[[nodiscard]] timeline make_timeline(std::string title, const finding& f,
                                     const std::vector<told_stage>& stages,
                                     const source_places& places, const target* who = nullptr);

/// The heading of stage number `i`.
[[nodiscard]] std::string heading(const timeline& t, std::size_t i);

/// For a terminal, at most 120 columns wide.
[[nodiscard]] std::string to_text(const timeline& t);
/// A separate file.
[[nodiscard]] std::string to_svg(const timeline& t);

inline constexpr std::string_view nothing_wrong = "nothing wrong";

/// Which of the stores in flight are in this content: a smallest set that produces it.
[[nodiscard]] std::vector<bool> stores_in(const line_state& line, const line_content& content);

namespace detail {
/// The rows to show: only the ends of long parts.
struct excerpt {
    std::vector<std::size_t> rows;  ///< or `gap`
    std::vector<std::size_t> gaps;  ///< the number of rows omitted by each gap
    static constexpr std::size_t gap = ~std::size_t{0};
};
[[nodiscard]] excerpt excerpt_of(const std::vector<timeline_row>& rows, std::size_t most);
[[nodiscard]] std::string_view to_string(store_kind k) noexcept;
/// An event's value in a few words.
[[nodiscard]] std::string words_of(const timeline_row& r);
}  // namespace detail

}  // namespace hf::lab
