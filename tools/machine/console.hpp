// tools/machine/console.hpp: commands to the guest's init, and their answers (protocol:
// guest/init.sh).
#pragma once

#include "channel.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace hf::machine {

/// The result of a command in the guest.
struct answer {
    int status = 0;
    std::string output;
};

class console {
   public:
    console() = default;
    explicit console(channel lines) : lines_(std::move(lines)) {}

    /// Waits until the guest has booted.
    [[nodiscard]] result<void> await_ready(std::chrono::milliseconds patience);
    /// The words must not contain blanks.
    [[nodiscard]] result<answer> command(const std::vector<std::string>& words);
    /// Sends a command without waiting for its answer.
    [[nodiscard]] result<void> begin(const std::vector<std::string>& words);

    /// Waits until the server serves; an error with its output if it ends instead.
    [[nodiscard]] result<void> await_serving();
    /// Waits for the server's end; its exit status.
    [[nodiscard]] result<int> await_server_end();
    /// The server's output since its start.
    [[nodiscard]] const std::string& server_output() const noexcept { return server_output_; }

   private:
    /// Reads a line, and stores it if the server has written it.
    [[nodiscard]] result<std::string> read(std::chrono::milliseconds patience);

    channel lines_;
    std::string server_output_;
    bool serving_ = false;
    int server_status_ = -1;
};

}  // namespace hf::machine
