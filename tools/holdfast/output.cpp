#include "output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace hf::tool {

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

bool say(std::string_view text) {
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
           std::fflush(stdout) == 0;
}

bool say_json(const json& document) {
    return say(document.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
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
