// tests/rooms/map/copied.hpp: checks of copied regions.
#pragma once

#include "checkpoint_map/engine.hpp"
#include "map/inspect.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace hf::test {

/// Runs the audit of `holdfast check` on the copy.
inline void expect_sound(const std::filesystem::path& path) {
    const auto looked = inspect_map(path);
    ASSERT_FALSE(looked.refusal()) << looked.refusal()->to_string();
    const auto report = looked.audit();
    EXPECT_TRUE(report.ok()) << report.violations().front().text;
}

inline std::string uuid_of(const std::filesystem::path& path) {
    region_options look;
    look.mode = open_mode::inspect;
    const auto r = open_region(path, look);
    if (!r) return {};
    const auto& uuid = r->file->super().uuid;
    return {reinterpret_cast<const char*>(uuid), sizeof uuid};
}

}  // namespace hf::test
