#include "region/backing.hpp"

namespace hf {

medium direct_medium(medium_kind kind, const region_options& o) noexcept {
    const bool flushes = o.flush == flush_policy::always ||
                         (o.flush == flush_policy::automatic && kind == medium_kind::dax);
    return {kind, flushes ? best_flush_instruction() : flush_instruction::none, o.fence_latency_ns};
}

bool is_journalled(medium_kind kind, const region_options& o) noexcept {
    return kind == medium_kind::file || o.image == image_kind::journalled;
}

direct_backing::direct_backing(const backing_place& place)
    : file_(place.file),
      name_(place.path.string()),
      medium_(direct_medium(place.kind, place.options)) {}

result<void> direct_backing::check(const layout::superblock& super, u64) {
    if (!layout::is_journalled(super) || super.clean != 0) return {};
    return failure({errc::medium, "open the region", name_,
                    "it was not closed in order, and what it lacks is in its journal",
                    "open it with what reads journals"});
}

result<std::unique_ptr<backing>> make_direct_backing(const backing_place& place) {
    if (is_journalled(place.kind, place.options) && place.is_writable()) {
        return failure({errc::medium, "open the region", place.path.string(),
                        "a journalled image needs a journal", "open it with what writes journals"});
    }
    return std::make_unique<direct_backing>(place);
}

}  // namespace hf
