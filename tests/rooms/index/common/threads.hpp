// Runs several threads with the same function.
#pragma once

#include <thread>
#include <vector>

namespace hf::test {

template <class Work>
void run_threads(unsigned n, const Work& work) {
    std::vector<std::thread> all;
    for (unsigned t = 0; t < n; ++t) all.emplace_back([&work, t] { work(t); });
    for (std::thread& t : all) t.join();
}

}  // namespace hf::test
