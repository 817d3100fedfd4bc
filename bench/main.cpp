// The benchmarks as a separate program, for builds without the command-line tool.
#include "bench/bench_command.hpp"

int main(int argc, char** argv) {
    return hf::bench::bench_command({argv + (argc > 0 ? 1 : 0), argv + argc});
}
