// says: must not be noexcept
#include "refused.hpp"

auto f(nv::heap<>& heap) {
    return heap.atomic([](nv::tx<>&) noexcept {});
}
