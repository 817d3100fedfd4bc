// eager_map/opening.hpp: open_for(), included only by the files that instantiate it for a
// discipline: each of them compiles all indexes.
#pragma once

#include "eager_map/engine.hpp"
#include "eager_map/indexes.hpp"

#include <algorithm>

namespace hf::detail {

/// Returns the name of the index in the region; "": the region has none yet.
inline result<std::string> index_in(const region& r, std::string_view keys) {
    for (const layout::root& entry : r.header().roots) {
        if (entry.value.load(std::memory_order_acquire) == 0) continue;
        const std::string name(entry.name, ::strnlen(entry.name, sizeof entry.name));
        for (const std::string_view index : index_names) {
            if (name == root_name(index, keys)) return std::string(index);
        }
        return failure({errc::incompatible, "open the eager map", r.path().string(),
                        "it holds \"" + name + "\", and not an index of " + std::string(keys),
                        "open it as what it was made"});
    }
    return std::string();
}

template <class D, class Key, class Owned>
result<std::unique_ptr<eager_engine<Key, Owned>>> open_for(const std::filesystem::path& path,
                                                           const eager_map_options& options) {
    using keys = typename keys_for<Key>::type;
    eager_options o;
    o.region = options.region;
    o.region.kind = D::kind;
    o.epoch = options.epoch;
    o.sweep = options.sweep_in_background ? sweeping::in_background : sweeping::at_opening;
    o.sweep_threads = std::max(1U, options.sweep_threads);
    std::unique_ptr<eager_engine<Key, Owned>> made;
    const auto rooms = formats_of_all<D, keys>();
    auto space = eager_space::open(path, o, rooms, [&](eager_space& s) -> result<void> {
        auto there = index_in(s.file(), keys_for<Key>::name);
        if (!there) return tl::unexpected(there.error());
        if (!there->empty() && !options.index.empty() && *there != options.index) {
            return failure({errc::incompatible, "open the eager map", path.string(),
                            "its index is " + *there + ", and not " + options.index,
                            "name that one, or none"});
        }
        if (there->empty() && s.file().read_only()) {
            return failure({errc::not_found, "open the eager map", path.string(),
                            "no index has been made in it yet", "open it for writing first"});
        }
        const std::string name = !there->empty()         ? *there
                                 : options.index.empty() ? "clht"
                                                         : options.index;
        return for_index<D, keys>(name, [&]<class Index>() -> result<void> {
            auto index = Index::open(s, root_name(name, keys_for<Key>::name));
            if (!index) return tl::unexpected(index.error());
            auto engine = std::make_unique<engine_of<Index>>();
            engine->index = std::move(*index);
            made = std::move(engine);
            return {};
        });
    });
    if (!space) return tl::unexpected(space.error());
    made->opened = std::move(*space);
    return made;
}

}  // namespace hf::detail
