#include "crashlab/report/places.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <set>

namespace hf::lab {
namespace {

/// The checkout's directory with a trailing slash.
constexpr std::string_view checkout = HF_CHECKOUT;

/// The first object that the loader lists is the program itself.
u64 load_bias() {
    u64 bias = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* into) {
            *static_cast<u64*>(into) = info->dlpi_addr;
            return 1;
        },
        &bias);
    return bias;
}

std::string read_all(int fd) {
    std::string text;
    std::array<char, 4096> buffer{};
    for (;;) {
        const ssize_t n = ::read(fd, buffer.data(), buffer.size());
        if (n <= 0) return text;
        text.append(buffer.data(), static_cast<std::size_t>(n));
    }
}

/// An unnamed file containing `text`; negative: an error.
int unnamed_file(const std::string& text) {
    const int fd = ::memfd_create("addresses", MFD_CLOEXEC);
    if (fd < 0) return fd;
    const auto size = static_cast<ssize_t>(text.size());
    if (::write(fd, text.data(), text.size()) != size || ::lseek(fd, 0, SEEK_SET) != 0) {
        ::close(fd);
        return -1;
    }
    return fd;
}

/// Starts `program` with these files as input and output; false: it does not exist.
bool start(const char* program, const std::string& executable, int in, int out, pid_t& child) {
    std::string arguments[] = {program, "-Cfia", "-e", executable};
    std::vector<char*> argv;
    for (std::string& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in, 0);
    posix_spawn_file_actions_adddup2(&files, out, 1);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    const int refused = posix_spawnp(&child, program, &files, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    return refused == 0;
}

/// The output of `program` for `questions`; "" if it cannot be run.
std::string answers_of(const char* program, const std::string& executable,
                       const std::string& questions) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return "";
    const int in = unnamed_file(questions);
    pid_t child = 0;
    const bool started = in >= 0 && start(program, executable, in, ends[1], child);
    ::close(ends[1]);
    if (in >= 0) ::close(in);
    const std::string text = started ? read_all(ends[0]) : "";
    ::close(ends[0]);
    if (started) ::waitpid(child, nullptr, 0);
    return text;
}

std::string_view next_line(std::string_view& text) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

std::string shortened(std::string_view path) {
    std::string clean = std::filesystem::path(path).lexically_normal().string();
    if (clean.starts_with(checkout)) clean.erase(0, checkout.size());
    return clean;
}

/// Parses "file:line", which may be followed by other words.
frame frame_of(std::string_view function, std::string_view where) {
    frame f;
    f.function = function;
    where = where.substr(0, where.find(" ("));
    const auto colon = where.rfind(':');
    if (colon == std::string_view::npos) return f;
    const auto number = where.substr(colon + 1);
    std::from_chars(number.data(), number.data() + number.size(), f.line);
    f.file = shortened(where.substr(0, colon));
    return f;
}

/// Parses, for each address, a line with the address and two lines for each function.
std::map<u64, std::vector<frame>> parse(std::string_view answers) {
    std::map<u64, std::vector<frame>> found;
    std::vector<frame>* current = nullptr;
    while (!answers.empty()) {
        const auto line = next_line(answers);
        u64 address = 0;
        if (line.starts_with("0x") &&
            std::from_chars(line.data() + 2, line.data() + line.size(), address, 16).ec ==
                std::errc{}) {
            current = &found[address];
        } else if (current != nullptr) {
            frame f = frame_of(line, next_line(answers));
            if (!f.file.empty() && f.file != "??") current->push_back(std::move(f));
        }
    }
    return found;
}

std::map<u64, std::vector<frame>> look_up(const std::set<u64>& addresses) {
    std::error_code none;
    const auto executable = std::filesystem::read_symlink("/proc/self/exe", none);
    std::string questions;
    for (const u64 a : addresses) questions += fmt::format("0x{:x}\n", a);
    // LLVM's first: binutils' assigns the outermost function's name to the innermost frame.
    for (const char* program : {"llvm-addr2line", "llvm-addr2line-19", "addr2line"}) {
        const std::string answers = answers_of(program, executable.string(), questions);
        if (!answers.empty()) return parse(answers);
    }
    return {};
}

/// Wrappers around a store, and installed libraries, are not informative.
bool is_worth_showing(const frame& f) {
    const bool is_installed =
        f.file.starts_with("/usr/") || f.file.find("/holdfast/internal/") != std::string::npos;
    return !is_installed && !f.file.starts_with("src/persist/") &&
           short_name(f.function) != "store";
}

std::string text_of(const frame& f) {
    // Code that the compiler has merged from several lines has no line number.
    if (f.line == 0) return fmt::format("{}, {}()", f.file, short_name(f.function));
    return fmt::format("{}:{}", f.file, f.line);
}

std::string shown(const std::vector<frame>& frames, u64 pc) {
    for (const frame& f : frames) {
        if (is_worth_showing(f)) return text_of(f);
    }
    return frames.empty() ? fmt::format("0x{:x}", pc) : text_of(frames.front());
}

}  // namespace

std::string_view short_name(std::string_view function) noexcept {
    function = function.substr(0, function.find_first_of("(<"));
    const auto colon = function.rfind(':');
    return colon == std::string_view::npos ? function : function.substr(colon + 1);
}

void source_places::add(u64 pc, std::vector<frame> frames) {
    place& p = places_[pc];
    p.text = shown(frames, pc);
    p.frames = std::move(frames);
}

void source_places::resolve(const std::vector<event>& trace) {
    const u64 bias = load_bias();
    std::set<u64> unknown;
    for (const event& e : trace) {
        // The call itself: the next instruction may belong to another line.
        if (e.pc > bias && !places_.contains(e.pc)) unknown.insert(e.pc - 1 - bias);
    }
    if (unknown.empty()) return;
    auto found = look_up(unknown);
    for (const u64 a : unknown) add(a + 1 + bias, std::move(found[a]));
}

std::string source_places::text(u64 pc) const {
    if (pc == 0) return "";
    const auto known = places_.find(pc);
    return known == places_.end() ? shown({}, pc) : known->second.text;
}

std::span<const frame> source_places::frames(u64 pc) const {
    const auto known = places_.find(pc);
    if (known == places_.end()) return {};
    return known->second.frames;
}

}  // namespace hf::lab
