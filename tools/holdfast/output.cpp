#include "output.hpp"

#include "base/os_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace hf::tool {

namespace {
int why_output_failed = 0;  // errno; 0: unknown
}  // namespace

int complain(const error& e) {
    std::fflush(stdout);
    fmt::print(stderr, "holdfast: {}\n", printable(e.to_string()));
    return e.exit_code();
}

json to_json(const error& e) {
    return {{"class", to_string(e.code)}, {"exit_code", e.exit_code()},
            {"what", printable(e.what)},  {"where", printable(e.where)},
            {"why", printable(e.why)},    {"next", printable(e.next)}};
}

std::string printable(std::string_view bytes) {
    std::string text;
    for (const char c : bytes) {
        if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) {
            text += c;
        } else {
            text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        }
    }
    return text;
}

void say(std::string_view text) {
    errno = 0;
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
        std::fflush(stdout) != 0) {
        why_output_failed = errno;
    }
}

void say_json(const json& document) {
    say(document.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

int end(int code) {
    errno = 0;
    const bool flushed = std::fflush(stdout) == 0;
    if ((flushed && std::ferror(stdout) == 0) || code != 0) return code;
    const int why = flushed ? why_output_failed : errno;
    return complain({errc_of(why), "write to the standard output", "",
                     why == 0 ? "it is closed or full" : std::strerror(why),
                     "send it to where there is room"});
}

void forgive_output() {
    std::fflush(stdout);
    std::clearerr(stdout);
}

void sheet::title(std::string text) { rows_.push_back({std::move(text), {}, true}); }

void sheet::line(std::string name, std::string value) {
    rows_.push_back({std::move(name), std::move(value), false});
}

std::string sheet::text() const {
    std::size_t width = 0;
    for (const row& r : rows_) {
        if (!r.is_title) width = std::max(width, r.name.size());
    }
    std::string all;
    for (const row& r : rows_) {
        if (r.is_title) {
            all += fmt::format("{}{}\n", all.empty() ? "" : "\n", r.name);
        } else {
            all += fmt::format("  {:<{}}  {}\n", r.name, width, r.value);
        }
    }
    return all;
}

}  // namespace hf::tool
