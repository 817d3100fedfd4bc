// Opens a region in a process that has little address space, or an unusual one, and uses it.
#include "region/region.hpp"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    hf::region_options options;
    options.initial_size = hf::u64{1} << 20;
    std::remove(argv[1]);
    auto opened = hf::region::open(argv[1], options);
    if (!opened) {
        std::printf("%s\n", opened.error().to_string().c_str());
        return 1;
    }
    hf::region& r = **opened;
    if (auto ok = r.grow(hf::segment_kind::heap, 16, 0); !ok) {
        std::printf("%s\n", ok.error().to_string().c_str());
        return 1;
    }
    std::byte* const last = r.base() + r.size() - 1;
    *last = std::byte{1};
    const int on_the_stack = 0;
    const auto on_the_heap = std::make_unique<int>(0);
    const bool is_right =
        hf::same_region(r.base(), last) && hf::is_persistent(last) &&
        !hf::is_persistent(&on_the_stack) && !hf::is_persistent(on_the_heap.get()) &&
        !hf::same_region(r.base(), &on_the_stack) &&
        !hf::same_region(r.base(), on_the_heap.get()) && !hf::same_region(r.base(), &argv) &&
        !hf::same_region(r.base(), reinterpret_cast<const void*>(&main));
    std::remove(argv[1]);
    std::printf("opened in a window of %s: %s\n",
                hf::window::bytes() == hf::window_size ? "full length" : "short length",
                is_right ? "addresses tell" : "addresses mislead");
    return is_right ? 0 : 1;
}
