// The list of findings, and their source lines.
#include "section/audit/audit.hpp"
#include "section/audit/ranges.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>

namespace hf::section_audit {
namespace {

struct finding {
    const void* address = nullptr;
    const void* pc = nullptr;
    const void* hook_before = nullptr;
    bool is_exact = false;
};

constexpr std::size_t max_findings = 1024;

std::array<finding, max_findings> findings;
std::atomic<std::size_t> finding_count{0};

/// The name of a code address by addr2line, "function at file:line", or its module and offset if
/// there is no debug information or no addr2line.
std::string name_of(const void* pc) {
    if (pc == nullptr) return "the start or a cut";
    // The instruction before a return address; inside the instruction itself otherwise.
    const auto inside = reinterpret_cast<std::uintptr_t>(pc) - 1;
    Dl_info info{};
    link_map* map = nullptr;
    if (::dladdr1(reinterpret_cast<void*>(inside), &info, reinterpret_cast<void**>(&map),
                  RTLD_DL_LINKMAP) == 0) {
        return "an unknown place";
    }
    char place[64];
    (void)std::snprintf(place, sizeof place, "0x%zx",
                        static_cast<std::size_t>(inside - map->l_addr));
    const std::string module = map->l_name[0] == '\0' ? "/proc/self/exe" : map->l_name;
    char path[4096];
    const ssize_t length = ::readlink(module.c_str(), path, sizeof path);
    const std::string file =
        length > 0 ? std::string(path, static_cast<std::size_t>(length)) : module;
    const std::string command = "addr2line -i -f -p -C -e '" + file + "' " + place + " 2>/dev/null";
    std::string text;
    if (FILE* const output = ::popen(command.c_str(), "r")) {  // NOLINT(cert-env33-c)
        char line[1024];
        while (std::fgets(line, sizeof line, output) != nullptr)
            text += line;  // and inlined callers
        (void)::pclose(output);
    }
    while (!text.empty() && text.back() == '\n') text.pop_back();
    std::replace(text.begin(), text.end(), '\n', ',');
    const bool is_known = !text.empty() && text.find("??") == std::string::npos;
    return is_known ? text : file + "+" + place;
}

std::string text_of(const finding& f) {
    char head[96];
    (void)std::snprintf(head, sizeof head, "holdfast: audit: unannounced store to %p ", f.address);
    if (f.is_exact) return head + ("by " + name_of(static_cast<const char*>(f.pc) + 1)) + "\n";
    const std::string end = f.pc == nullptr ? "this cut" : name_of(f.pc);
    return head + ("between " + name_of(f.hook_before) + " and " + end) + "\n";
}

}  // namespace

void add_finding(const void* address, const void* pc, const void* hook_before, bool is_exact) {
    const std::size_t i = finding_count.fetch_add(1);
    if (i < max_findings) findings[i] = {address, pc, hook_before, is_exact};
}

}  // namespace hf::section_audit

size_t hf_audit_report(int fd) {
    using namespace hf::section_audit;
    const std::size_t count = finding_count.load();
    if (fd < 0) return count;
    for (std::size_t i = 0; i < count && i < max_findings; ++i) {
        const std::string text = text_of(findings[i]);
        if (::write(fd, text.data(), text.size()) < 0) return count;
    }
    return count;
}
