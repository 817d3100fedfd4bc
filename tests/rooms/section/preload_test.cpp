// libholdfast_section.so in a program in C that is compiled without the plugin: linked, or loaded
// first. The program counts two words up under a mutex, and is killed.
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

namespace hf {
namespace {

class section_library : public test::on_tmpfs {
   protected:
    struct found {
        unsigned long first = 0;
        unsigned long second = 0;
        int depth = -1;
    };

    void compile() const {
        const std::string library = HF_LIBRARY;
        const std::string folder = library.substr(0, library.rfind('/'));
        const std::string command = "cc -O2 -I " HF_INCLUDE " " HF_PROGRAM " -o " +
                                    program().string() + " -L " + folder +
                                    " -lholdfast_section -Wl,-rpath," + folder + " -lpthread";
        ASSERT_EQ(std::system(command.c_str()), 0) << command;
    }
    [[nodiscard]] std::filesystem::path program() const { return dir / "preloaded"; }

    /// Returns the state that the program found at its start; the program is then killed.
    [[nodiscard]] found run_and_kill(bool preload) const {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe(ends.data()), 0);
        const pid_t child = ::fork();
        if (child == 0) {
            ::dup2(ends[1], 1);
            if (preload) ::setenv("LD_PRELOAD", HF_LIBRARY, 1);
            ::execl(program().c_str(), "preloaded", file.c_str(), nullptr);
            ::_exit(127);
        }
        ::close(ends[1]);
        found f;
        std::FILE* const out = ::fdopen(ends[0], "r");
        EXPECT_EQ(std::fscanf(out, "%lu %lu %d", &f.first, &f.second, &f.depth), 3);
        ::usleep(150'000);
        ::kill(child, SIGKILL);
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_TRUE(WIFSIGNALED(status));
        std::fclose(out);
        return f;
    }
};

TEST_F(section_library, a_c_program_that_is_killed_goes_on_where_a_cut_was) {
    compile();
    unsigned long before = 0;
    for (int round = 0; round < 6; ++round) {
        const found f = run_and_kill(round % 2 == 0);
        EXPECT_EQ(f.depth, 1) << "its mutex makes a section";
        EXPECT_EQ(f.first, f.second) << "a section is there as a whole";
        EXPECT_GE(f.first, before);
        before = f.first;
    }
    EXPECT_GT(before, 0U);
}

/// Runs a shell command. Returns its output and its exit code.
std::pair<std::string, int> shell(const std::string& command) {
    std::FILE* const out = ::popen((command + " 2>&1").c_str(), "r");
    std::string all;
    for (int c = std::fgetc(out); c != EOF; c = std::fgetc(out)) all += static_cast<char>(c);
    const int status = ::pclose(out);
    return {all, WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status)};
}

constexpr const char* library_with_a_lock = R"(
#include <holdfast/section.h>
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int depth_inside(void) {
    pthread_mutex_lock(&m);
    int depth = hf_section_depth();
    pthread_mutex_unlock(&m);
    return depth;
})";
/// Returns the depth inside the library's lock.
constexpr const char* program_that_loads_it = R"(
#include <dlfcn.h>
#include <holdfast/section.h>
int main(int argc, char** argv) {
    if (argc != 3 || hf_group_open(argv[1], 0) != 0) return 90;
    void* library = dlopen(argv[2], RTLD_NOW);
    int (*depth)(void) = library ? (int (*)(void))dlsym(library, "depth_inside") : 0;
    return depth ? depth() : 91;
})";
constexpr const char* program_that_loads_the_runtime = R"(
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
    void* library = dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL);
    if (!library) return 91;
    int (*open)(const char*, void*) = (int (*)(const char*, void*))dlsym(library, "hf_group_open");
    const char* (*why)(void) = (const char* (*)(void))dlsym(library, "hf_section_error");
    if (open(argv[1], 0) == 0) return 90;
    puts(why());
    return 0;
})";

class loaded_library : public section_library {
   protected:
    /// Compiles the text to the file `name`.
    [[nodiscard]] std::string compiled(const char* text, const char* name,
                                       const std::string& options) const {
        std::ofstream(dir / "text.c") << text << '\n';
        const std::string output = (dir / name).string();
        const auto [said, code] = shell("cc -I " HF_INCLUDE " " + (dir / "text.c").string() +
                                        " -o " + output + " " + options);
        EXPECT_EQ(code, 0) << said;
        return output;
    }
};

TEST_F(loaded_library, has_locks_that_make_sections) {
    const std::string runtime = HF_LIBRARY;
    const std::string folder = runtime.substr(0, runtime.rfind('/'));
    const std::string library = compiled(library_with_a_lock, "later.so", "-shared -fPIC");
    const std::string program = compiled(
        program_that_loads_it, "main", "-L " + folder + " -lholdfast_section -Wl,-rpath," + folder);
    const auto [said, code] = shell(program + " " + file.string() + " " + library);
    EXPECT_EQ(code, 1) << said;
}

// The program's locks were bound to the C library before.
TEST_F(loaded_library, is_refused_if_it_is_the_runtime) {
    const std::string program = compiled(program_that_loads_the_runtime, "main", "");
    const auto [said, code] = shell(program + " " + file.string() + " " HF_LIBRARY);
    EXPECT_EQ(code, 0) << said;
    EXPECT_NE(said.find("its sections are not seen"), std::string::npos) << said;
}

}  // namespace
}  // namespace hf
