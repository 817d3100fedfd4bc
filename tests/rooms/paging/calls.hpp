// tests/rooms/paging/calls.hpp: a kernel that refuses, or that has not what it says.
//
// A test program with calls.cpp is linked so that these calls come there first (--wrap in
// CMakeLists.txt).
#pragma once

#include "base/bits.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace hf::test {

inline struct refusing_kernel {
    std::function<bool(const std::string& name)> answer;  ///< true: refused
    /// The result of ioctl(); nullopt: the kernel's.
    std::function<std::optional<int>(unsigned long request, void* argument)> control;
    std::map<std::string, u64> count;

    bool refuses(const std::string& name) {
        ++count[name];
        return answer && answer(name);
    }
} calls;

}  // namespace hf::test
