#include "quantity.hpp"

#include "persist/medium.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>

namespace hf::tool {

namespace {

struct unit {
    std::string_view name;
    std::uint64_t factor;
};

constexpr std::array<unit, 17> size_units{{{"", 1},
                                           {"b", 1},
                                           {"k", 1ULL << 10},
                                           {"kb", 1ULL << 10},
                                           {"kib", 1ULL << 10},
                                           {"m", 1ULL << 20},
                                           {"mb", 1ULL << 20},
                                           {"mib", 1ULL << 20},
                                           {"g", 1ULL << 30},
                                           {"gb", 1ULL << 30},
                                           {"gib", 1ULL << 30},
                                           {"t", 1ULL << 40},
                                           {"tb", 1ULL << 40},
                                           {"tib", 1ULL << 40},
                                           {"p", 1ULL << 50},
                                           {"pb", 1ULL << 50},
                                           {"pib", 1ULL << 50}}};
constexpr std::array<unit, 3> duration_units{{{"us", 1}, {"ms", 1000}, {"s", 1000000}}};

/// A whole number and one of the units, as a product that fits.
template <std::size_t N>
std::optional<std::uint64_t> parse(std::string_view text,
                                   const std::array<unit, N>& units) noexcept {
    std::uint64_t number = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (status != std::errc{}) return std::nullopt;
    const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
    const auto equal = [](std::string_view a, std::string_view b) {
        if (a.size() != b.size()) return false;
        for (std::size_t i = 0; i < a.size(); ++i) {
            const char lower = a[i] >= 'A' && a[i] <= 'Z' ? static_cast<char>(a[i] + 32) : a[i];
            if (lower != b[i]) return false;
        }
        return true;
    };
    for (const unit& u : units) {
        if (!equal(rest, u.name)) continue;
        if (number > std::numeric_limits<std::uint64_t>::max() / u.factor) return std::nullopt;
        return number * u.factor;
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) noexcept {
    return parse(text, size_units);
}

std::optional<std::chrono::microseconds> parse_duration(std::string_view text) noexcept {
    const auto us = parse(text, duration_units);
    if (!us || *us > static_cast<std::uint64_t>(std::chrono::microseconds::max().count())) {
        return std::nullopt;
    }
    return std::chrono::microseconds(*us);
}

std::optional<std::uint32_t> parse_latency(std::string_view text) noexcept {
    if (const auto preset = latency_preset(text)) return preset;
    constexpr std::array<unit, 2> latency_units{{{"", 1}, {"ns", 1}}};
    const auto ns = parse(text, latency_units);
    if (!ns || *ns > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    return static_cast<std::uint32_t>(*ns);
}

std::string human_size(std::uint64_t bytes) {
    constexpr std::array<const char*, 6> names{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) return fmt::format("{} B", bytes);
    double value = static_cast<double>(bytes);
    std::size_t name = 0;
    for (value /= 1024; value >= 1023.95 && name + 1 < names.size(); ++name) value /= 1024;
    std::string number = fmt::format("{:.1f}", value);
    if (number.ends_with(".0")) number.resize(number.size() - 2);
    return number + " " + names[name];
}

std::string human_duration(std::chrono::nanoseconds duration) {
    const auto ns = static_cast<double>(duration.count());
    // A value that would print as 1e+03 gets the next unit.
    if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
    if (ns < 999.5e3) return fmt::format("{:.3g} us", ns / 1e3);
    if (ns < 999.5e6) return fmt::format("{:.3g} ms", ns / 1e6);
    if (ns < 9999.5e9) return fmt::format("{:.4g} s", ns / 1e9);
    return fmt::format("{:.0f} s", ns / 1e9);
}

std::string human_count(std::uint64_t n) {
    std::string digits = std::to_string(n);
    for (std::size_t at = digits.size(); at > 3;) {
        at -= 3;
        digits.insert(at, ",");
    }
    return digits;
}

std::string human_share(std::uint64_t part, std::uint64_t whole) {
    const double share =
        whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
    return fmt::format("{:.1f}%", share);
}

}  // namespace hf::tool
