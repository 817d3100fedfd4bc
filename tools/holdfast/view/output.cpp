#include "view/output.hpp"

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

void warn(std::string_view text) {
    std::fflush(stdout);
    fmt::print(stderr, "holdfast: warning: {}\n", printable(text));
}

std::string printable(std::string_view bytes) {
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const auto c = static_cast<unsigned char>(bytes[i]);
        const auto next = static_cast<unsigned char>(i + 1 < bytes.size() ? bytes[i + 1] : 0);
        if (c == 0xc2 && next >= 0x80 && next < 0xa0) {  // UTF-8 of U+0080 to U+009F
            text += fmt::format("\\x{:02x}\\x{:02x}", c, next);
            ++i;
        } else if (c >= 0x20 && c != 0x7f) {
            text += static_cast<char>(c);
        } else {
            text += fmt::format("\\x{:02x}", c);
        }
    }
    return text;
}

namespace {

std::string printable_lines(std::string_view text) {
    std::string all;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        all += printable(text.substr(begin, end - begin));
        if (end < text.size()) all += '\n';
        begin = end + 1;
    }
    return all;
}

}  // namespace

void say(std::string_view lines) {
    const std::string text = printable_lines(lines);
    errno = 0;
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
        std::fflush(stdout) != 0) {
        why_output_failed = errno;
    }
}

void say_json(const json& document) {
    say(document.dump(2, ' ', true, json::error_handler_t::replace) + "\n");
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
