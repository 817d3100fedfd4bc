#include "alloc/geometry.hpp"

#include <algorithm>

namespace hf {

bool is_possible(const page_run& run, u64 room) noexcept {
    if (run.pages > room) return false;
    if (run.use != page_use::slab) return run.use == page_use::free || run.use == page_use::extent;
    return run.size_class < block_classes && run.pages == slab_pages(run.size_class);
}

result<segment> grow_heap(region& r, u64 least) {
    u64 ask = std::clamp(r.size() / page_size / 8, min_growth_pages, max_growth_pages);
    ask = std::max(ask, least);
    auto grown = r.grow(segment_kind::heap, ask, 0);
    if (!grown) grown = r.grow(segment_kind::heap, least, 0);
    return grown;
}

error corrupt_heap(const region& r, u64 offset, std::string why) {
    return {errc::corrupt, "open the heap",
            r.path().string() + " at offset " + std::to_string(offset), std::move(why),
            "run `holdfast check` and restore the file from a copy"};
}

}  // namespace hf
