#include "view/progress.hpp"

#include "base/clock.hpp"
#include "quantity.hpp"
#include "view/output.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace hf::tool {

namespace {
constexpr std::uint64_t interval_ns = 100'000'000;
constexpr std::uint64_t width = 40;
/// Minimum elapsed time before an estimate is shown.
constexpr std::uint64_t least_elapsed_ns = 1'000'000'000;

/// ", 4,300,000/s, 12 s left"; "" while unknown. Assumes that the speed stays constant.
std::string left(std::uint64_t done, double share, std::uint64_t elapsed_ns) {
    if (share <= 0 || elapsed_ns < least_elapsed_ns) return "";
    const double elapsed = static_cast<double>(elapsed_ns) / 1e9;
    const auto rate = static_cast<std::uint64_t>(static_cast<double>(done) / elapsed);
    const double seconds = elapsed * (1 - share) / share;
    const std::string time =
        seconds < 100 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
    return fmt::format(", {}/s, {} left", human_count(rate), time);
}
}  // namespace

progress_bar::progress_bar(const std::string& what)
    : what_(printable(what)),
      terminal_(::isatty(STDERR_FILENO) == 1),
      begin_ns_(now_ns()),
      last_ns_(begin_ns_) {}

progress_bar::~progress_bar() {
    if (!drawn_) return;
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
}

void progress_bar::show(std::uint64_t done, std::uint64_t total) {
    if (!terminal_) return;
    const std::uint64_t now = now_ns();
    if (now - last_ns_ < interval_ns) return;
    last_ns_ = now;
    drawn_ = true;
    done = std::min(done, total);
    const auto share = total == 0 ? 0.0 : static_cast<double>(done) / static_cast<double>(total);
    const auto full = static_cast<std::size_t>(share * width);
    fmt::print(stderr, "\r{} [{}{}] {:3.0f}% of {}{}\033[K", what_, std::string(full, '#'),
               std::string(width - full, '.'), 100 * share, human_count(total),
               left(done, share, now - begin_ns_));
    std::fflush(stderr);
}

}  // namespace hf::tool
