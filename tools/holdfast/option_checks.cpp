#include "option_checks.hpp"

#include "quantity.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <string>

namespace hf::tool {

CLI::Validator size_between(std::uint64_t least, std::uint64_t most) {
    return CLI::Validator(
        [least, most](std::string& text) -> std::string {
            const auto size = parse_size(text);
            if (!size) return "\"" + text + "\" is no size; write it as in 4096, 64k, 1m or 2g";
            if (*size >= least && *size <= most) return {};
            return text + " is out of bounds; choose " + human_size(least) + " to " +
                   human_size(most);
        },
        "");
}

CLI::Validator duration_between(std::chrono::microseconds least, std::chrono::microseconds most) {
    return CLI::Validator(
        [least, most](std::string& text) -> std::string {
            const auto duration = parse_duration(text);
            if (!duration) {
                return "\"" + text + "\" is no duration; write it as in 500us, 64ms or 1s";
            }
            if (*duration >= least && *duration <= most) return {};
            return text + " is out of bounds; choose " + human_duration(least) + " to " +
                   human_duration(most);
        },
        "");
}

CLI::Validator latency_up_to(std::uint32_t most) {
    return CLI::Validator(
        [most](std::string& text) -> std::string {
            const auto latency = parse_latency(text);
            if (latency && *latency <= most) return {};
            return "\"" + text + "\" is no latency; choose 0 to " + std::to_string(most) +
                   " ns, dram, pcm or sttm";
        },
        "");
}

CLI::Validator numeric_address() {
    return CLI::Validator(
        [](std::string& text) -> std::string {
            std::array<unsigned char, sizeof(in6_addr)> ignored{};
            if (::inet_pton(AF_INET, text.c_str(), ignored.data()) == 1) return {};
            if (::inet_pton(AF_INET6, text.c_str(), ignored.data()) == 1) return {};
            return "\"" + text + "\" is no numeric IPv4 or IPv6 address";
        },
        "");
}

CLI::Validator some_name() {
    return CLI::Validator(
        [](std::string& text) -> std::string {
            return text.empty() ? "an empty name names no file" : "";
        },
        "");
}

}  // namespace hf::tool
