#include "channel.hpp"

#include "base/clock.hpp"
#include "base/os_error.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace hf::machine {

namespace {

constexpr u64 ns_of_a_ms = 1'000'000;

}  // namespace

descriptor::~descriptor() {
    if (fd_ >= 0) (void)close(fd_);
}

descriptor& descriptor::operator=(descriptor&& other) noexcept {
    if (fd_ >= 0) (void)close(fd_);
    fd_ = std::exchange(other.fd_, -1);
    return *this;
}

result<std::pair<channel, descriptor>> channel::make(std::string name) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return failure(os_error("make a pair of sockets", name, "close some files"));
    }
    return std::pair(channel(descriptor(ends[0]), std::move(name)), descriptor(ends[1]));
}

result<void> channel::send(std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            return failure(os_error(errc::io, "speak to the virtual machine", name_,
                                    "see whether it still runs"));
        }
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
}

result<std::string> channel::line(std::chrono::milliseconds patience) {
    const u64 deadline = now_ns() + static_cast<u64>(patience.count()) * ns_of_a_ms;
    for (;;) {
        if (const std::size_t end = in_.find('\n'); end != std::string::npos) {
            std::string text = in_.substr(0, end);
            in_.erase(0, end + 1);
            if (text.ends_with('\r')) text.pop_back();
            return text;
        }
        const u64 now = now_ns();
        pollfd one{socket_.get(), POLLIN, 0};
        const u64 left = now < deadline ? (deadline - now) / ns_of_a_ms + 1 : 0;
        const int ready = left == 0 ? 0 : poll(&one, 1, static_cast<int>(left));
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) {
            return failure({errc::io, "hear from the virtual machine", name_,
                            "nothing came for " + std::to_string(patience.count()) + " ms",
                            "read its boot.log; a slow machine may need a longer time-out"});
        }
        std::array<char, 4096> block{};
        const ssize_t n = recv(socket_.get(), block.data(), block.size(), 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            return failure({errc::io, "hear from the virtual machine", name_, "it has ended",
                            "its boot.log and qemu.log may say why"});
        }
        in_.append(block.data(), static_cast<std::size_t>(n));
    }
}

}  // namespace hf::machine
