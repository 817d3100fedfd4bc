// tests/programs/tools/region_files.hpp: regions for tests, sound and damaged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hf::test {

/// How the last session of a region ended.
enum class ending { closed, crashed };

/// A region of 16 MiB with a few thousand records: short keys, long keys, large values.
/// `small_values`: also short values, inlined.
void make_region(const std::string& path, ending how, bool small_values = false);

[[nodiscard]] std::string read_file(const std::string& path);
void write_file(const std::string& path, std::string_view bytes);
/// Overwrites bytes in the middle of a file.
void write_at(const std::string& path, std::uint64_t offset, std::string_view bytes);
/// Flips a bit.
void flip(const std::string& path, std::uint64_t offset, unsigned bit = 0);

}  // namespace hf::test
