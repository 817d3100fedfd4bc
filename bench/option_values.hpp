// bench/option_values.hpp: parsing of option values. An invalid value throws an exception that the
// parser of the command line catches.
#pragma once

#include "base/bits.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace hf::bench {

[[noreturn]] void refuse(const std::string& option, const std::string& value,
                         const std::string& next);

/// At least one name, no duplicates.
[[nodiscard]] std::vector<std::string> split(const std::string& option, const std::string& list);

/// A whole number with an optional K, M or G (powers of 1000).
[[nodiscard]] u64 number(const std::string& option, const std::string& text, u64 least, u64 most);

/// "64", "64ms", "500us", "2s", within the limits of an epoch.
[[nodiscard]] std::chrono::microseconds duration(const std::string& option,
                                                 const std::string& text);

/// `find` returns an optional<T> for a name; `known` lists the names for the message.
template <class T, class Find>
[[nodiscard]] std::vector<T> names(const std::string& option, const std::string& list,
                                   const Find& find, const std::string& known) {
    std::vector<T> found;
    for (const std::string& name : split(option, list)) {
        const auto one = find(name);
        if (!one) refuse(option, name, "choose among " + known);
        found.push_back(*one);
    }
    return found;
}

}  // namespace hf::bench
