// index/common/root.hpp: the root of the region behind which an index lies.
#pragma once

#include "eager/space.hpp"

#include <string>
#include <string_view>

namespace hf {

/// What an index calls its own.
struct index_root {
    const char* opening;  ///< "open the ART": for errors
    u64 type;
    u32 format;
};

/// The offset that the root leads to; where there is no root yet, found(space) makes the index, and
/// gives its offset. errc::incompatible: it is the root of something else. Nothing is known of what
/// lies at the offset.
template <class Found>
[[nodiscard]] result<u64> find_or_found(eager_space& space, std::string_view root,
                                        const index_root& mine, Found&& found) {
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
    auto offset = found(space);
    if (!offset) return offset;
    auto named = space.file().publish_root(root, mine.type, mine.format, *offset);
    if (!named) return tl::unexpected(named.error());
    return offset;
}

}  // namespace hf
