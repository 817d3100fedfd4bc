#include "crashlab/command/minimise.hpp"

#include "crashlab/command/replay_token.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hf::lab {

finding minimised(finding f, const std::function<bool(const finding&)>& still_wrong) {
    for (std::size_t i = f.stages.size(); i-- > 0;) {
        for (std::size_t c = 0; c < f.stages[i].contents.size();) {
            finding smaller = f;
            auto& contents = smaller.stages[i].contents;
            contents.erase(contents.begin() + static_cast<std::ptrdiff_t>(c));
            if (f.stages[i].contents[c].chosen == 0 || still_wrong(smaller)) {
                f = std::move(smaller);
            } else {
                ++c;
            }
        }
    }
    return f;
}

bool is_wrong_in_child(const std::string& target, u64 seed, const std::string& mode,
                       const finding& f) {
    std::string arguments[] = {"hf_crash",           "--target", target, "--seed",
                               std::to_string(seed), "--model",  mode,   "--replay",
                               token_of(f),          "--brief"};
    std::vector<char*> argv;
    for (std::string& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    const int refused =
        posix_spawn(&child, "/proc/self/exe", &files, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    if (refused != 0) return false;
    int status = 0;
    if (::waitpid(child, &status, 0) != child) return false;
    return !WIFEXITED(status) || WEXITSTATUS(status) == 1;
}

}  // namespace hf::lab
