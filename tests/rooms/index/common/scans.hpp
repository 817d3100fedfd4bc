// Scans of an index and of a map, from a bound upwards and downwards.
#pragma once

#include "base/bits.hpp"

#include <gtest/gtest.h>

#include <map>

namespace hf::test {

template <class Tree>
void compare_scans(const Tree& t, const std::map<typename Tree::kept, typename Tree::kept>& model,
                   const typename Tree::kept& bound, u64 most) {
    if constexpr (Tree::is_ordered) {
        typename Tree::entries up;
        for (auto i = model.lower_bound(bound); i != model.end() && up.size() < most; ++i) {
            up.emplace_back(*i);
        }
        ASSERT_EQ(t.scan(bound, most), up);
        typename Tree::entries down;
        for (auto i = model.upper_bound(bound); i != model.begin() && down.size() < most;) {
            down.emplace_back(*--i);
        }
        ASSERT_EQ(t.scan_back(bound, most), down);
    }
}

}  // namespace hf::test
