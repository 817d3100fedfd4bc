#include "server/framing.hpp"

#include <algorithm>

namespace hf::detail {
namespace {

/// Whether a line that begins like this may be as long as max_get_line.
bool begins_a_long_get(std::string_view input) noexcept {
    constexpr std::size_t most_blanks = 100;
    const auto begin = input.find_first_not_of(' ');
    if (begin > most_blanks) {  // includes npos
        return false;
    }
    const auto word = input.substr(begin);
    return word.starts_with("get ") || word.starts_with("gets ");
}

}  // namespace

framer::piece framer::next(std::string_view input) noexcept {
    if (waste_ != 0) {
        const auto taken = static_cast<std::size_t>(std::min<u64>(waste_, input.size()));
        waste_ -= taken;
        return {part::none, {}, taken, false};
    }
    if (in_block_) return next_data(input);
    if (line_ == line_state::begins) return next_line(input);
    return line_ == line_state::skipped ? skipped_line(input) : next_of_long_get(input);
}

void framer::expect_block(u64 size) noexcept {
    in_block_ = true;
    data_left_ = size;
    second_of_end_ = false;
}

framer::piece framer::next_line(std::string_view input) noexcept {
    const auto end = input.find('\n', searched_);
    const bool whole = end != std::string_view::npos;
    const std::size_t length = whole ? end : input.size();
    const auto exceeds = [&](std::size_t most) {
        return length > most && !(length == most + 1 && input[most] == '\r');
    };
    if (exceeds(max_line)) {
        if (!begins_a_long_get(input)) return {part::overlong, {}, 0, false};
        if (exceeds(max_get_line)) return cut_get(part::get_begin, input, max_get_line);
    }
    if (!whole) {
        searched_ = input.size();
        return {};
    }
    searched_ = 0;
    return {part::line, input.substr(0, end), end + 1, false};
}

framer::piece framer::cut_get(part what, std::string_view input, std::size_t most) noexcept {
    const auto blank = input.substr(0, most).rfind(' ');
    if (blank == std::string_view::npos || most - blank > max_line) {
        return {part::overlong, {}, 0, false};
    }
    line_ = line_state::in_long_get;
    searched_ = 0;
    return {what, input.substr(0, blank + 1), blank + 1, false};
}

framer::piece framer::next_of_long_get(std::string_view input) noexcept {
    const auto end = input.find('\n', searched_);
    const bool whole = end != std::string_view::npos;
    if ((whole ? end : input.size()) > long_piece) {
        return cut_get(part::get_more, input, long_piece);
    }
    if (!whole) {
        searched_ = input.size();
        return {};
    }
    line_ = line_state::begins;
    searched_ = 0;
    auto words = input.substr(0, end);
    if (words.ends_with('\r')) words.remove_suffix(1);
    return {part::get_end, words, end + 1, false};
}

framer::piece framer::skipped_line(std::string_view input) noexcept {
    const auto end = input.find('\n');
    if (end == std::string_view::npos) return {part::none, {}, input.size(), false};
    line_ = line_state::begins;
    searched_ = 0;
    return {part::none, {}, end + 1, false};
}

framer::piece framer::next_data(std::string_view input) noexcept {
    if (data_left_ != 0) {
        const auto bytes =
            input.substr(0, static_cast<std::size_t>(std::min<u64>(data_left_, input.size())));
        data_left_ -= bytes.size();
        return {bytes.empty() ? part::none : part::data, bytes, bytes.size(), false};
    }
    if (input.empty()) {
        return {};
    }
    if (!second_of_end_) {
        second_of_end_ = true;
        intact_ = input[0] == '\r';
        if (input.size() == 1) {
            return {part::none, {}, 1, false};
        }
        in_block_ = false;
        return {part::data_end, {}, 2, intact_ && input[1] == '\n'};
    }
    in_block_ = false;
    return {part::data_end, {}, 1, intact_ && input[0] == '\n'};
}

}  // namespace hf::detail
