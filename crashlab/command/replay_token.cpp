#include "crashlab/command/replay_token.hpp"

#include <fmt/format.h>

#include <charconv>

namespace hf::lab {
namespace {

std::string name_of(u64 what) {
    for (unsigned f = 0; f < most_files; ++f) {
        const std::string number = f == 0 ? "" : std::to_string(f);
        if (what == length_of_file(f)) return "length" + number;
        if (what == name_of_file(f)) return "name" + number;
    }
    return fmt::format("{:x}", what);
}

std::string text_of(const stage& s) {
    std::string text = (s.killed ? "k" : "") + std::to_string(s.event) + ":";
    const char* between = "";
    for (const choice& c : s.contents) {
        if (c.chosen == 0) continue;  // lines that are not listed get their old content
        text += fmt::format("{}{}={}", between, name_of(c.what), c.chosen);
        between = ",";
    }
    return text;
}

std::optional<u64> number_in(std::string_view text, int base) {
    u64 n = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), n, base);
    if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return n;
}

/// Removes and returns the text before `mark`, or everything.
std::string_view cut(std::string_view& text, char mark) {
    const auto at = std::min(text.find(mark), text.size());
    const auto piece = text.substr(0, at);
    text.remove_prefix(std::min(at + 1, text.size()));
    return piece;
}

/// Parses "length" or "name", with a number for files other than the first.
std::optional<u64> file_choice(std::string_view name) {
    for (unsigned f = 0; f < most_files; ++f) {
        for (const u64 what : {length_of_file(f), name_of_file(f)}) {
            if (name == name_of(what)) return what;
        }
    }
    return std::nullopt;
}

std::optional<choice> parse_choice(std::string_view text) {
    const auto name = cut(text, '=');
    const auto chosen = number_in(text, 10);
    if (!chosen) return std::nullopt;
    choice c;
    c.chosen = static_cast<u32>(*chosen);
    if (const auto fact = file_choice(name)) {
        c.what = *fact;
    } else if (const auto line = number_in(name, 16)) {
        c.what = *line;
    } else {
        return std::nullopt;
    }
    return c;
}

std::optional<stage> parse_stage(std::string_view text) {
    stage s;
    s.killed = text.starts_with('k');
    if (s.killed) text.remove_prefix(1);
    const auto event = number_in(cut(text, ':'), 10);
    if (!event) return std::nullopt;
    s.event = static_cast<u32>(*event);
    while (!text.empty()) {
        const auto c = parse_choice(cut(text, ','));
        if (!c) return std::nullopt;
        s.contents.push_back(*c);
    }
    return s;
}

bool parse_probe(std::string_view text, finding& f) {
    constexpr std::string_view question = "question";
    if (text == "recovery") {
        f.asked = probe::recovery;
    } else if (text == "inspection") {
        f.asked = probe::inspection;
    } else if (text == "work") {
        f.asked = probe::work;
    } else if (text == "run") {
        f.asked = probe::run;
    } else if (text.starts_with(question)) {
        const auto n = number_in(text.substr(question.size()), 10);
        if (!n) return false;
        f.asked = probe::question;
        f.question = static_cast<unsigned>(*n);
    } else {
        return false;
    }
    return true;
}

std::string text_of_probe(const finding& f) {
    switch (f.asked) {
        case probe::recovery:
            return "recovery";
        case probe::question:
            return "question" + std::to_string(f.question);
        case probe::inspection:
            return "inspection";
        case probe::work:
            return "work";
        case probe::run:
            return "run";
    }
    return "";
}

}  // namespace

std::string token_of(const finding& f) {
    std::string token;
    for (const stage& s : f.stages) {
        if (!token.empty()) token += '/';
        token += text_of(s);
    }
    return token + "!" + text_of_probe(f);
}

std::optional<finding> parse_token(std::string_view token) {
    finding f;
    std::string_view stages = cut(token, '!');
    while (!stages.empty()) {
        const auto s = parse_stage(cut(stages, '/'));
        if (!s) return std::nullopt;
        f.stages.push_back(*s);
    }
    if (f.stages.empty() || !parse_probe(token, f)) return std::nullopt;
    return f;
}

}  // namespace hf::lab
