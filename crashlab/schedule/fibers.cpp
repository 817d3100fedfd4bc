#include "crashlab/schedule/fibers.hpp"

#include "crashlab/schedule/yield.hpp"

namespace hf::lab {

constinit void (*yield_hook)() = nullptr;
constinit u8 running_fiber = 0;

void run_on_fibers(unsigned threads, u64, const std::function<void(unsigned)>& work) {
    for (unsigned i = 0; i < threads; ++i) work(i);
}

}  // namespace hf::lab
