// tests/support/must.hpp: unwraps results that must be successful.
#pragma once

#include <holdfast/result.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <type_traits>
#include <utility>

namespace hf::test {

/// The value. An error ends the test program with the error's text.
template <class T>
T must(tl::expected<T, error> r) {
    if (!r) {
        ADD_FAILURE() << r.error().to_string();
        std::abort();
    }
    if constexpr (!std::is_void_v<T>) return std::move(*r);
}

}  // namespace hf::test
