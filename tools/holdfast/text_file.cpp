#include "text_file.hpp"

#include "base/os_error.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace hf::tool {

namespace {

constexpr const char* writing = "write the dump";
constexpr const char* reading = "read the dump";

result<void> write_all(int fd, std::string_view text, const std::string& name) {
    while (!text.empty()) {
        const ssize_t n = ::write(fd, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return failure(os_error(writing, name, "check the space and the device"));
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
}

result<std::size_t> read_some(int fd, std::span<char> into, const std::string& name) {
    for (;;) {
        const ssize_t n = ::read(fd, into.data(), into.size());
        if (n >= 0) return static_cast<std::size_t>(n);
        if (errno != EINTR) {
            return failure(os_error(errc::io, reading, name, "name a file that can be read"));
        }
    }
}

enum class content { dump, nothing, other };

/// True for dumps of any version, by their first bytes.
content content_of(const detail::file_handle& file) {
    struct stat s{};
    if (!file.is_open() || ::fstat(file.get(), &s) != 0 || !S_ISREG(s.st_mode)) {
        return content::other;
    }
    std::array<char, detail::dump_start.size()> start{};
    const ssize_t n = ::pread(file.get(), start.data(), start.size(), 0);
    if (n == 0) return content::nothing;
    const bool is_dump =
        n > 0 && std::string_view(start.data(), start.size()) == detail::dump_start;
    return is_dump ? content::dump : content::other;
}

bool is_dump(const std::string& name) {
    return content_of(detail::file_handle(
               ::open(name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC))) ==
           content::dump;
}

tl::unexpected<error> is_other(const std::string& name) {
    return failure({errc::unsafe_file, writing, name,
                    "what is there is no dump, and is not replaced",
                    "choose another name, or remove the file"});
}

tl::unexpected<error> is_there(const std::string& name) {
    return failure({errc::usage, writing, name, "there is a file of this name already",
                    is_dump(name) ? "choose another name, or replace it with --force"
                                  : "choose another name, or remove the file"});
}

result<void> check_place(const std::string& name, bool replace) {
    if (!detail::is_taken(name)) return {};
    if (!replace) return is_there(name);
    return is_dump(name) ? result<void>() : is_other(name);
}

/// Opens a new file, or a leftover of a killed dump: locked, and empty.
result<detail::file_handle> open_partial(const std::string& partial) {
    const detail::file_handle made(
        ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!made.is_open() && errno != EEXIST) {
        return failure(os_error(writing, partial, "check the rights on its directory"));
    }
    auto file = detail::open_file(partial, true);  // errc::busy: another dump is in progress
    if (!file) return file;
    if (!detail::is_at(*file, partial)) {
        return failure({errc::busy, writing, partial, "another dump has just been finished",
                        "check that file, or try again"});
    }
    // After a kill before the first word, it is empty.
    if (content_of(*file) == content::other) return is_other(partial);
    if (auto ok = detail::truncate(*file, partial, 0); !ok) return tl::unexpected(ok.error());
    return file;
}

}  // namespace

result<text_output> text_output::open(const std::string& name, bool replace) {
    text_output out(is_stream(name) ? "" : name, replace);
    if (out.name_.empty()) return out;
    if (auto ok = check_place(name, replace); !ok) return tl::unexpected(ok.error());
    out.replace_ = detail::is_taken(name);  // does not replace a file created later
    auto file = open_partial(out.partial());
    if (!file) return tl::unexpected(file.error());
    out.file_ = std::move(*file);
    out.unfinished_.emplace(out.partial());
    return out;
}

text_output::~text_output() {
    if (file_.is_open()) ::unlink(partial().c_str());
}

result<void> text_output::write(std::string_view text) const {
    return name_.empty() ? write_all(STDOUT_FILENO, text, "standard output")
                         : write_all(file_.get(), text, partial());
}

result<void> text_output::finish() {
    if (name_.empty()) return {};
    if (::fsync(file_.get()) != 0) {
        return failure(os_error(writing, partial(), "check the device"));
    }
    if (auto ok = check_place(name_, replace_); !ok) return ok;
    const unsigned how = replace_ ? 0 : RENAME_NOREPLACE;
    if (::renameat2(AT_FDCWD, partial().c_str(), AT_FDCWD, name_.c_str(), how) != 0) {
        if (errno == EEXIST) return is_there(name_);
        return failure(os_error(writing, name_, "check the rights on its directory"));
    }
    file_ = {};
    unfinished_.reset();
    const std::filesystem::path parent = std::filesystem::path(name_).parent_path();
    const detail::file_handle directory(
        ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory.is_open() && ::fsync(directory.get()) == 0) return {};
    return failure(os_error(errc::io, "sync the directory of the dump", name_, "check the device"));
}

result<text_input> text_input::open(const std::string& name) {
    text_input in;
    in.name_ = is_stream(name) ? "standard input" : name;
    if (!is_stream(name)) {
        in.file_ = detail::file_handle(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
        if (!in.file_.is_open()) return failure(os_error(reading, name, "check the path"));
    }
    struct stat s{};
    if (::fstat(in.fd(), &s) != 0) return failure(os_error(reading, in.name_, "check the path"));
    in.regular_ = S_ISREG(s.st_mode);
    if (in.regular_) in.bytes_ = static_cast<std::uint64_t>(s.st_size);
    return in;
}

int text_input::fd() const noexcept {
    if (reads_kept_) return kept_.get();
    return file_.is_open() ? file_.get() : STDIN_FILENO;
}

detail::dump_reader::source text_input::source() {
    return [this](std::span<char> into) { return read_some(fd(), into, name_); };
}

result<detail::dump_reader::source> text_input::source_kept(const std::string& directory) {
    if (regular_) return source();
    kept_ = detail::file_handle(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (!kept_.is_open()) {
        return failure(os_error("keep the dump until it is known to be whole", directory,
                                "write it to a file first, and load that"));
    }
    return [this](std::span<char> into) -> result<std::size_t> {
        auto n = read_some(fd(), into, name_);
        if (!n) return n;
        const auto kept = write_all(kept_.get(), {into.data(), *n}, "a file for what was read");
        if (!kept) return tl::unexpected(kept.error());
        return n;
    };
}

result<void> text_input::rewind() {
    reads_kept_ = kept_.is_open();
    if (::lseek(fd(), 0, SEEK_SET) == 0) return {};
    return failure(os_error(errc::io, reading, name_, "load it from a file"));
}

}  // namespace hf::tool
