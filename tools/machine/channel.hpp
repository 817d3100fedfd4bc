// tools/machine/channel.hpp: lines over a socket pair, with a time limit for each.
//
// This process creates both ends, and the program at the other end inherits one. So there are no
// names in a file system, the channel is ready at once, and the program's death ends the stream.
#pragma once

#include <holdfast/result.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace hf::machine {

/// Owns a file descriptor.
class descriptor {
   public:
    descriptor() = default;
    explicit descriptor(int fd) noexcept : fd_(fd) {}
    ~descriptor();
    descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept;
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;

    [[nodiscard]] int get() const noexcept { return fd_; }
    void reset() noexcept { *this = descriptor(); }

   private:
    int fd_ = -1;
};

class channel {
   public:
    channel() = default;
    explicit channel(descriptor socket, std::string name)
        : socket_(std::move(socket)), name_(std::move(name)) {}

    /// `name` is for messages. The descriptor is the other end; both are close-on-exec.
    [[nodiscard]] static result<std::pair<channel, descriptor>> make(std::string name);

    [[nodiscard]] result<void> send(std::string_view text);
    /// A line without its end. errc::io: the time is over, or the other end is closed.
    [[nodiscard]] result<std::string> line(std::chrono::milliseconds patience);

   private:
    descriptor socket_;
    std::string name_;
    std::string in_;
};

}  // namespace hf::machine
