// tools/machine/process.hpp: child processes, in the background or awaited.
#pragma once

#include <holdfast/result.hpp>

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace hf::machine {

/// A child process, killed by the destructor.
class process {
   public:
    process() = default;
    ~process() { kill(); }
    process(process&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
    process& operator=(process&& other) noexcept;
    process(const process&) = delete;
    process& operator=(const process&) = delete;

    /// Searches PATH for `command`. The child inherits `descriptors` with their numbers, writes
    /// stdout and stderr to `log`, and dies with the calling thread.
    [[nodiscard]] static result<process> start(const std::vector<std::string>& command,
                                               const std::vector<int>& descriptors,
                                               const std::filesystem::path& log);

    [[nodiscard]] bool is_running() const noexcept { return pid_ > 0; }
    /// SIGKILL; returns when the child has ended.
    void kill() noexcept;
    /// Waits for its end: the exit status, or 128 plus the signal.
    [[nodiscard]] int wait() noexcept;

   private:
    pid_t pid_ = -1;
};

/// Runs a program to its end; an error with its output unless its exit status is 0.
[[nodiscard]] result<std::string> run(const std::vector<std::string>& command,
                                      const std::filesystem::path& log);

/// The contents of a small file; empty if it is missing.
[[nodiscard]] std::string text_of(const std::filesystem::path& file);

}  // namespace hf::machine
