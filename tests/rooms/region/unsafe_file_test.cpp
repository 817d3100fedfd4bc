// Things that are no regular file of ours, files in use, and rights that we lack.
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace hf::test {
namespace {

namespace fs = std::filesystem;

constexpr uid_t nobody = 65534;

class unsafe_file : public on_tmpfs {
   protected:
    nothing_lost check;
    errc code_of(open_mode mode = open_mode::open_or_create) {
        region_options o = small_options();
        o.mode = mode;
        return must_fail(file, o).code;
    }
    void expect_unsafe(const char* why) {
        const auto names = dir.names();
        for (const open_mode mode :
             {open_mode::open_or_create, open_mode::open_existing, open_mode::inspect}) {
            region_options o = small_options();
            o.mode = mode;
            const error e = must_fail(file, o);
            EXPECT_EQ(e.code, errc::unsafe_file);
            EXPECT_NE(e.why.find(why), std::string::npos) << e.to_string();
        }
        EXPECT_EQ(dir.names(), names);
    }
    // As an ordinary user; needs root to become one.
    int as_nobody(const std::function<void()>& body) {
        return in_child([&body] {
            if (::setgroups(0, nullptr) != 0 || ::setgid(nobody) != 0 || ::setuid(nobody) != 0) {
                return 1;
            }
            body();
            return 0;
        });
    }
    bool is_root() const { return ::geteuid() == 0; }
};

#define HF_NEEDS_ROOT() \
    if (!is_root()) GTEST_SKIP() << "needs root, to act as another user"

TEST_F(unsafe_file, a_symbolic_link_is_not_followed) {
    make_region(dir / "real.hf");
    const fingerprint before = fingerprint_of(dir / "real.hf");
    fs::create_symlink(dir / "real.hf", file);
    expect_unsafe("symbolic link");
    EXPECT_EQ(fingerprint_of(dir / "real.hf"), before);
}

TEST_F(unsafe_file, a_dangling_link_is_neither_followed_nor_replaced) {
    fs::create_symlink(dir / "nowhere", file);
    expect_unsafe("symbolic link");
    region_options o = small_options();
    o.mode = open_mode::create_new;
    EXPECT_EQ(must_fail(file, o).code, errc::usage);
    EXPECT_TRUE(fs::is_symlink(file));
    EXPECT_FALSE(fs::exists(dir / "nowhere"));
}

TEST_F(unsafe_file, a_directory) {
    fs::create_directory(file);
    expect_unsafe("a directory");
}

TEST_F(unsafe_file, a_fifo_does_not_make_us_wait) {
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    expect_unsafe("a FIFO");
}

TEST_F(unsafe_file, a_socket) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, file.c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    expect_unsafe("a socket");
    ::close(fd);
}

TEST_F(unsafe_file, a_device) {
    const auto r = region::open("/dev/null", small_options());
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, errc::unsafe_file);
    EXPECT_NE(r.error().why.find("a device"), std::string::npos);
}

TEST_F(unsafe_file, one_that_others_may_write) {
    make_region(file);
    for (const mode_t mode : {0602U, 0620U, 0666U}) {
        ASSERT_EQ(::chmod(file.c_str(), mode), 0);
        const fingerprint before = fingerprint_of(file);
        expect_unsafe("others than its owner may write");
        EXPECT_EQ(fingerprint_of(file), before);
    }
    ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
    must_open(file);
}

TEST_F(unsafe_file, one_of_another_owner) {
    HF_NEEDS_ROOT();
    make_region(file);
    ASSERT_EQ(::chown(file.c_str(), nobody, nobody), 0);
    const fingerprint before = fingerprint_of(file);
    for (const open_mode mode : {open_mode::open_or_create, open_mode::open_existing}) {
        region_options o = small_options();
        o.mode = mode;
        const error e = must_fail(file, o);
        EXPECT_EQ(e.code, errc::unsafe_file);
        EXPECT_NE(e.why.find("belongs to user 65534, not to user 0"), std::string::npos) << e.why;
        EXPECT_NE(e.next.find("sudo -u '#65534'"), std::string::npos) << e.next;
    }
    region_options o = small_options();
    o.mode = open_mode::inspect;
    must_open(file, o);  // root may read it
    EXPECT_EQ(fingerprint_of(file), before);
}

TEST_F(unsafe_file, one_of_another_owner_seen_by_an_ordinary_user) {
    HF_NEEDS_ROOT();
    make_region(file);
    ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
    EXPECT_EQ(as_nobody([this] { EXPECT_EQ(code_of(), errc::unsafe_file); }), 0);
}

TEST_F(unsafe_file, no_right_to_open) {
    HF_NEEDS_ROOT();
    make_region(file);
    ASSERT_EQ(::chown(file.c_str(), nobody, nobody), 0);
    ASSERT_EQ(::chmod(file.c_str(), 0400), 0);
    ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
    const fingerprint before = fingerprint_of(file);
    EXPECT_EQ(as_nobody([this] {
                  EXPECT_EQ(code_of(open_mode::open_existing), errc::denied);
                  EXPECT_EQ(code_of(open_mode::open_or_create), errc::denied);
                  region_options o = small_options();
                  o.mode = open_mode::inspect;
                  EXPECT_NE(must_open(file, o), nullptr);
              }),
              0);
    ASSERT_EQ(::chmod(file.c_str(), 0), 0);
    EXPECT_EQ(as_nobody([this] { EXPECT_EQ(code_of(open_mode::inspect), errc::denied); }), 0);
    ASSERT_EQ(::chmod(file.c_str(), 0400), 0);
    EXPECT_EQ(fingerprint_of(file), before);
}

TEST_F(unsafe_file, no_right_to_create_or_even_to_look) {
    HF_NEEDS_ROOT();
    ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
    EXPECT_EQ(as_nobody([this] { EXPECT_EQ(code_of(open_mode::create_new), errc::denied); }), 0);
    EXPECT_EQ(as_nobody([this] { EXPECT_EQ(code_of(), errc::denied); }), 0);
    ASSERT_EQ(::chmod(dir.path().c_str(), 0700), 0);
    EXPECT_EQ(as_nobody([this] { EXPECT_EQ(code_of(open_mode::open_existing), errc::denied); }), 0);
    EXPECT_TRUE(dir.names().empty());
}

TEST_F(unsafe_file, a_strange_umask_does_not_lock_the_owner_out) {
    const mode_t old = ::umask(0777);
    make_region(file);
    ::umask(old);
    EXPECT_EQ(fingerprint_of(file).mode & 0777U, 0600U);
    must_open(file);
}

TEST_F(unsafe_file, one_that_this_process_has_open_already) {
    const auto r = must_open(file);
    const fingerprint before = fingerprint_of(file);
    const error e = must_fail(file);
    EXPECT_EQ(e.code, errc::busy);
    EXPECT_NE(e.why.find("open already"), std::string::npos);
    EXPECT_EQ(code_of(open_mode::inspect), errc::busy);
    EXPECT_EQ(fingerprint_of(file), before);
}

TEST_F(unsafe_file, one_that_another_process_has_open) {
    make_region(file);
    int ready[2];
    int done[2];
    ASSERT_EQ(::pipe(ready), 0);
    ASSERT_EQ(::pipe(done), 0);
    const pid_t holder = ::fork();
    if (holder == 0) {
        const auto r = region::open(file, small_options());
        char c = r ? 'y' : 'n';
        if (::write(ready[1], &c, 1) != 1 || ::read(done[0], &c, 1) != 1) ::_exit(1);
        ::_exit(0);
    }
    char c = 0;
    ASSERT_EQ(::read(ready[0], &c, 1), 1);
    EXPECT_EQ(c, 'y');
    const fingerprint before = fingerprint_of(file);
    EXPECT_EQ(code_of(), errc::busy);
    EXPECT_EQ(code_of(open_mode::inspect), errc::busy);
    EXPECT_EQ(fingerprint_of(file), before);
    ASSERT_EQ(::write(done[1], &c, 1), 1);
    int status = 0;
    ::waitpid(holder, &status, 0);
    EXPECT_EQ(status, 0);
    must_open(file);  // the lock went with the process
    for (const int fd : {ready[0], ready[1], done[0], done[1]}) ::close(fd);
}

class full_disk : public on_tmpfs {
   protected:
    void on_a_disk_of(u64 bytes, const std::function<void(const fs::path&)>& body) {
        const fs::path mount = dir / "small";
        if (!with_small_tmpfs(mount, bytes, [&] { body(mount); })) {
            GTEST_SKIP() << "needs the right to mount a small tmpfs (root)";
        }
    }
};

TEST_F(full_disk, at_creation_leaves_nothing_behind) {
    on_a_disk_of(u64{1} << 20, [](const fs::path& disk) {
        region_options o = small_options();
        o.initial_size = u64{4} << 20;
        const error e = must_fail(disk / "store.hf", o);
        EXPECT_EQ(e.code, errc::no_space);
        EXPECT_TRUE(fs::is_empty(disk));
        o.initial_size = u64{512} << 10;
        must_open(disk / "store.hf", o);  // nothing leaked: there is room for a smaller one
    });
}

TEST_F(full_disk, at_growth_leaves_the_region_as_it_was) {
    on_a_disk_of(u64{1} << 20, [](const fs::path& disk) {
        const fs::path path = disk / "store.hf";
        region_options o = small_options();
        o.initial_size = 8 * layout::page_size;
        const auto r = must_open(path, o);
        ASSERT_NE(r, nullptr);
        std::memset(r->base() + layout::page_size, 0x77, 7 * layout::page_size);
        const fingerprint before = fingerprint_of(path);
        const auto segments = r->segments();
        for (int attempt = 0; attempt < 3; ++attempt) {
            const auto s = r->grow(segment_kind::heap, 16, 0);
            EXPECT_FALSE(s);
            EXPECT_EQ(s.error().code, errc::no_space) << s.error().to_string();
            EXPECT_NE(s.error().where.find("store.hf at offset 524288"), std::string::npos);
            EXPECT_EQ(fingerprint_of(path).bytes, before.bytes);
            EXPECT_EQ(r->segments(), segments);
            EXPECT_EQ(r->size(), 8 * layout::page_size);
        }
        EXPECT_EQ(*r->at<u8>(8 * layout::page_size - 1), 0x77);  // reads go on
        EXPECT_EQ(r->header().intent.pages.load(), 0U);
        EXPECT_TRUE(r->grow(segment_kind::heap, 4, 0));  // and so does growth that fits
    });
}

TEST_F(full_disk, a_copy_with_holes_is_refused_rather_than_killed_later) {
    make_region(file);
    const auto header = read_file(file);
    on_a_disk_of(u64{512} << 10, [&header](const fs::path& disk) {
        const fs::path copy = disk / "copy.hf";
        write_file(copy, {header.begin(), header.begin() + layout::page_size});
        fs::resize_file(copy, header.size());
        const fingerprint before = fingerprint_of(copy);
        const error e = must_fail(copy);
        EXPECT_EQ(e.code, errc::no_space);
        EXPECT_EQ(fingerprint_of(copy), before);
    });
}

TEST_F(full_disk, a_read_only_mount_is_no_permission) {
    on_a_disk_of(u64{2} << 20, [](const fs::path& disk) {
        make_region(disk / "store.hf");
        ASSERT_EQ(std::system(("mount -o remount,ro " + disk.string()).c_str()), 0);
        EXPECT_EQ(must_fail(disk / "store.hf").code, errc::denied);
        EXPECT_EQ(must_fail(disk / "new.hf").code, errc::denied);
        region_options o = small_options();
        o.mode = open_mode::inspect;
        EXPECT_NE(must_open(disk / "store.hf", o), nullptr);
    });
}

}  // namespace
}  // namespace hf::test
