// tools/demo/server_process.hpp: a `holdfast serve` process that can be killed and restarted.
#pragma once

#include "server.hpp"

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hf::demo {

class server_process final : public server {
   public:
    /// The arguments follow `holdfast serve --file FILE`.
    server_process(std::filesystem::path program, std::filesystem::path file,
                   std::vector<std::string> arguments);
    /// Kills the process if it still runs.
    ~server_process() override;

    /// Starts the process and reads its port from its output. False: it ended; see output().
    [[nodiscard]] bool start() override;
    /// SIGKILL.
    void kill() override;
    /// Sends SIGTERM and waits. The exit status; nullopt: a signal ended it.
    [[nodiscard]] std::optional<int> stop() override;
    [[nodiscard]] int check(std::string& output) override;

    [[nodiscard]] std::uint16_t port() const noexcept override { return port_; }
    /// Its output from the start until it serves.
    [[nodiscard]] const std::string& output() const noexcept override { return output_; }
    /// Monotonic time just before exec, in ns.
    [[nodiscard]] std::uint64_t started_ns() const noexcept override { return started_ns_; }
    [[nodiscard]] std::string by_force() const override { return "kill -9"; }
    [[nodiscard]] std::string place() const override { return "holdfast serve " + file_.string(); }

   private:
    void close_output();

    std::filesystem::path program_;
    std::filesystem::path file_;
    std::vector<std::string> arguments_;
    pid_t pid_ = -1;
    int output_pipe_ = -1;
    std::uint16_t port_ = 0;
    std::uint64_t started_ns_ = 0;
    std::string output_;
};

}  // namespace hf::demo
