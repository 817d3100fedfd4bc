// `holdfast copy` of a heap of objects.
#include "heap/look.hpp"
#include "image/partial.hpp"
#include "objects.hpp"
#include "transaction/opening.hpp"
#include "transaction/transaction_area.hpp"

namespace hf::tool {
namespace {

/// Recovers the copy, like any open, and closes it.
result<void> settle(const std::filesystem::path& image) {
    opening_options o;
    o.file.mode = open_mode::open_existing;
    o.file.kind = discipline::transaction;
    o.rooms = nv::heap_rooms();
    o.upgrades = transaction_upgrades();
    auto opened = open_region(image, o);
    if (!opened) return tl::unexpected(opened.error());
    transactional_region up(std::move(*opened));
    transaction_options by_hand;
    by_hand.epoch = no_clock;
    if (auto ok = transaction_opening(up, by_hand).run(); !ok) return ok;
    return up.close();
}

/// Checks the copy; a damaged one is not kept.
result<void> verify(const std::filesystem::path& image, const std::filesystem::path& from) {
    const auto look = nv::heap_look::open(image);
    if (!look) return tl::unexpected(look.error());
    const auto facts = look->read();
    if (!facts) return tl::unexpected(facts.error());
    if (facts->violations == 0) return {};
    return failure({errc::corrupt, "copy the heap", from.string(), facts->report.violations.front(),
                    "`holdfast check` names all that is damaged, `holdfast repair` mends"});
}

bool is_same(const std::filesystem::path& a, const std::filesystem::path& b) {
    std::error_code none;  // if one is missing they are different
    return std::filesystem::equivalent(a, b, none);
}

}  // namespace

result<detail::image_facts> copy_objects(const std::filesystem::path& from,
                                         const std::filesystem::path& to, bool replace,
                                         const detail::copy_progress& progress) {
    if (is_same(from, to) || is_same(from, to.string() + ".partial")) {
        return failure({errc::usage, "copy the heap", from.string(),
                        "the copy would take its place", "choose another name for the copy"});
    }
    auto place = detail::partial_region::prepare(to, replace);
    if (!place) return tl::unexpected(place.error());
    auto facts = detail::copy_image(from, place->path(), progress);
    if (!facts) return facts;
    if (auto ok = settle(place->path()); !ok) return tl::unexpected(ok.error());
    if (auto ok = verify(place->path(), from); !ok) return tl::unexpected(ok.error());
    if (auto ok = detail::renew_identity(place->path()); !ok) return tl::unexpected(ok.error());
    if (auto ok = place->finish(); !ok) return tl::unexpected(ok.error());
    return facts;
}

}  // namespace hf::tool
