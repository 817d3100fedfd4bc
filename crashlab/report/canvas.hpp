// report/canvas.hpp: a picture of events from left to right.
#pragma once

#include "crashlab/report/markup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace hf::lab::detail {

inline constexpr int character = 8;

inline constexpr std::string_view picture_style = R"(<style>
text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #1f2430; }
.title { font-weight: bold; font-size: 15px; }
.lane { stroke: #c9ced8; }
.fence { stroke: #4466bb; stroke-dasharray: 4 3; }
.point { stroke: #b08a2e; stroke-width: 2; stroke-dasharray: 2 3; }
.announced { stroke: #2a8a4a; stroke-width: 2; }
.crash { stroke: #d02020; stroke-width: 3; }
.flush { fill: #4466bb; }
.noted { fill: none; stroke: #667; }
.sure { fill: #9aa3b2; }
.reached { fill: #2a8a4a; }
.lost { fill: #fff; stroke: #d02020; stroke-width: 2.5; }
.number { font-size: 9px; text-anchor: middle; fill: #445; }
.wrong { fill: #d02020; font-weight: bold; }
.good { fill: #2a8a4a; font-weight: bold; }
.right { text-anchor: end; }
.gap { fill: #eef0f5; }
</style>
)";

class canvas {
   public:
    void text(int x, int y, std::string_view what, std::string_view kind = "") {
        if (what.empty()) return;
        out_ += fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>\n", x, y, attribute(kind),
                            escaped(what));
        reach(x + character * static_cast<int>(what.size()), y);
    }
    void band(int x, int from, int to) {
        out_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"16\" height=\"{}\" class=\"gap\"/>\n",
                            x - 8, from, to - from);
    }
    void line(int x1, int y1, int x2, int y2, std::string_view kind, std::string_view tip = "") {
        out_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"{}>{}</line>\n", x1, y1,
                            x2, y2, attribute(kind), title(tip));
        reach(x2, y2);
    }
    void circle(int x, int y, std::string_view kind, std::string_view tip) {
        out_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"6\"{}>{}</circle>\n", x, y,
                            attribute(kind), title(tip));
    }
    void box(int x, int y, std::string_view kind, std::string_view tip) {
        out_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"4\" height=\"22\"{}>{}</rect>\n",
                            x - 2, y - 11, attribute(kind), title(tip));
    }
    [[nodiscard]] std::string finish() const {
        return fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
            "viewBox=\"0 0 {0} {1}\">\n{2}<rect width=\"100%\" height=\"100%\" "
            "fill=\"#fff\"/>\n{3}</svg>\n",
            width_ + 20, height_ + 20, picture_style, out_);
    }

   private:
    static std::string attribute(std::string_view kind) {
        return kind.empty() ? "" : fmt::format(" class=\"{}\"", kind);
    }
    static std::string title(std::string_view tip) {
        return tip.empty() ? "" : fmt::format("<title>{}</title>", escaped(tip));
    }
    void reach(int x, int y) {
        width_ = std::max(width_, x);
        height_ = std::max(height_, y);
    }

    std::string out_;
    int width_ = 0;
    int height_ = 0;
};

}  // namespace hf::lab::detail
