// tests/tools/program.hpp: runs the command line and looks at what comes of it.
#pragma once

#include <nlohmann/json.hpp>

#include <sys/types.h>

#include <string>
#include <vector>

namespace hf::test {

/// What a run came to.
struct outcome {
    int code = -1;  ///< exit code; 1000 + signal when one ended it
    std::string out;
    std::string err;

    /// The standard output as JSON; null (and a failed test) when it is none.
    [[nodiscard]] nlohmann::json json() const;
};

/// Runs `holdfast` with these arguments in `directory` and waits.
outcome holdfast(const std::vector<std::string>& arguments, const std::string& directory = "/");

/// Runs a script of bash.
outcome bash(const std::string& script);

/// As above; what it says goes to this file.
outcome holdfast_into(const std::string& out, const std::vector<std::string>& arguments);

/// The value of a line of what it said for people; "": there is no such line.
std::string line_of(const std::string& text, const std::string& name);

/// The error is one line that reads as hf::error::to_string() does.
void expect_one_clear_error(const outcome& o);

/// `holdfast serve` in the background. Killed at the end when it still runs.
class server_process {
   public:
    /// Returns once it accepts connections; port() is 0 when it ended instead.
    explicit server_process(const std::vector<std::string>& arguments,
                            const std::string& directory = "/");
    server_process(const server_process&) = delete;
    server_process& operator=(const server_process&) = delete;
    ~server_process();

    [[nodiscard]] int port() const noexcept { return port_; }
    /// What it has said so far.
    [[nodiscard]] std::string said() const;
    /// Sends the request over a connection of its own, and reads until `until` has come.
    [[nodiscard]] std::string ask(const std::string& request, const std::string& until) const;
    /// Sends the signal and waits; the exit code as in outcome.
    int end(int signal);
    /// The same; sends the signal again and again until the process has ended.
    int end_repeating(int signal);

   private:
    void wait_until_serving();

    std::string output_;
    pid_t child_ = -1;
    int port_ = 0;
};

/// A new directory on tmpfs ($HF_TEST_DIR, or /dev/shm), removed at the end.
class scratch {
   public:
    scratch();
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;
    ~scratch();
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    [[nodiscard]] std::string operator/(const std::string& name) const {
        return path_ + "/" + name;
    }
    /// Names of what lies in it.
    [[nodiscard]] std::vector<std::string> names() const;

   private:
    std::string path_;
};

}  // namespace hf::test
