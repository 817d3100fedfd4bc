#include "bench/environment.hpp"

#include "bench/processor.hpp"
#include "persist/medium.hpp"

#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <fstream>

#ifndef HF_VERSION
#define HF_VERSION "unknown"
#endif

namespace hf::bench {

namespace {

std::string processor_name() {
    std::ifstream info("/proc/cpuinfo");
    std::string model;
    std::string family;
    std::string number;
    for (std::string line; std::getline(info, line) && !line.empty();) {
        const auto value = [&line] {
            const std::size_t colon = line.find(": ");
            return colon == std::string::npos ? std::string() : line.substr(colon + 2);
        };
        if (line.starts_with("model name")) model = value();
        if (line.starts_with("cpu family")) family = value();
        if (line.starts_with("model\t")) number = value();
    }
    if (model.empty()) return "unknown";
    return model + " (family " + family + ", model " + number + ")";
}

const char* compiler_name() {
#if defined(__clang__)
    return "clang " __clang_version__;
#else
    return "gcc " __VERSION__;
#endif
}

std::string build_kind() {
    std::string kind;
#if !defined(NDEBUG)
    kind += " assertions";
#endif
#if defined(HF_PERSIST_POINTS)
    kind += " crash-test-stops";
#endif
#if !defined(__OPTIMIZE__)
    kind += " unoptimised";
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    kind += " sanitizer";
#endif
    return kind.empty() ? "release" : "NOT a release:" + kind;
}

}  // namespace

environment find_environment() {
    environment e;
    e.processor = processor_name();
    e.cores = static_cast<unsigned>(usable_cores().size());
    struct utsname name{};
    if (::uname(&name) == 0) e.kernel = std::string(name.sysname) + " " + name.release;
    e.compiler = compiler_name();
    e.build = build_kind();
    e.version = HF_VERSION;
    e.flush_instruction = std::string(to_string(best_flush_instruction()));
    struct sysinfo system{};
    if (::sysinfo(&system) == 0) e.memory_bytes = u64{system.totalram} * system.mem_unit;
    double loads[1] = {0};
    if (::getloadavg(loads, 1) == 1) e.load = loads[0];
    return e;
}

}  // namespace hf::bench
