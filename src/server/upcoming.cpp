#include "server/upcoming.hpp"

#include "server/framing.hpp"

#include <span>

namespace hf::detail {
namespace {

constexpr std::size_t data_end = 2;  // CR LF

/// The keys to prefetch.
struct key_list {
    std::array<std::string_view, upcoming_requests::most> at;
    std::size_t count = 0;

    void add(const request& r) noexcept {
        if (r.what > verb::gats) return add(r.key);
        auto words = r.words;
        while (count < at.size() && !words.empty()) add(take_word(words));
    }
    void add(std::string_view key) noexcept {
        if (!key.empty() && count < at.size()) at[count++] = key;
    }
};

}  // namespace

void upcoming_requests::look(std::string_view input, std::string_view line, const store& records) {
    key_list keys;
    next_ = count_ = 0;
    for (;;) {
        lines_[count_] = line.data();
        const request& r = requests_[count_++] = parse_request(line);
        keys.add(r);
        const auto begin = static_cast<std::size_t>(line.data() - input.data()) + line.size() + 1 +
                           (has_data(r.what) ? r.size + data_end : 0);
        if (count_ == most || begin >= input.size()) break;
        line = input.substr(begin, framer::max_line + 1);
        const auto end = line.find('\n');
        if (end == std::string_view::npos) break;
        line = line.substr(0, end);
    }
    if (keys.count > 1) records.prefetch(std::span(keys.at).first(keys.count));
}

}  // namespace hf::detail
