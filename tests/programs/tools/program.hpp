// tests/programs/tools/program.hpp: runs the command-line tool and returns its output.
#pragma once

#include <nlohmann/json.hpp>

#include <sys/types.h>

#include <string>
#include <vector>

namespace hf::test {

/// The result of a run.
struct outcome {
    int code = -1;  ///< exit code, or 1000 + signal
    std::string out;
    std::string err;

    /// The standard output as JSON; null (and a failed test) if it is not JSON.
    [[nodiscard]] nlohmann::json json() const;
};

/// Runs `holdfast` with these arguments in `directory` and waits.
outcome holdfast(const std::vector<std::string>& arguments, const std::string& directory = "/");

/// Runs a script of bash.
outcome bash(const std::string& script);

/// As holdfast(), with stdout redirected to a file.
outcome holdfast_into(const std::string& out, const std::vector<std::string>& arguments);

/// The value of a named line in the text output; "": no such line.
std::string line_of(const std::string& text, const std::string& name);

/// Expects one line in the format of hf::error::to_string().
void expect_one_clear_error(const outcome& o);

/// `holdfast serve` in the background. The destructor kills it if it still runs.
class server_process {
   public:
    /// Returns once it accepts connections; port() is 0 if it ended instead.
    explicit server_process(const std::vector<std::string>& arguments,
                            const std::string& directory = "/");
    server_process(const server_process&) = delete;
    server_process& operator=(const server_process&) = delete;
    ~server_process();

    [[nodiscard]] int port() const noexcept { return port_; }
    /// Its output so far.
    [[nodiscard]] std::string said() const;
    /// Sends the request over a new connection, and reads until `until` has come.
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

/// A new directory on tmpfs ($HF_TEST_DIR, or /dev/shm); the destructor removes it.
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
    /// Names of its files.
    [[nodiscard]] std::vector<std::string> names() const;

   private:
    std::string path_;
};

}  // namespace hf::test
