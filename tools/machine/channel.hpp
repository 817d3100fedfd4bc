// tools/machine/channel.hpp: lines through a socket, each awaited for so long and no longer.
//
// Both ends are made here, and the other one is inherited by the program that is talked to: no
// names in a file system, nothing to wait for before the first word, and the program's death is
// the end of the stream.
#pragma once

#include <holdfast/result.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace hf::machine {

/// Of a file descriptor.
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

    /// `name` is for messages. The descriptor is the other end, close-on-exec as this one.
    [[nodiscard]] static result<std::pair<channel, descriptor>> make(std::string name);

    [[nodiscard]] result<void> send(std::string_view text);
    /// Without its end. errc::io: nothing came in time, or the other end is gone.
    [[nodiscard]] result<std::string> line(std::chrono::milliseconds patience);

   private:
    descriptor socket_;
    std::string name_;
    std::string in_;
};

}  // namespace hf::machine
