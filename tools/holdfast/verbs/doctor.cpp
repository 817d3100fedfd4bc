// `holdfast doctor`: reports what this machine and a location on it support. Changes nothing.
#include "base/os_error.hpp"
#include "huge_pages.hpp"
#include "mounts.hpp"
#include "paging/page_tracker.hpp"
#include "persist/detect.hpp"
#include "persist/medium.hpp"
#include "quantity.hpp"
#include "region/file.hpp"
#include "survival.hpp"
#include "sync/asymmetric_fence.hpp"
#include "verb.hpp"
#include "view/output.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace hf::tool {

namespace {

namespace fs = std::filesystem;

struct findings {
    std::string path;
    std::string looked_at;  ///< the path, or its longest existing part
    std::optional<mount_facts> mount;
    std::string file_system;
    std::uint64_t free_bytes = 0;
    std::optional<medium_kind> medium;
    std::optional<error> unsuitable;
    huge_page_facts huge;
    std::vector<std::string> domains;  ///< persistence domains of the machine's NVDIMM regions
};

std::string processor_name() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
    }
    return "unknown";
}

std::vector<std::string> persistence_domains() {
    std::vector<std::string> all;
    std::error_code status;
    for (const auto& entry : fs::directory_iterator("/sys/bus/nd/devices", status)) {
        const std::string domain = first_line_of(entry.path() / "persistence_domain");
        if (!domain.empty()) all.push_back(entry.path().filename().string() + ": " + domain);
    }
    return all;
}

/// The longest prefix of the path that exists.
fs::path existing_part(fs::path path) {
    std::error_code status;
    while (!fs::exists(fs::symlink_status(path, status))) {
        if (!path.has_parent_path() || path == path.parent_path()) return ".";
        path = path.parent_path();
    }
    return path;
}

int open_for_reading(const fs::path& path, int flags) {
    return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
}

/// Detects the medium by a regular file: that of the path, or an unnamed one beside it.
result<void> look_at_medium(findings& f, const fs::path& file, int unnamed, int directory) {
    struct stat s{};
    std::error_code status;
    detail::file_handle opened;
    if (!fs::is_directory(file, status) && ::lstat(file.c_str(), &s) == 0) {
        if (!S_ISREG(s.st_mode)) {
            return failure({errc::unsafe_file, "inspect the file", f.path,
                            S_ISLNK(s.st_mode) ? "it is a symbolic link, and links are not followed"
                                               : "it is not a regular file",
                            "name a region file, a new one, or a directory"});
        }
        opened = detail::file_handle(open_for_reading(file, O_NOFOLLOW));
        if (!opened.is_open()) {
            return failure(os_error("inspect the file", f.path, "check the rights on it"));
        }
    }
    const int fd = opened.is_open() ? opened.get() : unnamed;
    if (fd < 0) {
        // No file can be created for the detection: use the type of the file system.
        if (f.mount && f.mount->type == "tmpfs") {
            f.medium = medium_kind::shm;
            return {};
        }
        return failure(
            {errc::medium, "find the medium", f.path,
             "no file can be made in this directory (" + file_system_name(directory) + ")",
             "check the rights on it, or name another"});
    }
    const auto kind = detect_medium(fd, f.path);
    if (kind) {
        f.medium = *kind;
    } else {
        f.unsuitable = kind.error();
    }
    return {};
}

result<findings> look_at(const std::string& path) {
    findings f;
    f.path = path;
    const fs::path there = existing_part(path);
    f.looked_at = there.string();
    std::error_code status;
    const bool is_directory = fs::is_directory(there, status);
    fs::path directory = is_directory ? there : there.parent_path();
    if (directory.empty()) directory = ".";

    const detail::file_handle opened(open_for_reading(directory, O_DIRECTORY));
    struct stat s{};
    if (!opened.is_open() || ::fstat(opened.get(), &s) != 0) {
        return failure(os_error("inspect the directory", directory.string(),
                                "check the path and the rights on it"));
    }
    f.mount = mount_of_device(s.st_dev);
    f.file_system = f.mount ? f.mount->type : file_system_name(opened.get());
    struct statvfs space{};
    if (::fstatvfs(opened.get(), &space) == 0) {
        f.free_bytes = std::uint64_t{space.f_bavail} * space.f_frsize;
    }
    // Without a name it is removed with its descriptor.
    const detail::file_handle unnamed(
        ::openat(opened.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (auto found = look_at_medium(f, there, unnamed.get(), opened.get()); !found) {
        return tl::unexpected(found.error());
    }
    f.huge = find_huge_pages(f.medium ? unnamed.get() : -1, f.mount);
    f.domains = persistence_domains();
    return f;
}

std::string yes_no(bool b) { return b ? "yes" : "no"; }

constexpr std::array<flush_instruction, 3> instructions{
    flush_instruction::clwb, flush_instruction::clflushopt, flush_instruction::clflush};

flush_instruction used_on(medium_kind kind) {
    return kind == medium_kind::dax ? best_flush_instruction() : flush_instruction::none;
}

/// How a snapshot finds the pages that were stored to.
page_tracker::way best_page_tracking() {
    page_table shown;
    if (written_pages::start()) return page_tracker::way::written;
    return shown.open() ? page_tracker::way::copies : page_tracker::way::all;
}

std::string tracking_text() {
    switch (best_page_tracking()) {
        case page_tracker::way::written:
            return "written: a snapshot's checkpoint looks at pages stored to since the last one";
        case page_tracker::way::copies:
            return "copies: a snapshot's checkpoint looks at all pages stored to (before Linux "
                   "6.7)";
        case page_tracker::way::all:
            break;
    }
    return "all: a snapshot's checkpoint looks at every page (/proc/self/pagemap is not shown)";
}

json json_of(const findings& f) {
    json j;
    j["path"] = f.path;
    j["looked_at"] = f.looked_at;
    j["region_possible"] = f.medium.has_value();
    j["medium"] = f.medium ? json(to_string(*f.medium)) : json(nullptr);
    j["survives"] = f.medium ? json(survival_of(*f.medium, true)) : json(nullptr);
    j["file_system"] = {{"type", f.file_system},
                        {"mount_point", f.mount ? f.mount->point : ""},
                        {"options", f.mount ? f.mount->options : ""},
                        {"free_bytes", f.free_bytes}};
    json& cpu = j["processor"];
    cpu["name"] = processor_name();
    for (const auto i : instructions) cpu[std::string(to_string(i))] = has_flush_instruction(i);
    cpu["used_here"] = f.medium ? json(to_string(used_on(*f.medium))) : json(nullptr);
    cpu["used_with_flush_always"] = to_string(best_flush_instruction());
    j["membarrier"] = detail::membarrier_available;
    j["page_tracking"] = to_string(best_page_tracking());
    j["persistence_domains"] = f.domains;
    j["huge_pages"] = {{"granted", f.huge.granted ? json(*f.huge.granted) : json(nullptr)},
                       {"granted_on_request", f.huge.on_request},
                       {"enabled", f.huge.anonymous},
                       {"shmem_enabled", f.huge.shared},
                       {"mount_option", f.huge.mount},
                       {"advice", f.huge.advice}};
    if (f.unsuitable) j["error"] = to_json(*f.unsuitable);
    return j;
}

std::string text_of(const findings& f) {
    sheet s;
    s.title(f.path + (f.looked_at == f.path ? "" : " (looked at " + f.looked_at + ")"));
    s.line("file system", f.file_system + (f.mount ? " at " + f.mount->point : ""));
    s.line("free space", human_size(f.free_bytes));
    s.line("medium", f.medium ? std::string(to_string(*f.medium)) : "none that can hold a region");
    for (const std::string& d : f.domains) s.line("NVDIMM", d);
    s.title("processor");
    s.line("name", processor_name());
    for (const auto i : instructions) {
        s.line(std::string(to_string(i)), yes_no(has_flush_instruction(i)));
    }
    if (f.medium) {
        const bool flushes = used_on(*f.medium) != flush_instruction::none;
        s.line("used here", flushes ? std::string(to_string(used_on(*f.medium)))
                                    : "none: this medium needs no write-back (--flush always: " +
                                          std::string(to_string(best_flush_instruction())) + ")");
    }
    s.line("membarrier", detail::membarrier_available
                             ? "yes: operations enter an epoch without a fence"
                             : "no: each operation costs a fence");
    s.line("page tracking", tracking_text());
    s.title("huge pages");
    s.line("granted here", f.huge.granted ? yes_no(*f.huge.granted) + " (tried)" : "not tried");
    if (f.huge.on_request) s.line("on request", "yes (MADV_COLLAPSE, tried); regions on tmpfs ask");
    s.line("transparent_hugepage", f.huge.anonymous.empty() ? "not offered" : f.huge.anonymous);
    s.line("shmem_enabled", f.huge.shared.empty() ? "not offered" : f.huge.shared);
    s.line("mount option", f.huge.mount.empty() ? "none" : "huge=" + f.huge.mount);
    if (!f.huge.advice.empty()) s.line("how to get them", f.huge.advice);
    s.title("verdict");
    return s.text() + "  " +
           (f.medium ? survival_of(*f.medium, true) : "no region is possible here") + "\n";
}

int examine(const std::string& path, bool as_json) {
    const auto f = look_at(path);
    if (!f) {
        if (as_json) say_json(json{{"path", path}, {"error", to_json(f.error())}});
        return complain(f.error());
    }
    as_json ? say_json(json_of(*f)) : say(text_of(*f));
    return f->unsuitable ? complain(*f->unsuitable) : 0;
}

constexpr const char* doctor_remarks =
    "Makes an unnamed file of 4 MiB beside PATH for a moment, to see what the kernel grants;\n"
    "nothing else is changed. Exit code 10: no region is possible there.\n\n"
    "Example:\n"
    "  holdfast doctor /dev/shm";

}  // namespace

void add_doctor(CLI::App& app, action& chosen) {
    auto path = std::make_shared<std::string>("data/store.hf");
    auto as_json = std::make_shared<bool>(false);
    verb_line(app, "doctor",
              "Report what this machine supports, and which crashes a region at PATH survives")
        .optional_name("PATH", *path, "A file, existing or not, or a directory")
        .json(*as_json)
        .remarks(doctor_remarks)
        .runs(chosen, [path, as_json] { return examine(*path, *as_json); });
}

}  // namespace hf::tool
