// tools/machine/process.hpp: programs that we start: one that runs beside us, one that we await.
#pragma once

#include <holdfast/result.hpp>

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace hf::machine {

/// A child of ours, and dead when this object is.
class process {
   public:
    process() = default;
    ~process() { kill(); }
    process(process&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
    process& operator=(process&& other) noexcept;
    process(const process&) = delete;
    process& operator=(const process&) = delete;

    /// `command` is looked for in PATH. It inherits `descriptors` under their numbers here, stdout
    /// and stderr go to `log`, and it dies with the thread that called this.
    [[nodiscard]] static result<process> start(const std::vector<std::string>& command,
                                               const std::vector<int>& descriptors,
                                               const std::filesystem::path& log);

    [[nodiscard]] bool is_running() const noexcept { return pid_ > 0; }
    /// SIGKILL; returns when it is gone.
    void kill() noexcept;
    /// Until it ends by itself: its exit status, or 128 and the signal.
    [[nodiscard]] int wait() noexcept;

   private:
    pid_t pid_ = -1;
};

/// Runs a program to its end; an error with what it printed, unless its exit status is 0.
[[nodiscard]] result<std::string> run(const std::vector<std::string>& command,
                                      const std::filesystem::path& log);

/// All of a small file; empty where there is none.
[[nodiscard]] std::string text_of(const std::filesystem::path& file);

}  // namespace hf::machine
