#include "support/scratch.hpp"

#include "base/checksum.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace hf::test {

namespace fs = std::filesystem;

scratch_directory::scratch_directory() {
    const char* parent = std::getenv("HF_TEST_DIR");
    std::string name =
        std::string(parent == nullptr ? "/dev/shm" : parent) + "/holdfast-test-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
        std::perror(name.c_str());
        std::abort();
    }
    path_ = name;
}

scratch_directory::~scratch_directory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

std::vector<std::string> scratch_directory::names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(path_)) {
        all.push_back(entry.path().filename().string());
    }
    std::sort(all.begin(), all.end());
    return all;
}

namespace {

std::size_t open_files() {
    const fs::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::size_t free_windows() {
    std::vector<window> taken;
    for (auto w = window::take(); w; w = window::take()) taken.push_back(std::move(*w));
    return taken.size();
}

}  // namespace

nothing_lost::nothing_lost() : files_(open_files()) {}

nothing_lost::~nothing_lost() {
    EXPECT_EQ(open_files(), files_) << "files that are open";
    const std::size_t free = free_windows();  // the arena is there, from here on
    EXPECT_EQ(free, window_count()) << "windows that are free";
}

fingerprint fingerprint_of(const fs::path& path) {
    const auto bytes = read_file(path);
    struct stat s{};
    EXPECT_EQ(::lstat(path.c_str(), &s), 0);
    return {checksum64(bytes.data(), bytes.size()), bytes.size(), s.st_mode, s.st_uid};
}

std::vector<std::byte> read_file(const fs::path& path) {
    std::error_code missing;
    const auto size = fs::file_size(path, missing);
    std::vector<std::byte> bytes(missing ? 0 : size);
    std::ifstream in(path, std::ios::binary);
    in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<std::size_t>(in.gcount()));
    return bytes;
}

u64 offset_in(const fs::path& path, std::string_view text) {
    const auto bytes = read_file(path);
    const auto* at = static_cast<const std::byte*>(
        ::memmem(bytes.data(), bytes.size(), text.data(), text.size()));
    EXPECT_NE(at, nullptr) << path << " does not have " << text;
    return at == nullptr ? 0 : static_cast<u64>(at - bytes.data());
}

void write_file(const fs::path& path, const std::vector<std::byte>& bytes) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    EXPECT_GE(fd, 0);
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
        if (n <= 0) {
            ADD_FAILURE() << "cannot write " << path;
            break;
        }
        done += static_cast<std::size_t>(n);
    }
    ::close(fd);
}

void patch(const fs::path& path, u64 offset, const void* bytes, std::size_t size) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    EXPECT_GE(fd, 0);
    EXPECT_EQ(::pwrite(fd, bytes, size, static_cast<off_t>(offset)), static_cast<ssize_t>(size));
    ::close(fd);
}

void flip_bit(const fs::path& path, u64 bit) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_GE(fd, 0);
    unsigned char byte = 0;
    EXPECT_EQ(::pread(fd, &byte, 1, static_cast<off_t>(bit / 8)), 1);
    byte = static_cast<unsigned char>(byte ^ (1U << bit % 8));
    EXPECT_EQ(::pwrite(fd, &byte, 1, static_cast<off_t>(bit / 8)), 1);
    ::close(fd);
}

void change_superblocks(const fs::path& path,
                        const std::function<void(layout::superblock&)>& change) {
    const auto bytes = read_file(path);
    for (std::size_t copy = 0; copy < 2; ++copy) {
        layout::superblock s{};
        std::memcpy(&s, bytes.data() + copy * sizeof s, sizeof s);
        change(s);
        s.checksum = layout::superblock_checksum(s);
        patch(path, copy * sizeof s, &s, sizeof s);
    }
}

region_options small_options() {
    region_options o;
    o.initial_size = u64{1} << 20;
    return o;
}

void make_region(const fs::path& path, u64 pages) {
    region_options o = small_options();
    o.initial_size = pages * layout::page_size;
    const auto r = must_open(path, o);
    ASSERT_NE(r, nullptr);
    std::memset(r->base() + layout::page_size, 0x5A, 1000);
}

std::unique_ptr<region> must_open(const fs::path& path, const region_options& options) {
    auto r = region::open(path, options);
    if (!r) {
        ADD_FAILURE() << r.error().to_string();
        return nullptr;
    }
    return std::move(*r);
}

error must_fail(const fs::path& path, const region_options& options) {
    auto r = region::open(path, options);
    if (r) {
        ADD_FAILURE() << path << " was opened";
        return {errc::violation, "", "", "", ""};
    }
    const error& e = r.error();
    EXPECT_NE(e.where.find(path.filename().string()), std::string::npos) << e.to_string();
    EXPECT_FALSE(e.what.empty());
    EXPECT_FALSE(e.why.empty());
    EXPECT_FALSE(e.next.empty());
    EXPECT_EQ(e.to_string().find('\n'), std::string::npos);
    return e;
}

int in_child(const std::function<int()>& body) {
    std::fflush(stdout);
    std::fflush(stderr);
    const pid_t child = ::fork();
    if (child == 0) {
        const int code = body();
        std::fflush(stdout);
        std::fflush(stderr);
        ::_exit(::testing::Test::HasFailure() ? 99 : code);
    }
    EXPECT_GT(child, 0);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// The mount lives in a namespace of the child's own, so it goes away however the child ends.
bool with_small_tmpfs(const fs::path& where, u64 bytes, const std::function<void()>& body) {
    constexpr int not_allowed = 77;
    fs::create_directories(where);
    const int code = in_child([&] {
        const std::string size = "mode=0700,size=" + std::to_string(bytes);
        if (::unshare(CLONE_NEWNS) != 0 ||
            ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("tmpfs", where.c_str(), "tmpfs", 0, size.c_str()) != 0) {
            return not_allowed;
        }
        body();
        return 0;
    });
    if (code == not_allowed) return false;
    EXPECT_EQ(code, 0);
    return true;
}

}  // namespace hf::test
