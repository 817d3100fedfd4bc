// Collects the results of a get of many keys, for the tests of all indexes.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <vector>

namespace hf::test {

/// get(keep) must call keep(number, value) at most once for each number below `count`, in order.
template <class Kept, class Get>
std::vector<std::optional<Kept>> found_of_many(std::size_t count, Get&& get) {
    std::vector<std::optional<Kept>> found(count);
    std::size_t next = 0;
    get([&](std::size_t i, const auto& v) {
        EXPECT_TRUE(next <= i && i < count) << i << " behind " << next;
        next = i + 1;
        if (i < count) found[i] = Kept(v);
    });
    return found;
}

}  // namespace hf::test
