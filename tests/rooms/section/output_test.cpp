// Output of sections that is held until no crash undoes them: the API, and the program's own calls.
#include "section/opened_group.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hf {
namespace {

using test::in_child;
using test::store;

class section_output : public test::groups {
   protected:
    void SetUp() override { ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0); }
    void TearDown() override {
        groups::TearDown();
        for (const int fd : ends_) ::close(fd);
    }
    [[nodiscard]] int client() const { return ends_[0]; }
    static u64* counter() {
        hf_region* const r = hf_region_open("count");
        auto* p = static_cast<u64*>(hf_root_get(r, "count"));
        if (p != nullptr) return p;
        p = static_cast<u64*>(hf_zeroed(r, 1, sizeof *p));
        EXPECT_EQ(hf_root_set(r, "count", p), 0);
        return p;
    }
    /// A section that counts up and tells the new value.
    static void count_and_tell(u64* c, int fd) {
        hf_section_begin();
        store(*c, *c + 1);
        EXPECT_EQ(hf_output_write(fd, c, sizeof *c), static_cast<ssize_t>(sizeof *c));
        hf_section_end();
    }
    /// The newest number that has come; waits for the first one if asked to. 0: none.
    [[nodiscard]] u64 newest_told(bool wait) const {
        u64 newest = 0;
        u64 value = 0;
        while (::recv(ends_[1], &value, sizeof value, wait && newest == 0 ? 0 : MSG_DONTWAIT) ==
               static_cast<ssize_t>(sizeof value)) {
            newest = value;
        }
        return newest;
    }
    std::array<int, 2> ends_{};
};

TEST_P(section_output, leaves_after_the_cut_that_has_its_section) {
    open();
    u64* const c = counter();
    count_and_tell(c, client());
    ::usleep(3000);
    EXPECT_TRUE(is_graph() || newest_told(false) == 0);  // there sections are kept one by one
    ASSERT_EQ(hf_section_cut(), 0) << hf_section_error();
    EXPECT_EQ(newest_told(true), 1U);
}

TEST_P(section_output, of_a_section_that_runs_is_held_and_cannot_be_flushed) {
    open();
    u64* const c = counter();
    hf_section_begin();
    count_and_tell(c, client());
    EXPECT_NE(hf_output_flush(), 0) << "it would wait for its own end";
    ::usleep(3000);
    EXPECT_EQ(newest_told(false), 0U);
    hf_section_end();
    EXPECT_EQ(hf_output_flush(), 0) << hf_section_error();
    EXPECT_EQ(newest_told(false), 1U);
}

TEST_P(section_output, beyond_the_limit_is_an_error_that_names_the_section) {
    auto o = options();
    o.hold_bytes = 16;
    open(o);
    u64* const c = counter();
    hf_section_begin();
    count_and_tell(c, client());
    count_and_tell(c, client());
    EXPECT_EQ(hf_output_write(client(), c, sizeof *c), -1);
    EXPECT_EQ(errno, ENOBUFS);
    EXPECT_NE(std::strstr(hf_section_error(), "the section begun at"), nullptr);
    store(*c, u64{3});
    hf_section_end();
    EXPECT_EQ(hf_output_write(client(), c, sizeof *c), 8) << "outside it waits for a cut";
    EXPECT_EQ(hf_output_flush(), 0) << hf_section_error();
    EXPECT_EQ(newest_told(false), 3U);
}

TEST_P(section_output, is_written_at_close_and_at_exit) {
    open();
    count_and_tell(counter(), client());
    ASSERT_EQ(hf_group_close(), 0) << hf_section_error();
    EXPECT_EQ(newest_told(false), 1U);
    const int ended = in_child([this] {
        open();
        count_and_tell(counter(), client());
        std::exit(7);
        return 0;
    });
    EXPECT_EQ(ended, 7);
    EXPECT_EQ(newest_told(false), 2U);
}

TEST_P(section_output, without_a_group_is_written_at_once) {
    const u64 value = 5;
    EXPECT_EQ(hf_output_write(client(), &value, sizeof value), 8);
    EXPECT_EQ(newest_told(false), 5U);
}

TEST_P(section_output, belongs_to_the_parent_after_fork) {
    open();
    u64* const c = counter();
    hf_section_begin();
    count_and_tell(c, client());
    EXPECT_EQ(in_child([this] {
                  const u64 own = 9;
                  const bool wrote = hf_output_write(client(), &own, sizeof own) == 8;
                  return wrote && hf_section_depth() == 0 ? 3 : 4;
              }),
              3);
    EXPECT_EQ(newest_told(false), 9U) << "the child has no group";
    hf_section_end();
    EXPECT_EQ(hf_output_flush(), 0) << hf_section_error();
    EXPECT_EQ(newest_told(false), 1U);
}

// A client must never know of a section that the crash has undone.
TEST_P(section_output, tells_of_no_section_that_a_kill_undoes) {
    for (int round = 0; round < 4; ++round) {
        const pid_t child = ::fork();
        if (child == 0) {
            auto o = options();
            o.by_hand = 0;
            o.period_us = 2000;
            if (hf_group_open(file.c_str(), &o) != 0) ::_exit(1);
            for (u64* const c = counter();;) count_and_tell(c, client());
        }
        u64 told = newest_told(true);
        for (int i = 0; i < 10; ++i) {
            ::usleep(1500);
            if (const u64 newer = newest_told(false); newer != 0) told = newer;
        }
        ::kill(child, SIGKILL);
        ASSERT_EQ(::waitpid(child, nullptr, 0), child);
        if (const u64 newer = newest_told(false); newer != 0) told = newer;
        open();
        EXPECT_GE(*counter(), told);
        EXPECT_GT(told, 0U);
        ASSERT_EQ(hf_group_close(), 0) << hf_section_error();
    }
}

// --- the program's own calls, with the option hold_output ---

class program_output : public section_output {
   protected:
    void SetUp() override {
        section_output::SetUp();
        sockaddr_un a{};
        a.sun_family = AF_UNIX;
        const std::string path = (dir / "s").string();
        std::strncpy(a.sun_path, path.c_str(), sizeof a.sun_path - 1);
        const int listening = ::socket(AF_UNIX, SOCK_STREAM, 0);
        const auto* const at = reinterpret_cast<const sockaddr*>(&a);
        ASSERT_EQ(::bind(listening, at, sizeof a), 0);
        ASSERT_EQ(::listen(listening, 1), 0);
        peer_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
        ASSERT_EQ(::connect(peer_, at, sizeof a), 0);
        server_ = ::accept(listening, nullptr, nullptr);
        ::close(listening);
        auto o = options();
        o.hold_output = 1;
        open(o);
    }
    void TearDown() override {
        section_output::TearDown();
        ::close(server_);
        ::close(peer_);
    }
    [[nodiscard]] static std::string arrived(int fd) {
        std::array<char, 64> bytes{};
        const ssize_t n = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
        return {bytes.data(), n > 0 ? static_cast<std::size_t>(n) : 0};
    }
    int server_ = -1;
    int peer_ = -1;
};

TEST_P(program_output, to_a_client_is_held_whichever_call_makes_it) {
    iovec part{const_cast<char*>("d"), 1};
    msghdr m{};
    m.msg_iov = &part;
    m.msg_iovlen = 1;
    hf_section_begin();
    store(*counter(), u64{1});
    EXPECT_EQ(::write(server_, "a", 1), 1);
    EXPECT_EQ(::send(server_, "b", 1, MSG_NOSIGNAL), 1);
    EXPECT_EQ(::sendto(server_, "c", 1, 0, nullptr, 0), 1);
    EXPECT_EQ(::sendmsg(server_, &m, 0), 1);
    EXPECT_EQ(::writev(server_, &part, 1), 1);
    EXPECT_EQ(::shutdown(server_, SHUT_WR), 0);
    ::usleep(3000);
    EXPECT_EQ(arrived(peer_), "");
    hf_section_end();
    ASSERT_EQ(hf_output_flush(), 0) << hf_section_error();
    EXPECT_EQ(arrived(peer_), "abcdd");
    char c = 0;
    EXPECT_EQ(::recv(peer_, &c, 1, 0), 0) << "the end of the stream came last";
}

TEST_P(program_output, to_its_own_threads_passes_at_once) {
    const hf_region* const r = hf_region_open("any");
    ASSERT_NE(r, nullptr);
    hf_section_begin();
    ASSERT_EQ(::write(ends_[0], "s", 1), 1);
    EXPECT_EQ(arrived(ends_[1]), "s");
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    ASSERT_EQ(::write(pipe[1], "p", 1), 1);
    char c = 0;
    EXPECT_EQ(::read(pipe[0], &c, 1), 1);
    hf_section_end();
    for (const int fd : pipe) ::close(fd);
}

TEST_P(program_output, to_a_log_is_held_and_to_a_place_in_a_file_is_not) {
    const std::string path = (dir / "log").string();
    const int log = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    const int place = ::open((dir / "place").c_str(), O_WRONLY | O_CREAT, 0600);
    hf_section_begin();
    EXPECT_EQ(::write(log, "line", 4), 4);
    EXPECT_EQ(::write(place, "word", 4), 4);
    ::usleep(3000);
    EXPECT_EQ(std::filesystem::file_size(dir / "log"), 0U);
    EXPECT_EQ(std::filesystem::file_size(dir / "place"), 4U);
    hf_section_end();
    ASSERT_EQ(hf_output_flush(), 0) << hf_section_error();
    EXPECT_EQ(std::filesystem::file_size(dir / "log"), 4U);
    ::close(log);
    ::close(place);
}

TEST_P(program_output, with_a_descriptor_in_it_waits_until_the_sections_are_stable) {
    iovec part{const_cast<char*>("x"), 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr m{};
    m.msg_iov = &part;
    m.msg_iovlen = 1;
    m.msg_control = control.data();
    m.msg_controllen = control.size();
    cmsghdr* const head = CMSG_FIRSTHDR(&m);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &server_, sizeof server_);
    EXPECT_EQ(::write(server_, "w", 1), 1);
    EXPECT_EQ(::sendmsg(server_, &m, 0), 1);
    EXPECT_EQ(arrived(peer_), "wx") << "first what was held before";
    hf_section_begin();
    EXPECT_EQ(::sendmsg(server_, &m, 0), -1);
    EXPECT_EQ(errno, ENOBUFS);
    hf_section_end();
}

// The handler interrupts malloc, the calls that hold output, and in epoch mode the runtime.
TEST_P(program_output, of_a_signal_handler_is_held_whatever_it_interrupts) {
    if (is_graph()) GTEST_SKIP() << "a handler must not interrupt the runtime there";
    static int server = -1;
    static std::atomic<int> handled;
    server = server_;
    handled = 0;
    ::signal(SIGUSR1, [](int) {
        const int kept = errno;
        if (::write(server, "h", 1) == 1) ++handled;
        errno = kept;
    });
    ::alarm(60);  // a deadlock ends here
    u64* const c = counter();
    std::atomic<int> ready{0};
    pthread_t interrupted = ::pthread_self();
    std::thread sender([&] {
        while (ready == 0) std::this_thread::yield();
        while (ready == 1) {
            ::pthread_kill(interrupted, SIGUSR1);
            ::usleep(20);
        }
    });
    hf_section_begin();
    ready = 1;
    std::vector<void*> blocks(16);
    int written = 0;
    for (u64 i = 0; i < 4000 || handled < 200; ++i) {
        std::free(std::exchange(blocks[i % 16], std::malloc(2000 + i % 7 * 500)));
        store(*c, i);
        written += i % 4 == 0 && ::write(server_, "p", 1) == 1 ? 1 : 0;
    }
    ready = 2;
    sender.join();
    for (void* const p : blocks) std::free(p);
    ::signal(SIGUSR1, SIG_DFL);
    EXPECT_EQ(arrived(peer_), "") << "the section has not ended";
    hf_section_end();
    std::string all;
    for (int i = 0; i < 500 && all.size() < static_cast<std::size_t>(written + handled); ++i) {
        static_cast<void>(hf_section_cut());
        ::usleep(1000);
        for (std::string more = arrived(peer_); !more.empty(); more = arrived(peer_)) all += more;
    }
    ::alarm(0);
    EXPECT_EQ(std::count(all.begin(), all.end(), 'h'), handled);
    EXPECT_EQ(std::count(all.begin(), all.end(), 'p'), written);
}

TEST_P(program_output, to_a_peer_that_has_gone_raises_the_signal_of_the_next_call) {
    ::signal(SIGPIPE, SIG_DFL);
    ::close(peer_);
    peer_ = -1;
    EXPECT_EQ(::write(server_, "lost", 4), 4);
    ASSERT_EQ(hf_output_flush(), 0) << hf_section_error();
    static volatile std::sig_atomic_t raised = 0;
    raised = 0;
    ::signal(SIGPIPE, [](int) { raised = 1; });
    EXPECT_EQ(::write(server_, "next", 4), -1);
    EXPECT_EQ(errno, EPIPE);
    EXPECT_EQ(raised, 1);
    ::signal(SIGPIPE, SIG_DFL);
}

INSTANTIATE_TEST_SUITE_P(, section_output, test::all_ways(), test::name_of);
INSTANTIATE_TEST_SUITE_P(, program_output, test::all_ways(), test::name_of);

}  // namespace
}  // namespace hf
