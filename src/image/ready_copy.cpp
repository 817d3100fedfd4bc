#include "image/ready_copy.hpp"

#include "image/partial.hpp"

#include <system_error>

namespace hf::detail {
namespace {

bool is_same(const std::filesystem::path& a, const std::filesystem::path& b) {
    std::error_code none;  // an error, for instance a missing file, counts as "not the same"
    return std::filesystem::equivalent(a, b, none);
}

}  // namespace

result<image_facts> make_ready_copy(const std::filesystem::path& from,
                                    const std::filesystem::path& to, bool replace,
                                    const copy_progress& progress, const copy_steps& steps) {
    if (is_same(from, to) || is_same(from, to.string() + ".partial")) {
        return failure({errc::usage, "copy the region", from.string(),
                        "the copy would take its place", "choose another name for the copy"});
    }
    auto place = partial_region::prepare(to, replace);
    if (!place) return tl::unexpected(place.error());
    auto facts = copy_image(from, place->path(), progress);
    if (!facts) return facts;
    const auto fail = [](result<void>& r) { return tl::unexpected(std::move(r.error())); };
    if (!facts->was_closed) {
        if (auto ok = steps.settle(place->path(), facts->kind); !ok) return fail(ok);
    }
    const auto spare = steps.verify(place->path(), from, facts->kind);
    if (!spare) return tl::unexpected(spare.error());
    const auto stored = make_holes(place->path(), *spare);
    if (!stored) return tl::unexpected(stored.error());
    facts->stored_bytes = *stored;
    if (auto ok = renew_identity(place->path()); !ok) return fail(ok);
    if (auto ok = place->finish(); !ok) return fail(ok);
    return facts;
}

}  // namespace hf::detail
