// tests/section/opened_group.hpp: a group of regions for a test, cut by hand.
#pragma once

#include <holdfast/section.h>
#include <holdfast/section_hooks.h>

#include "scratch.hpp"

#include <gtest/gtest.h>

#include <string>

namespace hf::test {

/// A store of the program, as compiled code announces it.
template <class T>
void store(T& field, std::type_identity_t<T> value) {
    const int alone = hf_section_store(&field, sizeof field);
    field = value;
    if (alone != 0) hf_section_stored();
}

inline hf_group_options by_hand(hf_stores stores) {
    hf_group_options o{};
    o.stores = stores;
    o.bytes = std::uint64_t{1} << 20;
    o.by_hand = 1;
    o.patience_us = 20'000;
    return o;
}

/// Ways in which stores are found; both are tried in each test.
class groups : public on_tmpfs, public ::testing::WithParamInterface<hf_stores> {
   protected:
    void open(hf_group_options o) const {
        ASSERT_EQ(hf_group_open(file.c_str(), &o), 0) << hf_section_error();
    }
    void open() const { open(by_hand(GetParam())); }
    void reopen() const {
        ASSERT_EQ(hf_group_close(), 0) << hf_section_error();
        open();
    }
    void TearDown() override { static_cast<void>(hf_group_close()); }
};

inline std::string name_of(const ::testing::TestParamInfo<hf_stores>& p) {
    return p.param == HF_STORES_TRACKED ? "tracked" : "announced";
}

}  // namespace hf::test
