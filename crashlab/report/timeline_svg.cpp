// A timeline as a picture: cache lines from top to bottom, events from left to right; below it a
// list of the numbered events.
#include "crashlab/report/canvas.hpp"
#include "crashlab/report/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace hf::lab {
namespace {

using detail::canvas;
using detail::character;

constexpr std::size_t most_quiet = 24;
constexpr int left = 130;
constexpr int right = 210;
constexpr int step = 26;
constexpr int lane_height = 44;
constexpr int names_height = 30;
constexpr int row_height = 17;

std::string_view class_of(fate f) {
    switch (f) {
        case fate::reached:
            return "reached";
        case fate::lost:
            return "lost";
        default:
            return "sure";
    }
}

std::string_view class_of_word(fate f) {
    if (f == fate::lost) return "wrong";
    return f == fate::reached ? "good" : "";
}

std::string tip_of(const timeline_row& r) {
    return fmt::format("event {}, thread {}: {} {} {}", r.number, r.what.thread,
                       to_string(r.what.kind), detail::words_of(r), r.place);
}

/// One crash: a picture and a list.
class stage_picture {
   public:
    stage_picture(canvas& c, const timeline_stage& s, int top) : canvas_(c), stage_(s), top_(top) {
        int y = top_ + names_height;
        for (const held_line& h : stage_.held) {
            lanes_[h.line] = y + lane_height / 2;
            y += lane_height;
        }
        bottom_ = std::max(y, top_ + names_height + lane_height);
    }

    /// Returns the y coordinate below it.
    int draw() {
        const auto shown = detail::excerpt_of(stage_.rows, most_quiet);
        const int end = left + step * static_cast<int>(shown.rows.size() + 1);
        draw_lanes(end);
        int x = left;
        std::size_t gap = 0;
        for (const std::size_t i : shown.rows) {
            x += step;
            if (i == detail::excerpt::gap) {
                canvas_.band(x, top_ + names_height, bottom_);
                canvas_.text(x, top_ + names_height - 10, fmt::format("…{}", shown.gaps[gap++]),
                             "number");
            } else {
                draw_row(stage_.rows[i], x);
            }
        }
        draw_crash(end);
        return list(bottom_ + 40);
    }

   private:
    void draw_lanes(int end) {
        for (const auto& [line, y] : lanes_) {
            canvas_.text(8, y + 4, fmt::format("line {:x}", line));
            canvas_.line(left, y, end + right, y, "lane");
        }
    }

    void draw_row(const timeline_row& r, int x) {
        const event& e = r.what;
        const auto lane = lanes_.find(e.where / line_size);
        switch (e.kind) {
            case event_kind::store:
                if (lane == lanes_.end()) return;
                canvas_.circle(x, lane->second, class_of(r.became), tip_of(r));
                canvas_.text(x, lane->second - 10, std::to_string(number(r)), "number");
                break;
            case event_kind::flush:
                if (lane != lanes_.end()) canvas_.box(x, lane->second, "flush", tip_of(r));
                break;
            case event_kind::noted:
                if (lane != lanes_.end()) canvas_.box(x, lane->second, "noted", tip_of(r));
                break;
            case event_kind::load:
                break;
            case event_kind::fence:
            case event_kind::sync:
            case event_kind::sync_name:
                mark(r, x, "fence");
                break;
            case event_kind::announced:
                mark(r, x, "announced");
                break;
            default:
                mark(r, x, "point");
                break;
        }
    }

    void mark(const timeline_row& r, int x, std::string_view kind) {
        canvas_.line(x, top_ + names_height - 6, x, bottom_, kind, tip_of(r));
        if (kind == "fence") return;
        canvas_.text(x, top_ + names_height - 10, std::to_string(number(r)), "number");
    }

    void draw_crash(int x) {
        canvas_.line(x, top_ + 6, x, bottom_ + 6, "crash", "the crash");
        const auto* const side = stage_.crash < stage_.events ? "before" : "after";
        canvas_.text(x + 6, top_ + 16, fmt::format("crash {} event {}", side, stage_.crash),
                     "wrong");
        for (const held_line& h : stage_.held) {
            const std::string words =
                h.on_way == 0 ? "all of it was sure"
                              : fmt::format("{} of {} stores reached it", h.reached, h.on_way);
            canvas_.text(x + 10, lanes_.at(h.line) - 6, words);
        }
        if (!stage_.file.empty()) canvas_.text(x + 10, bottom_ + 18, stage_.file);
    }

    int number(const timeline_row& r) {
        numbered_.push_back(&r);
        return static_cast<int>(numbered_.size());
    }

    int list(int y) {
        for (std::size_t i = 0; i < numbered_.size(); ++i) {
            list_one(i + 1, *numbered_[i], y);
            y += row_height;
        }
        return y + row_height;
    }

    // Each column has a fixed position, because SVG collapses blanks.
    void list_one(std::size_t number, const timeline_row& r, int y) {
        const event& e = r.what;
        canvas_.text(30, y, std::to_string(number), "right");
        canvas_.text(44, y, fmt::format("event {}", r.number));
        canvas_.text(150, y, fmt::format("t{}", e.thread));
        canvas_.text(180, y, to_string(e.kind));
        if (e.kind == event_kind::store) {
            canvas_.text(260, y,
                         fmt::format("{:x}+{:02x}", e.where / line_size, e.where % line_size));
        }
        canvas_.text(350, y, detail::words_of(r));
        canvas_.text(550, y, to_string(r.became), class_of_word(r.became));
        canvas_.text(620, y, r.place);
    }

    canvas& canvas_;
    const timeline_stage& stage_;
    int top_;
    int bottom_ = 0;
    std::map<u64, int> lanes_;
    std::vector<const timeline_row*> numbered_;
};

void draw_legend(canvas& c, int y) {
    int x = 12;
    const auto entry = [&](std::string_view words) {
        c.text(x + 14, y + 4, words);
        x += 40 + character * static_cast<int>(words.size());
    };
    c.circle(x + 2, y, "sure", "");
    entry("store, sure");
    c.circle(x + 2, y, "reached", "");
    entry("unsure, reached");
    c.circle(x + 2, y, "lost", "");
    entry("unsure, lost");
    c.box(x + 2, y, "flush", "");
    entry("flush");
    c.box(x + 2, y, "noted", "");
    entry("noted");
    for (const std::string_view kind : {"fence", "point", "announced", "crash"}) {
        c.line(x + 2, y - 10, x + 2, y + 10, kind);
        entry(kind);
    }
}

}  // namespace

std::string to_svg(const timeline& t) {
    canvas c;
    c.text(8, 22, t.title, "title");
    draw_legend(c, 48);
    int y = 70;
    for (std::size_t i = 0; i < t.stages.size(); ++i) {
        if (t.stages.size() > 1) {
            c.text(8, y + 14, heading(t, i), "title");
            y += 20;
        }
        y = stage_picture(c, t.stages[i], y).draw();
    }
    c.text(8, y + 6, t.asked + " found:");
    c.text(8, y + 24, t.what.empty() ? nothing_wrong : t.what, t.what.empty() ? "" : "wrong");
    return c.finish();
}

}  // namespace hf::lab
