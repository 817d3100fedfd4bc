// tools/demo/server_process.hpp: a `holdfast serve` that is started, killed and started again.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hf::demo {

class server_process {
   public:
    /// The arguments follow `holdfast serve`.
    server_process(std::filesystem::path program, std::vector<std::string> arguments);
    /// Kills it if it still runs.
    ~server_process();
    server_process(const server_process&) = delete;
    server_process& operator=(const server_process&) = delete;

    /// Starts it and reads from its output which port it serves. False: it ended; see output().
    [[nodiscard]] bool start();
    /// SIGKILL.
    void kill();
    /// SIGTERM, and waits. The exit status; nullopt: it was ended by a signal.
    [[nodiscard]] std::optional<int> stop();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    /// What it has said since it was started, to the point where it serves.
    [[nodiscard]] const std::string& output() const noexcept { return output_; }
    /// Monotonic time just before exec, in ns.
    [[nodiscard]] std::uint64_t started_ns() const noexcept { return started_ns_; }

   private:
    void close_output();

    std::filesystem::path program_;
    std::vector<std::string> arguments_;
    pid_t pid_ = -1;
    int output_pipe_ = -1;
    std::uint16_t port_ = 0;
    std::uint64_t started_ns_ = 0;
    std::string output_;
};

/// Runs a program to its end, with its output kept from the terminal. Its exit status; -1: it had
/// none.
[[nodiscard]] int run_quietly(const std::filesystem::path& program,
                              const std::vector<std::string>& arguments, std::string& output);

}  // namespace hf::demo
