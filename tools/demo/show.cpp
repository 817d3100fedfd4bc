#include "show.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace hf::demo {

namespace {

constexpr const char* bold = "\x1b[1m";
constexpr const char* green = "\x1b[32m";
constexpr const char* red = "\x1b[31;1m";
constexpr const char* blue = "\x1b[36m";
constexpr const char* plain = "\x1b[0m";

void out(const std::string& text) {
    (void)std::fwrite(text.data(), 1, text.size(), stdout);
    (void)std::fflush(stdout);
}

}  // namespace

std::string count_text(std::uint64_t n) {
    std::string text = std::to_string(n);
    for (std::size_t at = text.size(); at > 3;) {
        at -= 3;
        text.insert(at, ",");
    }
    return text;
}

std::string size_text(std::uint64_t bytes) {
    constexpr std::uint64_t kib = 1024;
    if (bytes < kib) return fmt::format("{} bytes", bytes);
    if (bytes < kib * kib) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
    return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024 * 1024));
}

std::string time_text(std::uint64_t ns) {
    const auto ms = static_cast<double>(ns) / 1e6;
    if (ms < 1000) return fmt::format("{:.1f} ms", ms);
    return fmt::format("{:.2f} s", ms / 1000);
}

show::show()
    : terminal_(isatty(STDOUT_FILENO) != 0),
      colors_(terminal_ && std::getenv("NO_COLOR") == nullptr) {}

void show::line(const char* mark, const char* color, const std::string& text) const {
    out(fmt::format("  {}{}{} {}\n", in(color), mark, in(plain), text));
}

void show::title(const std::string& text) const {
    out(fmt::format("\n{}{}{}\n\n", in(bold), text, in(plain)));
}

void show::act(const std::string& text) const {
    out(fmt::format("\n{}{}{}\n", in(bold), text, in(plain)));
}

void show::say(const std::string& text) const { out(text.empty() ? "\n" : "    " + text + "\n"); }
void show::good(const std::string& text) const { line("✓", green, text); }
void show::bad(const std::string& text) const { line("✗", red, text); }

void show::bar(std::uint64_t done, std::uint64_t total) const {
    if (!terminal_) return;
    constexpr std::uint64_t width = 40;
    const std::uint64_t filled = total == 0 ? 0 : std::min(width, done * width / total);
    std::string cells;
    for (std::uint64_t i = 0; i < width; ++i) cells += i < filled ? "█" : "░";
    out(fmt::format("\r    {}{}{} {} of {} ", in(blue), cells, in(plain), count_text(done),
                    count_text(total)));
}

void show::end_bar() const {
    if (terminal_) out("\r\x1b[K");
}

void show::table(const std::vector<std::vector<std::string>>& rows) const {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    for (std::size_t r = 0; r < rows.size(); ++r) {
        std::string text;
        for (std::size_t i = 0; i < rows[r].size(); ++i) {
            text += i == 0 ? fmt::format("    {:<{}}", rows[r][i], widths[i])
                           : fmt::format("  {:>{}}", rows[r][i], widths[i]);
        }
        out(r == 0 ? fmt::format("{}{}{}\n", in(bold), text, in(plain)) : text + "\n");
    }
}

}  // namespace hf::demo
