// tools/machine/console.hpp: commands to the guest's init and what it answers (guest/init.sh tells
// the protocol).
#pragma once

#include "channel.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace hf::machine {

/// What a command in the guest came to.
struct answer {
    int status = 0;
    std::string output;
};

class console {
   public:
    console() = default;
    explicit console(channel lines) : lines_(std::move(lines)) {}

    /// Until the guest has booted.
    [[nodiscard]] result<void> await_ready(std::chrono::milliseconds patience);
    /// The words must hold no blanks.
    [[nodiscard]] result<answer> command(const std::vector<std::string>& words);
    /// Sends a command and does not wait for what comes of it.
    [[nodiscard]] result<void> begin(const std::vector<std::string>& words);

    /// Until the server serves; an error with what it said if it ends instead.
    [[nodiscard]] result<void> await_serving();
    /// Until the server has ended, and with which status.
    [[nodiscard]] result<int> await_server_end();
    /// What the server has said since it was started.
    [[nodiscard]] const std::string& server_output() const noexcept { return server_output_; }

   private:
    /// Reads a line, and keeps it if it is the server's.
    [[nodiscard]] result<std::string> read(std::chrono::milliseconds patience);

    channel lines_;
    std::string server_output_;
    bool serving_ = false;
    int server_status_ = -1;
};

}  // namespace hf::machine
