#include "bench/recipe/store.hpp"

#include <holdfast/eager.hpp>

#include <algorithm>

namespace hf::bench {

const std::vector<std::string>& recipe_store_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (const std::string& index : eager_index_names()) {
            all.push_back(index + "-eager");
            all.push_back(index + "-transient");
        }
        all.emplace_back("map");
        all.insert(all.end(), recipe_peer_names().begin(), recipe_peer_names().end());
        return all;
    }();
    return names;
}

result<std::unique_ptr<recipe_store>> make_recipe_store(const std::string& name,
                                                        const scratch_space& space,
                                                        const recipe_store_options& options) {
    if (name == "map") return make_map_store(space, options);
    const auto& peers = recipe_peer_names();
    if (std::find(peers.begin(), peers.end(), name) != peers.end()) {
        return make_peer_store(name, space, options);
    }
    return make_index_store(name, space, options);
}

}  // namespace hf::bench
