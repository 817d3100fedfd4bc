#include "crashlab/report/disk_timeline.hpp"

#include "crashlab/report/canvas.hpp"
#include "crashlab/report/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace hf::lab {
namespace {

/// Maximum run of calls without possibly lost writes.
constexpr std::size_t most_quiet = 12;
constexpr std::size_t most_unsure = 60;

bool is_loud(const disk_call& c) { return c.is_unsure || c.lost() != 0 || c.kept != 0; }

timeline_row row_of(const disk_call& c) {
    timeline_row r;
    r.became = is_loud(c) ? fate::lost : fate::none;
    return r;
}

/// Omits the same parts as a timeline of lines.
detail::excerpt excerpt_of(const disk_story& s) {
    std::vector<timeline_row> rows;
    for (const disk_call& c : s.calls) rows.push_back(row_of(c));
    return detail::excerpt_of(rows, most_quiet);
}

std::string_view to_string(disk_act a) {
    switch (a) {
        case disk_act::write:
            return "write";
        case disk_act::sync:
            return "sync";
        case disk_act::extend:
            return "extend";
        case disk_act::begin:
            return "begins";
        case disk_act::point:
            return "point";
        case disk_act::refused:
            return "refused";
    }
    return "";
}

std::string where_of(const disk_call& c) {
    if (c.act == disk_act::write) {
        return fmt::format("{}+{} ({} sectors changed)", c.offset, c.size, c.sectors);
    }
    if (c.act == disk_act::extend || c.act == disk_act::begin) {
        return fmt::format("{} bytes", c.offset);
    }
    return "";
}

std::string fate_of(const disk_call& c) {
    if (c.act == disk_act::extend && c.is_unsure) {
        return c.kept != 0 ? "reached" : "LOST";
    }
    if (c.act != disk_act::write || c.sectors == 0) return "";
    if (!is_loud(c)) return "sure";
    std::string words;
    const auto add = [&](u32 n, const char* what) {
        if (n != 0) words += fmt::format("{}{} {}", words.empty() ? "" : ", ", n, what);
    };
    add(c.synced, "sure");
    add(c.kept, "reached");
    add(c.lost(), "LOST");
    return words;
}

std::string text_of(std::size_t number, const disk_call& c) {
    const std::string front = fmt::format("  {:>7}  ", number);
    std::string line = c.act == disk_act::point
                           ? front + fmt::format("{:<9}{}", to_string(c.act), c.disk)
                           : front + fmt::format("{:<9}{:<9}{:<40}  {}", to_string(c.act), c.disk,
                                                 where_of(c), fate_of(c));
    line.erase(line.find_last_not_of(' ') + 1);
    if (line.size() > 120) line.resize(120);
    return line + "\n";
}

std::string totals_of(const disk_story& s) {
    u32 kept = 0;
    u32 lost = 0;
    for (const disk_call& c : s.calls) {
        kept += c.kept;
        lost += c.lost();
    }
    return fmt::format("of {} pieces that no sync had covered {} reached their disk", kept + lost,
                       kept);
}

}  // namespace

std::string to_text(const disk_story& s) {
    std::string text = s.title + "\n";
    text += fmt::format("  {:>7}  {:<9}{:<9}{:<40}  {}\n", "call", "what", "disk", "bytes", "fate");
    const auto shown = excerpt_of(s);
    std::size_t gap = 0;
    for (const std::size_t i : shown.rows) {
        text += i == detail::excerpt::gap
                    ? fmt::format("           ... {} more\n", shown.gaps[gap++])
                    : text_of(i, s.calls[i]);
    }
    return text + fmt::format("  ======= the power goes {}\n    {}\n  recovery found:\n    {}\n",
                              std::string(60, '='), totals_of(s),
                              s.what.empty() ? nothing_wrong : s.what);
}

namespace {

constexpr int left = 110;
constexpr int top = 70;
constexpr int lane_height = 60;
constexpr int step = 22;
constexpr int row_height = 17;

class disk_picture {
   public:
    explicit disk_picture(const disk_story& s) : story_(s) {
        for (const disk_call& c : s.calls) {
            const bool has_lane = c.act != disk_act::point && c.act != disk_act::refused;
            if (has_lane && std::find(disks_.begin(), disks_.end(), c.disk) == disks_.end()) {
                disks_.push_back(c.disk);
            }
        }
    }

    std::string draw() {
        out_.text(10, 22, story_.title, "title");
        const int end = left + step * static_cast<int>(story_.calls.size() + 1);
        for (std::size_t d = 0; d < disks_.size(); ++d) {
            out_.text(10, height_of(disks_[d]) + 4, disks_[d]);
            out_.line(left, height_of(disks_[d]), end, height_of(disks_[d]), "lane");
        }
        for (std::size_t i = 0; i < story_.calls.size(); ++i) draw(i, story_.calls[i]);
        const int bottom = top + lane_height * static_cast<int>(disks_.size());
        out_.line(end, top - 30, end, bottom, "crash", "the power goes");
        out_.text(10, bottom + row_height, totals_of(story_));
        out_.text(10, bottom + 2 * row_height, story_.what.empty() ? nothing_wrong : story_.what,
                  story_.what.empty() ? "good" : "wrong");
        return out_.finish();
    }

   private:
    int height_of(const std::string& disk) const {
        const auto at = std::find(disks_.begin(), disks_.end(), disk) - disks_.begin();
        return top + lane_height * static_cast<int>(at);
    }

    void draw(std::size_t number, const disk_call& c) {
        const int x = left + step * static_cast<int>(number + 1);
        const std::string tip = text_of(number, c);
        if (c.act == disk_act::point) {
            out_.line(x, top - 30, x, top + lane_height * static_cast<int>(disks_.size()) - 30,
                      "point", tip);
            return;
        }
        if (c.act == disk_act::refused) return;
        const int y = height_of(c.disk);
        if (c.act == disk_act::sync || c.act == disk_act::begin) {
            out_.line(x, y - 18, x, y + 18, c.act == disk_act::sync ? "fence" : "announced", tip);
        } else {
            out_.circle(x, y, c.lost() != 0 ? "lost" : c.kept != 0 ? "reached" : "sure", tip);
            out_.text(x, y - 9, std::to_string(number), "number");
        }
    }

    const disk_story& story_;
    std::vector<std::string> disks_;
    detail::canvas out_;
};

}  // namespace

std::string to_svg(const disk_story& s) {
    // Only the last calls matter; a picture of all of them would be too wide.
    disk_story shown = s;
    if (shown.calls.size() > most_unsure) {
        shown.calls.erase(shown.calls.begin(),
                          shown.calls.end() - static_cast<std::ptrdiff_t>(most_unsure));
    }
    return disk_picture(shown).draw();
}

}  // namespace hf::lab
