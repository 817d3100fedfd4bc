#include "recovery/redo.hpp"

#include "base/os_error.hpp"
#include "journal/apply.hpp"
#include "journal/copy_gate.hpp"
#include "journal/merge.hpp"
#include "journal/replay.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace hf::detail {
namespace {

constexpr const char* redoing = "open the region";

/// UUID and generation: the parts of a base header that are within one sector each, and so are
/// valid even if a crash tore the superblocks while records were applied.
struct base_identity {
    journal::uuid region{};
    u64 generation = 0;
};

std::array<base_identity, 2> identities_of(const layout::header& h) {
    std::array<base_identity, 2> both;
    for (unsigned i = 0; i < 2; ++i) {
        std::memcpy(both[i].region.data(), h.super[i].uuid, sizeof h.super[i].uuid);
        both[i].generation = h.super[i].generation;
    }
    return both;
}

/// True if the journal belongs to an earlier session: a later open has already recovered its
/// contents. Without a sync of the directory, a power cut may bring such a file back.
bool is_of_earlier_session(const journal::history& found, const layout::header& h) {
    const auto both = identities_of(h);
    return std::all_of(both.begin(), both.end(), [&](const base_identity& b) {
        return b.region == found.header.who.region && b.generation > found.header.who.generation;
    });
}

/// Checks that the journal's history continues exactly from the base's state.
result<void> check_match(const journal::history& found, const layout::header& h,
                         const std::string& name) {
    const auto wrong = [&name](std::string why, std::string next) {
        return failure({errc::corrupt, redoing, name, std::move(why), std::move(next)});
    };
    const auto& said = found.header;
    const auto both = identities_of(h);
    const auto is_ours = [&](const base_identity& b) { return b.region == said.who.region; };
    if (std::none_of(both.begin(), both.end(), is_ours)) {
        return wrong("it is the journal of another region",
                     "bring the region and its own journal together, or move this one away");
    }
    const bool from_start = said.oldest == journal::position{};
    const auto fits = [&](const base_identity& b) {
        return is_ours(b) && (b.generation == said.who.generation ||
                              (b.generation + 1 == said.who.generation && from_start));
    };
    // An epoch record torn by a crash tells nothing: it counts as one that fits.
    const u64 epoch = layout::epoch_record_load(h.epoch).value_or(said.base_epoch + 1);
    if (epoch > std::max(found.last_epoch, said.base_epoch) + 1) {
        return wrong("it is older than the region: the region was used since",
                     "bring the region's own journal back; if the region was closed in order, move "
                     "this one away");
    }
    if (std::none_of(both.begin(), both.end(), fits) || (!from_start && epoch <= said.base_epoch)) {
        return wrong("it is newer than the region, which seems to be an old copy",
                     "bring the region and its own journal together, or move this one away");
    }
    return {};
}

/// A sink that copies lines into memory, as far as they fit.
journal::line_sink copy_into(std::span<std::byte> memory) {
    return [memory](u64 offset, std::span<const std::byte> bytes) -> result<void> {
        const auto rest = memory.subspan(std::min<u64>(offset, memory.size()));
        std::copy_n(bytes.begin(), std::min(bytes.size(), rest.size()), rest.begin());
        return {};
    };
}

}  // namespace

std::filesystem::path journal_path(const std::filesystem::path& region) {
    return {region.string() + ".journal"};
}

result<std::optional<pending_redo>> pending_redo::find(const std::filesystem::path& region,
                                                       layout::header& header, bool writable) {
    const auto path = journal_path(region);
    if (!is_taken(path)) return std::nullopt;
    auto file = open_file(path, writable);
    if (!file) return tl::unexpected(file.error());
    journal::posix_file disk(file->get(), path.string());
    auto found = journal::scan(disk);
    if (!found) return tl::unexpected(found.error());
    return judge(std::move(*file), path.string(), header, std::move(*found));
}

result<std::optional<pending_redo>> pending_redo::follow(file_handle file,
                                                         const std::filesystem::path& region,
                                                         layout::header& header) {
    const std::string name = journal_path(region).string();
    journal::posix_file disk(file.get(), name);
    auto found = journal::scan_live(disk);
    if (!found) return tl::unexpected(found.error());
    return judge(std::move(file), name, header, std::move(*found));
}

result<std::optional<pending_redo>> pending_redo::judge(file_handle file, const std::string& name,
                                                        layout::header& header,
                                                        journal::history found) {
    if (is_of_earlier_session(found, header)) return std::nullopt;
    if (auto ok = check_match(found, header, name); !ok) return tl::unexpected(ok.error());
    pending_redo redo(std::move(file), name, std::move(found));
    auto* const bytes = reinterpret_cast<std::byte*>(&header);
    if (auto ok = redo.overlay({bytes, sizeof header}); !ok) return tl::unexpected(ok.error());
    return redo;
}

result<void> pending_redo::overlay(std::span<std::byte> copy) const {
    journal::posix_file disk(file_.get(), name_);
    return journal::apply(disk, history_.chunks, copy_into(copy));
}

result<void> pending_redo::merge_into(journal::block_file& copy) const {
    journal::posix_file disk(file_.get(), name_);
    const auto written = journal::merge(disk, history_.chunks, copy);
    if (!written) return tl::unexpected(written.error());
    return {};
}

journal::header_facts pending_redo::emptied() const {
    journal::header_facts header = history_.header;
    header.segments = 0;  // the file may contain nothing else
    if (history_.chunks.empty()) return header;
    header.oldest = history_.chunks.back().next();
    header.base_epoch = history_.last_epoch;
    return header;
}

result<void> pending_redo::apply_to(const file_handle& base, const std::string& name) {
    if (auto ok = journal::copy_gate(file_.get()).shut(); !ok) return ok;
    journal::posix_file disk(file_.get(), name_);
    journal::posix_file target(base.get(), name);
    return journal::replay(disk, history_, target);
}

u64 pending_redo::records() const noexcept {
    const auto& chunks = history_.chunks;
    return chunks.empty() ? 0 : chunks.back().at.record - chunks.front().at.record + 1;
}

u64 pending_redo::needed_bytes() const noexcept {
    u64 end = 0;
    for (const auto& c : history_.chunks) end = std::max(end, c.end_line);
    return end * line_size;
}

result<void> check_journal(const layout::superblock& super, u64 bytes,
                           const std::optional<pending_redo>& redo, const std::string& name) {
    if (redo && redo->needed_bytes() > bytes) {
        return failure({errc::corrupt, redoing, journal_path(name).string(),
                        "it has lines past the end of the region",
                        "restore the region and its journal from a backup"});
    }
    if (redo || !layout::is_journalled(super) || super.clean != 0) return {};
    const std::string journal = journal_path(name).string();
    return failure({errc::corrupt, redoing, name,
                    is_taken(journal) ? "it was not closed in order, and the journal beside it is "
                                        "one of an earlier session"
                                      : "it was not closed in order, and its journal is missing",
                    "bring the " + journal +
                        " of its last session back beside it, or restore both from a backup"});
}

result<void> check_no_journal(const std::filesystem::path& region, std::string what) {
    const auto path = journal_path(region);
    if (!is_taken(path)) return {};
    return failure({errc::usage, std::move(what), path.string(),
                    "there is a journal without its region",
                    "bring its region back beside it, or move it away"});
}

}  // namespace hf::detail
