#include "bench/option_values.hpp"

#include "epoch/options.hpp"

#include <CLI/CLI.hpp>

#include <charconv>
#include <set>
#include <sstream>

namespace hf::bench {

void refuse(const std::string& option, const std::string& value, const std::string& next) {
    throw CLI::ValidationError(option, "'" + value + "': " + next);
}

std::vector<std::string> split(const std::string& option, const std::string& list) {
    std::vector<std::string> parts;
    std::stringstream in(list);
    for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
    if (parts.empty() || list.ends_with(',')) refuse(option, list, "an empty name");
    if (std::set<std::string>(parts.begin(), parts.end()).size() != parts.size()) {
        refuse(option, list, "names something twice");
    }
    return parts;
}

u64 number(const std::string& option, const std::string& text, u64 least, u64 most) {
    u64 value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, value);
    u64 unit = 1;
    if (end - stop == 1) {
        if (*stop == 'K' || *stop == 'k') unit = 1'000;
        if (*stop == 'M' || *stop == 'm') unit = 1'000'000;
        if (*stop == 'G' || *stop == 'g') unit = 1'000'000'000;
    }
    const bool whole = problem == std::errc() && (stop == end || unit != 1);
    if (!whole) refuse(option, text, "give a whole number, K, M or G behind it if you like");
    if (value > most / unit || value * unit < least) {
        refuse(option, text, "choose " + std::to_string(least) + " to " + std::to_string(most));
    }
    return value * unit;
}

std::chrono::microseconds duration(const std::string& option, const std::string& text) {
    u64 value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, value);
    const std::string unit(stop, end);
    u64 factor = 0;
    if (unit.empty() || unit == "ms") factor = 1'000;
    if (unit == "us") factor = 1;
    if (unit == "s") factor = 1'000'000;
    constexpr auto most = static_cast<u64>(longest_epoch.count());
    constexpr auto least = static_cast<u64>(shortest_epoch.count());
    if (problem != std::errc() || factor == 0 || value > most / factor || value * factor < least) {
        refuse(option, text, "choose 1ms to 10s");
    }
    return std::chrono::microseconds(value * factor);
}

}  // namespace hf::bench
