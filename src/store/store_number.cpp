#include "store/store_number.hpp"

#include <charconv>
#include <limits>

namespace hf::detail {
namespace {

constexpr bool is_blank(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

struct magnitude {
    bool negative = false;
    u64 value = 0;
};

std::optional<magnitude> parse(std::string_view text) noexcept {
    std::size_t at = 0;
    while (at < text.size() && is_blank(text[at])) {
        ++at;
    }
    magnitude found;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) {
        found.negative = text[at] == '-';
        ++at;
    }
    const char* end = text.data() + text.size();
    const auto [stop, status] = std::from_chars(text.data() + at, end, found.value);
    if (status != std::errc{} || (stop != end && *stop != '\0' && !is_blank(*stop))) {
        return std::nullopt;
    }
    return found;
}

}  // namespace

std::optional<u64> parse_unsigned(std::string_view text) noexcept {
    const auto found = parse(text);
    if (!found) {
        return std::nullopt;
    }
    const u64 value = found->negative ? 0 - found->value : found->value;
    if (found->negative && value > static_cast<u64>(std::numeric_limits<std::int64_t>::max())) {
        return std::nullopt;
    }
    return value;
}

std::optional<std::int64_t> parse_signed(std::string_view text) noexcept {
    const auto found = parse(text);
    constexpr u64 most = static_cast<u64>(std::numeric_limits<std::int64_t>::max());
    if (!found || found->value > most + (found->negative ? 1U : 0U)) {
        return std::nullopt;
    }
    return static_cast<std::int64_t>(found->negative ? 0 - found->value : found->value);
}

std::string_view print_decimal(u64 value, char (&buffer)[max_digits]) noexcept {
    const auto [end, status] = std::to_chars(buffer, buffer + max_digits, value);
    static_cast<void>(status);  // 20 digits always suffice
    return {buffer, static_cast<std::size_t>(end - buffer)};
}

}  // namespace hf::detail
