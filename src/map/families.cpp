#include "map/families.hpp"

#include "checkpoint_map/checkpoint_map.hpp"
#include "eager_map/byte_map.hpp"
#include "eager_map/inspection.hpp"
#include "map/inspect.hpp"
#include "recovery/redo.hpp"
#include "region/header.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace hf {
namespace {

result<audit_report> audit_checkpoint(const std::filesystem::path& path,
                                      const audit_progress& progress) {
    const inspection looked = inspect_map(path);
    if (looked.refusal()) return failure(*looked.refusal());
    return looked.audit(progress);
}

result<audit_report> audit_eager(const std::filesystem::path& path, const audit_progress&) {
    const auto looked = eager_inspection::open(path);
    if (looked.refusal()) return failure(*looked.refusal());
    return looked.audit();
}

result<void> settle_checkpoint(const std::filesystem::path& image) {
    return settle_tree<incll_discipline>(image);
}

/// An eager region is consistent at any moment, so it needs no recovery, unless a journal holds a
/// part of it.
result<void> settle_eager(const std::filesystem::path& image) {
    if (!detail::is_taken(detail::journal_path(image))) return {};
    map_options there;
    there.region.mode = open_mode::open_existing;
    auto opened = eager_byte_map::open(image, there);
    return opened ? (*opened)->close() : tl::unexpected(opened.error());
}

/// The first is the default.
constexpr std::array families{
    map_family{discipline::incll, checkpoint_map::open, audit_checkpoint, settle_checkpoint},
    map_family{discipline::eager, eager_byte_map::open, audit_eager, settle_eager}};
/// The family that has map_options::index; the other one has small_values_in_leaves.
constexpr const map_family& with_indexes = families[1];

struct refusal {
    errc code;
    std::string why;
    std::string next;
};

std::optional<refusal> refuse(const map_options& options, discipline wanted) {
    if (find_family(wanted) == nullptr) {
        return refusal{errc::usage, "a map is not of discipline " + std::string(to_string(wanted)),
                       "choose incll or eager"};
    }
    const bool has_indexes = wanted == with_indexes.kind;
    if (!has_indexes && !options.index.empty()) {
        return refusal{errc::usage, "the index " + options.index + " is of discipline eager",
                       "choose that, or name no index"};
    }
    if (has_indexes && options.small_values_in_leaves) {
        return refusal{errc::usage, "small values lie in the leaves of discipline incll alone",
                       "choose that, or leave small_values_in_leaves out"};
    }
    return std::nullopt;
}

/// For options that name neither a discipline nor an index.
std::optional<refusal> refuse_existing(discipline there) {
    if (there != discipline::transaction && there != discipline::snapshot) return std::nullopt;
    return refusal{errc::incompatible,
                   "its discipline is " + std::string(to_string(there)) + ": it holds no map",
                   "open it with its own discipline"};
}

}  // namespace

const map_family* default_family() noexcept { return &families.front(); }

const map_family* find_family(discipline kind) noexcept {
    const auto* const found = std::find_if(families.begin(), families.end(),
                                           [kind](const map_family& f) { return f.kind == kind; });
    return found != families.end() ? found : nullptr;
}

result<const map_family*> family_for(const std::filesystem::path& path,
                                     const map_options& options) {
    const auto refused = [&](refusal r) {
        return failure(
            {r.code, "open the map", path.string(), std::move(r.why), std::move(r.next)});
    };
    const bool says_which = options.kind || !options.index.empty();
    const discipline wanted =
        options.kind.value_or(options.index.empty() ? families.front().kind : with_indexes.kind);
    if (auto why = refuse(options, wanted)) return refused(std::move(*why));
    const map_family* const chosen = find_family(wanted);
    if (options.kind == families.front().kind) return chosen;
    const auto there = detail::discipline_in(path);
    if (!there || options.region.mode == open_mode::create_new) return chosen;
    if (says_which) {
        if (*there == wanted) return chosen;
        return refused({errc::incompatible,
                        "its discipline is " + std::string(to_string(*there)) + ", and not " +
                            std::string(to_string(wanted)),
                        "open it without saying which, or dump it and load it into a new region"});
    }
    if (auto why = refuse_existing(*there)) return refused(std::move(*why));
    // The default family names the region's discipline where it is of no family.
    const map_family* const found = find_family(*there);
    return found != nullptr ? found : chosen;
}

}  // namespace hf
