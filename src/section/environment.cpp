#include "section/environment.hpp"

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace hf::section {
namespace {

/// "": not set.
std::string_view value_of(const char* variable) {
    const char* const value = std::getenv(variable);
    return value == nullptr ? std::string_view() : std::string_view(value);
}

tl::unexpected<error> wrong(const char* variable, std::string_view value, std::string next) {
    return failure({errc::usage, "open the group of regions",
                    std::string(variable) + "=" + std::string(value),
                    "the environment's value makes no sense", std::move(next)});
}

}  // namespace

result<opening_request> with_environment(const char* file, const hf_group_options& options) {
    opening_request r{file, options};
    if (const auto path = value_of(file_variable); !path.empty()) r.file = path;
    if (const auto stores = value_of(stores_variable); !stores.empty()) {
        if (stores != "pages" && stores != "announced") {
            return wrong(stores_variable, stores, "set it to pages or announced");
        }
        r.options.stores = stores == "pages" ? HF_STORES_TRACKED : HF_STORES_ANNOUNCED;
    }
    if (const auto period = value_of(period_variable); !period.empty()) {
        unsigned long ms = 0;
        const auto [end, bad] = std::from_chars(period.data(), period.data() + period.size(), ms);
        if (bad != std::errc{} || end != period.data() + period.size() || ms == 0 ||
            ms > max_period_ms) {
            return wrong(period_variable, period, "set it to 1 to 3600000 milliseconds");
        }
        r.options.period_us = static_cast<std::uint32_t>(ms * 1000);
    }
    if (const auto hold = value_of(hold_variable); !hold.empty()) {
        if (hold != "0" && hold != "1") return wrong(hold_variable, hold, "set it to 0 or 1");
        r.options.hold_output = hold == "1" ? 1 : 0;
    }
    return r;
}

}  // namespace hf::section
