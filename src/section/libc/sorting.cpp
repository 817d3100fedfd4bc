// qsort sorts a private copy (L2): the program's comparison may take locks, and libc's moves are
// not announced. A comparison must not depend on where elements are stored.
#include "section/libc/announced.hpp"

#include <cstdio>
#include <cstdlib>

using namespace hf::section_libc;

extern "C" {

void hf_lib_qsort_r(void* base, size_t count, size_t size,
                    int (*compare)(const void*, const void*, void*), void* argument) {
    if (!is_persistent(base) || count < 2) {
        ::qsort_r(base, count, size, compare, argument);
        return;
    }
    private_buffer buffer(count * size);
    if (buffer.get() == nullptr) {
        // There is no error to return, and an unsorted array would be a wrong result.
        std::perror("holdfast: qsort of an array in a region: no memory for its copy");
        std::abort();
    }
    std::memcpy(buffer.get(), base, count * size);
    ::qsort_r(buffer.get(), count, size, compare, argument);
    copy(base, buffer.get(), count * size);
}

void hf_lib_qsort(void* base, size_t count, size_t size, int (*compare)(const void*, const void*)) {
    if (!is_persistent(base)) {
        ::qsort(base, count, size, compare);
        return;
    }
    const auto call = [](const void* a, const void* b, void* function) {
        return (*static_cast<int (**)(const void*, const void*)>(function))(a, b);
    };
    hf_lib_qsort_r(base, count, size, call, &compare);
}

}  // extern "C"
