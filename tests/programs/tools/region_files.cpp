#include "tools/region_files.hpp"

#include <holdfast/map.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace hf::test {

namespace {

/// In a child process, which can end without closing the map, as in a crash.
int fill(const std::string& path, ending how, bool small_values) {
    map_options options;
    options.region.initial_size = std::uint64_t{16} << 20;
    options.epoch = std::chrono::microseconds(0);
    options.small_values_in_leaves = small_values;
    auto m = map::open(path, options);
    if (!m) return 1;
    for (int i = 0; i < 3000; ++i) {
        const std::string n = std::to_string(i);
        if (!m->put(n, small_values ? n : "value of " + n)) return 2;
        if (!m->put("a longer key, which shares its beginning, " + n, n)) return 3;
        if (i % 1000 == 0 && !m->sync()) return 4;
    }
    for (int i = 0; i < 3; ++i) {
        if (!m->put("large " + std::to_string(i), std::string(100'000, 'L'))) return 5;
    }
    for (int i = 0; i < 700; ++i) {
        if (!m->remove(std::to_string(i))) return 6;
    }
    if (!m->sync()) return 7;
    if (how == ending::closed) return m->close() ? 0 : 8;
    for (int i = 2000; i < 4000; ++i) {
        if (!m->put(std::to_string(i), "lost")) return 9;
        if (!m->remove("a longer key, which shares its beginning, " + std::to_string(i))) return 10;
    }
    ::_exit(0);
}

}  // namespace

void make_region(const std::string& path, ending how, bool small_values) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(fill(path, how, small_values));
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_EQ(WEXITSTATUS(status), 0);
}

std::string read_file(const std::string& path) {
    std::string bytes(std::filesystem::file_size(path), '\0');
    std::ifstream(path, std::ios::binary)
        .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return bytes;
}

void write_file(const std::string& path, std::string_view bytes) {
    std::ofstream out(path, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    ASSERT_TRUE(out.good());
}

void write_at(const std::string& path, std::uint64_t offset, std::string_view bytes) {
    std::fstream out(path, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(offset));
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    ASSERT_TRUE(out.good());
}

void flip(const std::string& path, std::uint64_t offset, unsigned bit) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(offset));
    const char c = static_cast<char>(file.get() ^ (1 << bit));
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(c);
    ASSERT_TRUE(file.good());
}

}  // namespace hf::test
