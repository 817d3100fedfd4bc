// tests/rooms/transaction/engines.hpp: tests that run once for each commit engine.
//
//   class commit_of : public on_tmpfs, public ::testing::WithParamInterface<engine_kind> { ... };
//   INSTANTIATE_TEST_SUITE_P(engines, commit_of, every_engine(), engine_name);
#pragma once

#include "transaction/engine_kind.hpp"

#include <gtest/gtest.h>

#include <string>

namespace hf::test {

inline auto every_engine() {
    return ::testing::ValuesIn(all_engines().begin(), all_engines().end());
}

inline std::string engine_name(const ::testing::TestParamInfo<engine_kind>& i) {
    return std::string(to_string(i.param));
}

}  // namespace hf::test
