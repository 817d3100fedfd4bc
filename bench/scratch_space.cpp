#include "bench/scratch_space.hpp"

#include "base/os_error.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

namespace hf::bench {

namespace {

/// Descriptor of a new tmpfs with huge pages, or -1 and errno.
int mount_huge_tmpfs() {
    const int context = ::fsopen("tmpfs", FSOPEN_CLOEXEC);
    if (context < 0) return -1;
    int mount = -1;
    if (::fsconfig(context, FSCONFIG_SET_STRING, "huge", "always", 0) == 0 &&
        ::fsconfig(context, FSCONFIG_SET_STRING, "size", "95%", 0) == 0 &&
        ::fsconfig(context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0) {
        mount = ::fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    }
    const int reason = errno;
    ::close(context);
    errno = reason;
    return mount;
}

u64 kilobytes(const std::string& line) {
    std::istringstream in(line.substr(line.find(':') + 1));
    u64 value = 0;
    in >> value;
    return value << 10;
}

}  // namespace

result<scratch_space> scratch_space::make(const std::optional<std::string>& directory,
                                          huge_pages wish) {
    scratch_space made;
    if (directory) {
        std::error_code ignored;
        if (!std::filesystem::is_directory(*directory, ignored)) {
            return failure({errc::not_found, "make the measured regions", *directory,
                            "it is no directory", "name a directory on tmpfs"});
        }
        made.directory_ = *directory;
        made.story_ = "given directory " + *directory;
        return made;
    }
    std::string reason = "not asked for";
    if (wish != huge_pages::off) {
        made.mount_ = mount_huge_tmpfs();
        if (made.mount_ >= 0) {
            made.directory_ = "/proc/self/fd/" + std::to_string(made.mount_);
            made.story_ = "private tmpfs with huge=always";
            return made;
        }
        reason = std::string("a tmpfs with huge=always was refused: ") + std::strerror(errno);
        if (wish == huge_pages::on) {
            return failure(os_error("mount a tmpfs with huge pages", "fsmount",
                                    "run as root, or give --huge-pages=auto"));
        }
    }
    made.directory_ = "/dev/shm";
    made.story_ = "/dev/shm as it is mounted (huge pages: " + reason + ")";
    return made;
}

scratch_space::scratch_space(scratch_space&& other) noexcept
    : mount_(std::exchange(other.mount_, -1)),
      directory_(std::move(other.directory_)),
      story_(std::move(other.story_)) {}

scratch_space::~scratch_space() {
    if (mount_ >= 0) ::close(mount_);
}

std::filesystem::path scratch_space::file(const std::string& name) const {
    return directory_ / ("holdfast-bench-" + std::to_string(::getpid()) + "-" + name + ".hf");
}

void scratch_space::remove(const std::filesystem::path& file) const noexcept {
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
}

u64 scratch_space::free_bytes() const noexcept {
    struct statvfs s{};
    if (::statvfs(directory_.c_str(), &s) != 0) return 0;
    return static_cast<u64>(s.f_bavail) * s.f_frsize;
}

page_report pages_of(const void* base, u64 bytes) {
    const auto first = reinterpret_cast<u64>(base);
    std::ifstream maps("/proc/self/smaps");
    page_report report;
    bool inside = false;
    for (std::string line; std::getline(maps, line);) {
        u64 from = 0;
        u64 to = 0;
        char dash = 0;
        std::istringstream head(line);
        const std::size_t name_end = line.find_first_of(": ");
        if (name_end != std::string::npos && line[name_end] == ' ' &&
            (head >> std::hex >> from >> dash >> to) && dash == '-') {
            inside = from < first + bytes && to > first;
            continue;
        }
        if (!inside) continue;
        if (line.starts_with("Rss:")) report.resident += kilobytes(line);
        if (line.starts_with("ShmemPmdMapped:") || line.starts_with("AnonHugePages:") ||
            line.starts_with("FilePmdMapped:")) {
            report.huge += kilobytes(line);
        }
    }
    return report;
}

u64 available_memory() {
    std::ifstream info("/proc/meminfo");
    for (std::string line; std::getline(info, line);) {
        if (line.starts_with("MemAvailable:")) return kilobytes(line);
    }
    return 0;
}

}  // namespace hf::bench
