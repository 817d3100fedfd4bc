// tools/demo/server.hpp: a server that is started, ended without a warning, and started again: a
// process of this machine, or one in a virtual machine whose power is cut.
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

    /// Until it serves. False: it ended, see output().
    [[nodiscard]] virtual bool start() = 0;
    /// Ends it without a warning; by_force() says how.
    virtual void kill() = 0;
    /// Has it end in order; its exit status, or nullopt if it died otherwise.
    [[nodiscard]] virtual std::optional<int> stop() = 0;
    /// `holdfast check` on the region while no server runs: the exit status; `output` is appended.
    [[nodiscard]] virtual int check(std::string& output) = 0;

    [[nodiscard]] virtual std::uint16_t port() const noexcept = 0;
    /// When start() was called.
    [[nodiscard]] virtual std::uint64_t started_ns() const noexcept = 0;
    [[nodiscard]] virtual const std::string& output() const noexcept = 0;

    /// "kill -9"
    [[nodiscard]] virtual std::string by_force() const = 0;
    /// Where it runs and what it was started with, a sentence each; no more than a line long.
    [[nodiscard]] virtual std::string place() const = 0;
};

}  // namespace hf::demo
