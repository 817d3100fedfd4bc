// report/timeline.hpp: a finding, drawn: what was written, what of it reached the medium, and what
// recovery said.
//
// Purpose. A replay token names lines and numbers; this shows what they mean. For each crash of a
// finding: the events that concern the lines in question, in order, with their places in the
// source; then, at the crash, what each line held, and which stores were lost.
//
// Which lines. Those that the finding chooses a content for, and of the others that were unsure at
// the crash the nearest ones: a finding is as often about a line that stayed old.
#pragma once

#include "crashlab/explore/explorer.hpp"
#include "crashlab/report/places.hpp"

#include <string>
#include <vector>

namespace hf::lab {

/// One crash, with what led to it. The model is that of the trace's beginning.
struct told_stage {
    std::vector<event> trace;
    crash_model before;
    stage crash;
};

/// What became of a store.
enum class fate : u8 {
    none,     ///< it is no store
    sure,     ///< fenced before the crash
    reached,  ///< it was on its way, and arrived
    lost,
};

[[nodiscard]] std::string_view to_string(fate f) noexcept;

struct timeline_row {
    event what;
    u32 number = 0;  ///< in the trace
    fate became = fate::none;
    std::string place;
    std::string label;  ///< of a point: its name; of an operation: what it does
};

/// What a line held at the crash.
struct held_line {
    u64 line = 0;
    u32 chosen = 0;
    u32 versions = 1;
    u32 on_way = 0;   ///< stores that were unsure
    u32 reached = 0;  ///< of them
    line_content content;
};

struct timeline_stage {
    std::vector<timeline_row> rows;
    std::vector<held_line> held;
    std::string file;  ///< what became of the file's length and name; "" if nothing was unsure
    u32 crash = 0;
    u32 events = 0;       ///< in the trace
    bool killed = false;  ///< the process alone
};

struct timeline {
    std::string title;
    std::string what;  ///< is wrong; "": nothing
    std::string asked;
    std::vector<timeline_stage> stages;
};

/// `places` must know the traces' events; `who`, if given, what its operations are.
[[nodiscard]] timeline make_timeline(std::string title, const finding& f,
                                     const std::vector<told_stage>& stages,
                                     const source_places& places, const target* who = nullptr);

/// What stage number `i` of several is.
[[nodiscard]] std::string heading(const timeline& t, std::size_t i);

/// For a terminal, at most 120 columns wide.
[[nodiscard]] std::string to_text(const timeline& t);
/// A file of its own.
[[nodiscard]] std::string to_svg(const timeline& t);

inline constexpr std::string_view nothing_wrong = "nothing wrong";

/// Of the stores on their way, which are in this content: the fewest that make it.
[[nodiscard]] std::vector<bool> stores_in(const line_state& line, const line_content& content);

namespace detail {
/// The rows to show: of long stretches only the ends.
struct excerpt {
    std::vector<std::size_t> rows;  ///< or `gap`
    std::vector<std::size_t> gaps;  ///< how many rows each leaves out
    static constexpr std::size_t gap = ~std::size_t{0};
};
[[nodiscard]] excerpt excerpt_of(const std::vector<timeline_row>& rows, std::size_t most);
[[nodiscard]] std::string_view to_string(store_kind k) noexcept;
/// An event's value in few words.
[[nodiscard]] std::string words_of(const timeline_row& r);
}  // namespace detail

}  // namespace hf::lab
