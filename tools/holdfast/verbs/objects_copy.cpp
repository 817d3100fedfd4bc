// `holdfast copy` of a heap of objects.
#include "alloc/committed/audit_view.hpp"
#include "heap/look.hpp"
#include "image/ready_copy.hpp"
#include "map/copy.hpp"
#include "transaction/opening.hpp"
#include "transaction/transaction_area.hpp"
#include "view/objects.hpp"

namespace hf::tool {
namespace {

/// Recovers the copy, like any open, and closes it.
result<void> settle(const std::filesystem::path& image, discipline /*kind*/) {
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

std::vector<detail::spare_range> free_pages_of(const region& file) {
    committed::view books(file);
    audit_report report;
    heap_audit(file, books, report).read_runs();
    return spare_ranges_of(report.heap);
}

/// Checks the copy; a damaged one is not kept.
result<std::vector<detail::spare_range>> verify(const std::filesystem::path& image,
                                                const std::filesystem::path& from,
                                                discipline /*kind*/) {
    const auto look = nv::heap_look::open(image);
    if (!look) return tl::unexpected(look.error());
    const auto facts = look->read();
    if (!facts) return tl::unexpected(facts.error());
    if (facts->violations == 0) return free_pages_of(look->file());
    return failure({errc::corrupt, "copy the heap", from.string(), facts->report.violations.front(),
                    "`holdfast check` names all that is damaged, `holdfast repair` mends"});
}

}  // namespace

result<detail::image_facts> copy_objects(const std::filesystem::path& from,
                                         const std::filesystem::path& to, bool replace,
                                         const detail::copy_progress& progress) {
    return detail::make_ready_copy(from, to, replace, progress, {settle, verify});
}

}  // namespace hf::tool
