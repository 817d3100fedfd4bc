// report/timeline.hpp: draws a finding: the stores, those that reached the medium, and
// the error of recovery.
//
// Purpose. A replay token names lines and numbers; this shows their meaning. For each crash of a
// finding: the events on the relevant lines, in order, with their source locations;
// then the content of each line at the crash, and the lost stores.
//
// Relevant lines are those for which the finding chooses a content, and the nearest of the other
// possibly volatile ones: a finding is as often caused by a line that stayed old.
#pragma once

#include "crashlab/explore/explorer.hpp"
#include "crashlab/report/places.hpp"

#include <string>
#include <vector>

namespace hf::lab {

/// One crash, with the events before it. The model is that of the trace's beginning.
struct told_stage {
    std::vector<event> trace;
    crash_model before;
    stage crash;
};

/// The outcome of a store.
enum class fate : u8 {
    none,     ///< not a store
    sure,     ///< fenced before the crash
    reached,  ///< not guaranteed, but it reached the medium
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

/// The content of a line at the crash.
struct held_line {
    u64 line = 0;
    u32 chosen = 0;
    u32 versions = 1;
    u32 on_way = 0;   ///< number of stores that were not durable
    u32 reached = 0;  ///< those of them that reached the medium
    line_content content;
};

struct timeline_stage {
    std::vector<timeline_row> rows;
    std::vector<held_line> held;
    std::string file;  ///< outcome for the file's length and name; "" if both were durable
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

/// `places` must contain the traces' events; `who`, if given, describes its operations.
[[nodiscard]] timeline make_timeline(std::string title, const finding& f,
                                     const std::vector<told_stage>& stages,
                                     const source_places& places, const target* who = nullptr);

/// The heading of stage number `i`.
[[nodiscard]] std::string heading(const timeline& t, std::size_t i);

/// For a terminal, at most 120 columns wide.
[[nodiscard]] std::string to_text(const timeline& t);
/// A complete SVG file.
[[nodiscard]] std::string to_svg(const timeline& t);

inline constexpr std::string_view nothing_wrong = "nothing wrong";

/// The smallest set of non-durable stores that produces this content.
[[nodiscard]] std::vector<bool> stores_in(const line_state& line, const line_content& content);

namespace detail {
/// The rows to show; long stretches are abbreviated to their ends.
struct excerpt {
    std::vector<std::size_t> rows;  ///< or `gap`
    std::vector<std::size_t> gaps;  ///< number of rows left out by each gap
    static constexpr std::size_t gap = ~std::size_t{0};
};
[[nodiscard]] excerpt excerpt_of(const std::vector<timeline_row>& rows, std::size_t most);
[[nodiscard]] std::string_view to_string(store_kind k) noexcept;
/// A short text for an event's value.
[[nodiscard]] std::string words_of(const timeline_row& r);
}  // namespace detail

}  // namespace hf::lab
