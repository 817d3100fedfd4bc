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

/// The place of an address of code, as far as symbols and debug information tell; else empty.
struct place {
    std::string function;
    std::string line;  ///< "file:line"
};

/// The next line of `from`; "" at its end, and where it says that nothing is known.
std::string answer(std::FILE* from) {
    std::array<char, 1024> text{};
    if (std::fgets(text.data(), text.size(), from) == nullptr) return "";
    std::string told = text.data();
    while (!told.empty() && told.back() == '\n') told.pop_back();
    return told.rfind("??", 0) == 0 ? "" : told;
}

place place_of(const char* module, unsigned long offset) {
    const std::string path = module;
    if (path.find('\'') != std::string::npos) return {};
    std::array<char, 32> hex{};
    std::snprintf(hex.data(), hex.size(), "0x%lx", offset);
    const std::string command =
        "addr2line -f -C -i -e '" + path + "' " + hex.data() + " 2>/dev/null";
    const std::unique_ptr<std::FILE, pipe_closer> out(::popen(command.c_str(), "re"));
    if (out == nullptr) return {};
    // From the innermost inlined function outwards: std::mutex::lock is not what is looked for.
    place found;
    for (;;) {
        place next{answer(out.get()), answer(out.get())};
        if (next.function.empty() && next.line.empty()) return found;
        found = std::move(next);
        if (found.line.rfind("/usr/include/", 0) != 0) break;
    }
    // addr2line prints "file:?" if the line number is unknown; such a location is dropped.
    if (found.line.ends_with(":?")) found.line.clear();
    return found;
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
    place where = place_of(found.dli_fname, offset);
    if (found.dli_sname == nullptr && !where.function.empty()) told = where.function;
    return where.line.empty() ? told : told + " (" + where.line + ")";
}

}  // namespace hf::section
