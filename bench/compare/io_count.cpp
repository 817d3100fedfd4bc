#include "bench/compare/io_count.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fstream>
#include <sstream>
#include <system_error>

namespace hf::bench {

u64 written_to_storage() {
    std::ifstream in("/proc/self/io");
    u64 value = 0;
    for (std::string name; in >> name >> value;) {
        if (name == "write_bytes:") return value;
    }
    return 0;
}

std::string disk_of(const std::filesystem::path& directory) {
    struct stat s{};
    if (::stat(directory.c_str(), &s) != 0) return "unknown";
    const std::string wanted =
        std::to_string(major(s.st_dev)) + ":" + std::to_string(minor(s.st_dev));
    std::ifstream mounts("/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);) {
        std::istringstream words(line);
        std::string id;
        std::string parent;
        std::string device;
        words >> id >> parent >> device;
        const std::size_t dash = line.find(" - ");
        if (device != wanted || dash == std::string::npos) continue;
        std::istringstream rest(line.substr(dash + 3));
        std::string kind;
        std::string source;
        rest >> kind >> source;
        return kind.append(" on ").append(source);
    }
    return "unknown";
}

u64 occupied_bytes(const std::filesystem::path& directory) {
    u64 sum = 0;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory, ignored)) {
        struct stat s{};
        // In blocks: LMDB's file, and Holdfast's, may have holes.
        if (::stat(entry.path().c_str(), &s) == 0 && S_ISREG(s.st_mode)) {
            sum += static_cast<u64>(s.st_blocks) * 512;
        }
    }
    return sum;
}

}  // namespace hf::bench
