#include "made_up/tool.hpp"

#include "image/ready_copy.hpp"
#include "made_up/counter.hpp"
#include "tools/holdfast/region_kind.hpp"
#include "tools/holdfast/view/output.hpp"

namespace made_up {
namespace {

using path = std::filesystem::path;

hf::result<std::unique_ptr<counter>> look_at(const path& file) {
    hf::region_options o;
    o.mode = hf::open_mode::inspect;
    return counter::open(file, o);
}

int check(const std::string& file, bool as_json) {
    const auto found = look_at(file);
    if (!found) return hf::tool::complain(found.error());
    if (as_json) {
        hf::tool::say_json({{"file", file}, {"verdict", "sound"}, {"count", (*found)->value()}});
    } else {
        hf::tool::say(file + ": sound, the count is " + std::to_string((*found)->value()) + "\n");
    }
    return 0;
}

hf::result<void> settle(const path& image, hf::discipline) {
    auto opened = counter::open(image);
    return opened ? (*opened)->close() : tl::unexpected(opened.error());
}

hf::result<std::vector<hf::detail::spare_range>> verify(const path& image, const path&,
                                                        hf::discipline) {
    const auto found = look_at(image);
    if (!found) return tl::unexpected(found.error());
    return {};
}

hf::result<hf::detail::image_facts> copy(const path& from, const path& to, bool replace,
                                         const hf::detail::copy_progress& progress) {
    return hf::detail::make_ready_copy(from, to, replace, progress, {settle, verify});
}

}  // namespace

void register_verbs() {
    hf::tool::add_kind({number, check, copy, hf::tool::heap_view::read_none, hf::tool::no_facts});
}

}  // namespace made_up
