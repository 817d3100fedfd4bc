#include "recovery/opening.hpp"

namespace hf {
namespace {

/// Ignores the race with another process that creates a region and its journal at this moment.
result<void> check_place(const std::filesystem::path& path, open_mode mode) {
    const bool may_create = mode == open_mode::open_or_create || mode == open_mode::create_new;
    if (!may_create) return {};
    auto free = detail::check_no_journal(path, "create the region");
    return detail::is_taken(path) ? result<void>{} : free;
}

/// The journal is applied between the header's validation and the mapping (region/backing.hpp).
result<void> map_region(opened_region& made, const std::filesystem::path& path,
                        const opening_options& options) {
    const auto make_backing = [&](const backing_place& place) -> result<std::unique_ptr<backing>> {
        auto behind = std::make_unique<journalled_file>(place, options.journal);
        made.journal = behind.get();
        return behind;
    };
    auto opened = region::open(path, options.file, {make_backing, options.accept, options.rooms});
    if (!opened) return tl::unexpected(opened.error());
    made.file = std::move(*opened);
    made.recovered_records = made.journal->recovered_records();
    if (!made.journal->is_in_use()) made.journal = nullptr;
    return {};
}

}  // namespace

result<opened_region> open_region(const std::filesystem::path& path,
                                  const opening_options& options) {
    opened_region made;
    made.steps.add(recovery_phase::header, "place",
                   [&] { return check_place(path, options.file.mode); });
    made.steps.add(recovery_phase::journal, "region",
                   [&] { return map_region(made, path, options); });
    if (!options.rooms.empty()) {
        made.steps.add(recovery_phase::upgrade, "upgrade",
                       [&] { return upgrade(*made.file, options.rooms, options.upgrades); });
    }
    if (auto ok = made.steps.run(); !ok) return tl::unexpected(ok.error());
    return made;
}

result<opened_region> create_volatile(u64 bytes, const region_options& options) {
    auto made = region::create_volatile(bytes, options);
    if (!made) return tl::unexpected(made.error());
    return opened_region{std::move(*made), nullptr, 0, {}};
}

}  // namespace hf
