// map/map_impl.hpp: the implementation of the public map (include/holdfast/map.hpp): a face over a
// map_engine.
#pragma once

#include <holdfast/map.hpp>

#include "base/damage.hpp"
#include "map_engine/map_engine.hpp"
#include "sync/fork.hpp"

#include <memory>

namespace hf {

struct map::impl {
    explicit impl(std::unique_ptr<map_engine> e) : engine(std::move(e)) {}

    std::unique_ptr<map_engine> engine;  ///< nullptr after close()
    process_mark made_in;

    /// Returns act(). Returns an error if the map was closed, or if act() throws damage.
    template <class F>
    auto meeting_damage(const char* doing, F act) const -> decltype(act()) {
        if (engine == nullptr) [[unlikely]] {
            return failure({errc::usage, doing, "the map", "it was closed", "open it anew"});
        }
        try {
            return act();
        } catch (const damage& d) {
            return failure(d.to_error(doing, engine->file().path()));
        }
    }
};

}  // namespace hf
