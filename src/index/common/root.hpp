// index/common/root.hpp: the region's root that points to an index.
#pragma once

#include "eager/space.hpp"

#include <string>
#include <string_view>

namespace hf {

/// The identity of an index's root.
struct index_root {
    const char* opening;  ///< "open the ART": for error messages
    u64 type;
    u32 format;
};

/// Returns the offset stored at the root. If the root does not exist, create(space) creates the
/// index and returns its offset. errc::incompatible: the root belongs to another structure. The
/// contents at the offset are not checked.
template <class Create>
[[nodiscard]] result<u64> find_or_create_root(eager_space& space, std::string_view root,
                                              const index_root& mine, Create&& create) {
    auto known = space.file().find_root(root);
    if (known) {
        if ((*known)->type != mine.type || (*known)->format != mine.format) {
            return failure({errc::incompatible, mine.opening, space.file().path().string(),
                            "the root " + std::string(root) + " is of something else",
                            "open it as what it was made"});
        }
        return (*known)->value.load(std::memory_order_acquire);
    }
    if (known.error().code != errc::not_found) return tl::unexpected(known.error());
    auto offset = create(space);
    if (!offset) return offset;
    auto named = space.file().publish_root(root, mine.type, mine.format, *offset);
    if (!named) return tl::unexpected(named.error());
    return offset;
}

}  // namespace hf
