// bench/server/served.hpp: a server process, and connections to it.
#pragma once

#include <holdfast/result.hpp>

#include "bench/server/options.hpp"
#include "bench/server/script.hpp"

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

namespace hf::bench {

class connected {
   public:
    [[nodiscard]] static result<connected> to(std::uint16_t port);
    connected(connected&& other) noexcept;
    connected& operator=(connected&&) = delete;
    ~connected();

    [[nodiscard]] result<void> send(std::string_view requests) const;
    /// Receives until the data ends with `end`: at most 64 KiB, and at most a second between
    /// pieces.
    [[nodiscard]] result<std::string> receive_until(std::string_view end) const;
    /// Waits for the batch's answers, and compares them.
    [[nodiscard]] result<void> receive(const script::batch& b);

   private:
    explicit connected(int socket) noexcept : socket_(socket) {}
    int socket_;
    std::string answers_;
};

/// A holdfast or memcached server, according to the program's name. It ends with this object or
/// this process.
class served {
   public:
    /// `place`: a directory for this server, which creates and removes it.
    [[nodiscard]] static result<std::unique_ptr<served>> start(const std::string& program,
                                                               const server_bench_options& o,
                                                               const std::string& place);
    served(const served&) = delete;
    served& operator=(const served&) = delete;
    ~served();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    /// Its name in the table.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// The command line that it was started with.
    [[nodiscard]] const std::string& command() const noexcept { return command_; }
    /// Processor time that it has used.
    [[nodiscard]] u64 cpu_ns() const noexcept;

   private:
    served() = default;
    [[nodiscard]] result<void> launch(const std::string& program, const server_bench_options& o);
    [[nodiscard]] bool comes_up();
    void stop() noexcept;

    std::filesystem::path place_;
    std::string name_;
    std::string command_;
    std::uint16_t port_ = 0;
    pid_t child_ = -1;
};

}  // namespace hf::bench
