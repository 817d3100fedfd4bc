// A timeline for a terminal.
#include "crashlab/report/timeline.hpp"

#include <fmt/format.h>

namespace hf::lab {
namespace {

constexpr std::size_t width = 120;
/// Maximum run of rows that are not about possibly lost stores.
constexpr std::size_t most_quiet = 12;

/// Truncated at its end, or at its beginning (for a path).
std::string cut(std::string text, std::size_t most, bool at_front = false) {
    if (text.size() <= most) return text;
    if (at_front) return "..." + text.substr(text.size() - most + 3);
    text.resize(most - 3);
    return text + "...";
}

std::string where_of(const event& e) {
    switch (e.kind) {
        case event_kind::store:
        case event_kind::noted:
        case event_kind::load:
            return fmt::format("{:x}+{:02x}", e.where / line_size, e.where % line_size);
        case event_kind::flush:
            return fmt::format("{:x}", e.where / line_size);
        default:
            return "";
    }
}

std::string text_of(const timeline_row& r) {
    const event& e = r.what;
    const std::string front = fmt::format("  {:>7}  t{}  {:<9}  {:<10}  ", r.number, e.thread,
                                          to_string(e.kind), where_of(e));
    if (e.kind == event_kind::point) return cut(front + r.label, width) + "\n";
    std::string line = front + fmt::format("{:<26}  {:<7}  {}", detail::words_of(r),
                                           to_string(r.became), cut(r.place, 40, true));
    line.erase(line.find_last_not_of(' ') + 1);
    return cut(std::move(line), width) + "\n";
}

std::string bytes_of(const line_content& c) {
    std::string text;
    for (std::size_t word = 0; word < line_size / 8; ++word) {
        u64 value = 0;
        __builtin_memcpy(&value, c.bytes.data() + word * 8, 8);
        if (word % 4 == 0) text += word == 0 ? "           " : "\n           ";
        text += fmt::format("  +{:02x} {:016x}", word * 8, value);
    }
    return text + "\n";
}

std::string text_of(const held_line& h) {
    std::string text = fmt::format("    line {:x} (byte 0x{:x}): ", h.line, h.line * line_size);
    if (h.on_way == 0) {
        text += "nothing was unsure\n";
    } else {
        text += fmt::format("{} of {} unsure stores reached it (content {} of {})\n", h.reached,
                            h.on_way, h.chosen, h.versions);
    }
    return text + bytes_of(h.content);
}

std::string text_of(const timeline_stage& s) {
    std::string text = fmt::format("  {:>7}  {:<2}  {:<9}  {:<10}  {:<26}  {:<7}  {}\n", "event",
                                   "th", "what", "line+byte", "value", "fate", "place");
    const auto shown = detail::excerpt_of(s.rows, most_quiet);
    std::size_t gap = 0;
    for (const std::size_t i : shown.rows) {
        if (i == detail::excerpt::gap) {
            text += fmt::format("           ... {} more\n", shown.gaps[gap++]);
        } else {
            text += text_of(s.rows[i]);
        }
    }
    text += fmt::format("  ======= crash {} event {} of {} ",
                        s.crash < s.events ? "before" : "after", s.crash, s.events);
    text.append(50, '=');
    text += '\n';
    for (const held_line& h : s.held) text += text_of(h);
    if (!s.file.empty()) text += "    " + s.file + "\n";
    return text;
}

}  // namespace

std::string to_text(const timeline& t) {
    std::string text = t.title + "\n";
    for (std::size_t i = 0; i < t.stages.size(); ++i) {
        if (t.stages.size() > 1) {
            text += heading(t, i) + "\n";
        }
        text += text_of(t.stages[i]);
    }
    return text +
           fmt::format("  {} found:\n    {}\n", t.asked, t.what.empty() ? nothing_wrong : t.what);
}

}  // namespace hf::lab
