// tools/demo/server.hpp: a server that can be started, killed and restarted: a process of this
// machine, or one in a virtual machine whose power is cut.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hf::demo {

class server {
   public:
    server() = default;
    virtual ~server() = default;
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    /// Returns when the server accepts connections. False: it ended, see output().
    [[nodiscard]] virtual bool start() = 0;
    /// Kills the server without a warning, in the way by_force() names.
    virtual void kill() = 0;
    /// Shuts the server down; its exit status, or nullopt if it was killed.
    [[nodiscard]] virtual std::optional<int> stop() = 0;
    /// Runs `holdfast check` on the region while no server runs: the exit status; appends to
    /// `output`.
    [[nodiscard]] virtual int check(std::string& output) = 0;

    [[nodiscard]] virtual std::uint16_t port() const noexcept = 0;
    /// Time of the start() call.
    [[nodiscard]] virtual std::uint64_t started_ns() const noexcept = 0;
    [[nodiscard]] virtual const std::string& output() const noexcept = 0;

    /// For messages: "kill -9".
    [[nodiscard]] virtual std::string by_force() const = 0;
    /// For messages: where the server runs and its options, one sentence each, at most a line in
    /// total.
    [[nodiscard]] virtual std::string place() const = 0;
};

}  // namespace hf::demo
