#include "section/symbol.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace hf::section {
namespace {

struct pipe_closer {
    void operator()(std::FILE* f) const { ::pclose(f); }
};

/// "file:line", or "" where debug information does not tell.
std::string line_of(const char* module, unsigned long offset) {
    const std::string path = module;
    if (path.find('\'') != std::string::npos) return "";
    std::array<char, 32> hex{};
    std::snprintf(hex.data(), hex.size(), "0x%lx", offset);
    const std::string command = "addr2line -i -e '" + path + "' " + hex.data() + " 2>/dev/null";
    const std::unique_ptr<std::FILE, pipe_closer> out(::popen(command.c_str(), "re"));
    if (out == nullptr) return "";
    // From the innermost inlined function outwards: std::mutex::lock is not what is looked for.
    std::array<char, 512> line{};
    std::string told;
    while (std::fgets(line.data(), line.size(), out.get()) != nullptr) {
        told = line.data();
        while (!told.empty() && told.back() == '\n') told.pop_back();
        if (told.rfind("/usr/include/", 0) != 0) break;
    }
    return told.rfind("??", 0) == 0 ? "" : told;
}

std::string readable(const char* symbol) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> plain(
        abi::__cxa_demangle(symbol, nullptr, nullptr, &status), std::free);
    return status == 0 ? plain.get() : symbol;
}

}  // namespace

std::string source_of(const void* code) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%p", code);
    std::string told = text.data();
    Dl_info found{};
    if (::dladdr(code, &found) == 0 || found.dli_fname == nullptr) return told;
    const auto at = reinterpret_cast<unsigned long>(code);
    if (found.dli_sname != nullptr) {
        std::snprintf(text.data(), text.size(), "+0x%lx",
                      at - reinterpret_cast<unsigned long>(found.dli_saddr));
        told = readable(found.dli_sname) + text.data();
    }
    // The call lies before the address that it returns to.
    const unsigned long offset = at - reinterpret_cast<unsigned long>(found.dli_fbase) - 1;
    const std::string line = line_of(found.dli_fname, offset);
    return line.empty() ? told : told + " (" + line + ")";
}

}  // namespace hf::section
