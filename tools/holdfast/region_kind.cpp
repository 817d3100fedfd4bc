#include "region_kind.hpp"

#include <holdfast/section.h>

#include "image/ready_copy.hpp"
#include "map/copy.hpp"
#include "plain/machine.hpp"
#include "transaction/transaction_area.hpp"
#include "verbs/other_checks.hpp"
#include "view/header_view.hpp"
#include "view/objects.hpp"

#include <algorithm>

namespace hf::tool {
namespace {

facts describe_transactions(const layout::superblock& s) {
    return {{"engine", std::string(to_string(transaction_area_of(s).engine))}};
}

/// Opening the group undoes the interrupted epoch, or the sections without a consistent cut.
result<void> settle_sections(const std::filesystem::path& image, discipline /*kind*/) {
    const auto header = header_view::read(image.string());
    if (!header) return tl::unexpected(header.error());
    const bool is_private = header->super && layout::is_journalled(*header->super);
    hf_group_options o{};
    o.stores = is_private ? HF_STORES_TRACKED : HF_STORES_ANNOUNCED;
    o.keep_unreachable = 1;
    o.by_hand = 1;
    int opened = 0;
    for (const hf_mode mode : {HF_MODE_EPOCH, HF_MODE_GRAPH}) {
        o.mode = mode;  // only the mode that has the log opens a file that was not closed in order
        opened = hf_group_open(image.c_str(), &o);
        if (opened != static_cast<int>(errc::incompatible)) break;
    }
    if (opened == 0 && hf_group_close() == 0) return {};
    return failure({errc::corrupt, "recover the copy of the group of regions", image.string(),
                    hf_section_error(), "look at the original with `holdfast check`"});
}

/// For a discipline whose copies are not checked, and whose free pages are not known.
result<std::vector<detail::spare_range>> no_spare_ranges(const std::filesystem::path& /*image*/,
                                                         const std::filesystem::path& /*from*/,
                                                         discipline /*kind*/) {
    return {};
}

result<detail::image_facts> copy_sections(const std::filesystem::path& from,
                                          const std::filesystem::path& to, bool replace,
                                          const detail::copy_progress& progress) {
    return detail::make_ready_copy(from, to, replace, progress, {settle_sections, no_spare_ranges});
}

/// Opening plain memory brings lines home.
result<void> settle_plain(const std::filesystem::path& image, discipline /*kind*/) {
    plain::machine_options o;
    o.file.mode = open_mode::open_existing;
    o.bytes = 0;
    auto opened = plain::machine::open(image, o);
    return opened ? (*opened)->close() : tl::unexpected(opened.error());
}

result<detail::image_facts> copy_plain(const std::filesystem::path& from,
                                       const std::filesystem::path& to, bool replace,
                                       const detail::copy_progress& progress) {
    return detail::make_ready_copy(from, to, replace, progress, {settle_plain, no_spare_ranges});
}

std::vector<region_kind>& kinds() {
    static std::vector<region_kind> all{
        {discipline::logged, check_map, copy_store, heap_view::read_map, no_facts},
        {discipline::incll, check_map, copy_store, heap_view::read_map, no_facts},
        {discipline::transient, check_map, copy_store, heap_view::read_map, no_facts},
        {discipline::snapshot, check_header, copy_store, heap_view::read_none, no_facts},
        {discipline::transaction, check_objects, copy_objects, heap_view::read_objects,
         describe_transactions},
        {discipline::eager, check_eager, copy_store, heap_view::read_eager, no_facts},
        {discipline::section, check_header, copy_sections, heap_view::read_none, no_facts},
        {discipline::plain, check_plain, copy_plain, heap_view::read_none, describe_transactions},
    };
    return all;
}

}  // namespace

const region_kind& kind_of(discipline d) {
    const auto& all = kinds();
    const auto at =
        std::find_if(all.begin(), all.end(), [d](const region_kind& k) { return k.number == d; });
    return at != all.end() ? *at : all.front();
}

const region_kind& kind_of(const std::string& path) {
    const auto v = header_view::read(path);
    return kind_of(v && v->super ? v->super->kind : discipline::incll);
}

void add_kind(const region_kind& k) { kinds().push_back(k); }

facts no_facts(const layout::superblock& /*s*/) { return {}; }

}  // namespace hf::tool
