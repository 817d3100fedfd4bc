// hf_production_workload CASE SEED FILE: a workload of the crash lab, compiled like a release.
//
// Performs the operations of the lab's target of that name on a real file, for the tracer
// (tracer.cpp), whose hf_trace_mark() it calls if it is loaded.
#include "crashlab/targets/map/tree.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

// The tracer ignores operation markers.
void hf::lab::begin_operation(std::uint64_t) {}
void hf::lab::end_operation(std::uint64_t, std::uint64_t) {}

namespace {

using namespace hf::lab;

using mark_function = void (*)(int, const void*, unsigned long);
mark_function mark = nullptr;

void announced(hf::u64 epoch) { mark(2, nullptr, epoch); }

int run(const tree_case& c, hf::u64 seed, const char* path) {
    tree_session s(options_of(c), seed, path);
    s.open();
    if (c.prepare) c.prepare(s);
    mark(0, s.machine().file().base(), s.machine().file().size());
    s.on_announced = announced;
    c.run(s);
    mark(1, nullptr, 0);
    std::fflush(stdout);
    ::_exit(0);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: hf_production_workload CASE SEED FILE\n");
        return 2;
    }
    mark = reinterpret_cast<mark_function>(::dlsym(RTLD_DEFAULT, "hf_trace_mark"));
    if (mark == nullptr) {
        std::fprintf(stderr, "hf_production_workload: the tracer is not loaded\n");
        return 2;
    }
    for (const tree_case& c : tree_cases()) {
        if (c.name == argv[1]) return run(c, std::strtoull(argv[2], nullptr, 10), argv[3]);
    }
    std::fprintf(stderr, "hf_production_workload: there is no case %s\n", argv[1]);
    return 2;
}
