// tests/must.hpp: results that a test takes for granted.
#pragma once

#include <holdfast/result.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <type_traits>
#include <utility>

namespace hf::test {

/// The value. Where there is none the test program fails and ends, with the error's text.
template <class T>
T must(tl::expected<T, error> r) {
    if (!r) {
        ADD_FAILURE() << r.error().to_string();
        std::abort();
    }
    if constexpr (!std::is_void_v<T>) return std::move(*r);
}

}  // namespace hf::test
