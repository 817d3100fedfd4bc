#include "image/copy.hpp"

#include "base/byte_lock.hpp"
#include "base/clock.hpp"
#include "base/os_error.hpp"
#include "discipline/registry.hpp"
#include "image/clone.hpp"
#include "journal/copy_gate.hpp"
#include "persist/detect.hpp"
#include "recovery/redo.hpp"
#include "region/copy_pause.hpp"
#include "region/file.hpp"
#include "region/header.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

namespace hf::detail {
namespace {

namespace fs = std::filesystem;

constexpr const char* copying = "copy the region";

/// How long to wait for a region that is just being opened or closed.
constexpr u64 patience_ns = 5'000'000'000;

/// Longer than any epoch: a region does a requested pause at its epoch's end.
constexpr unsigned most_naps = 12'000;
constexpr auto nap = std::chrono::milliseconds(1);

/// The file to copy, and what keeps it unchanged: FILE's own lock, the journal's gate, or a pause
/// of the process that uses it.
struct subject {
    file_handle file;
    file_handle journal;     ///< open if another process uses the region: its gate is held
    bool is_paused = false;  ///< another process uses the region, and has paused
    u64 since_ns = now_ns();
};

error in_use(const fs::path& from, std::string why) {
    return {errc::busy, copying, from.string(), std::move(why),
            "stop the process that uses it, and copy it then"};
}

/// The newest superblock of a session with a shared image (FILE is its memory); nullopt: none.
result<std::optional<layout::superblock>> session_in_memory(const file_handle& file,
                                                            const fs::path& from) {
    const auto h = blank_header();
    const auto bytes = std::as_writable_bytes(std::span(h.get(), 1));
    if (auto ok = read_start(file, from.string(), bytes); !ok) return tl::unexpected(ok.error());
    std::optional<layout::superblock> newest;
    for (const layout::superblock& s : h->super) {
        if (s.checksum != layout::superblock_checksum(s)) continue;
        if (s.clean != 0 || layout::is_journalled(s)) continue;
        if (!newest || s.generation > newest->generation) newest = s;
    }
    return newest;
}

bool can_keep_still(discipline kind) {
    const registry::row* r = registry::find(kind);
    return r != nullptr && r->pauses_for_copies;
}

/// nullopt: it is just being opened or closed.
result<std::optional<subject>> pause(file_handle file, const fs::path& from) {
    const auto session = session_in_memory(file, from);
    if (!session) return tl::unexpected(session.error());
    if (!*session) return std::nullopt;
    const layout::superblock& s = **session;
    const std::string where = " on the medium " + std::string(to_string(s.medium));
    if (!can_keep_still(s.kind)) {
        return failure(in_use(from, "it is in use, and" + where + " nothing stops the changes of " +
                                        std::string(to_string(s.kind)) + " for a copy"));
    }
    const copy_pause memory(file.get());
    if (auto ok = memory.ask(); !ok) return tl::unexpected(ok.error());
    for (unsigned naps = 0; !memory.is_still(); ++naps) {
        if (!is_byte_locked(file.get(), 0, byte_lock::shared)) return std::nullopt;
        if (naps == most_naps) {
            return failure(in_use(from, "it is in use, and" + where +
                                            " it did not keep still for a copy: no clock ends its "
                                            "epochs, or its program is older than this one"));
        }
        std::this_thread::sleep_for(nap);
    }
    return subject{std::move(file), {}, true};
}

/// Whether the region was unchanged during the whole copy (Y2, Y3).
result<bool> kept_still(const subject& s, const fs::path& from, u64 generation) {
    if (!s.is_paused) return true;
    const auto session = session_in_memory(s.file, from);
    if (!session) return tl::unexpected(session.error());
    return *session && (*session)->generation == generation && copy_pause(s.file.get()).is_still();
}

/// nullopt: it is just being opened or closed.
result<std::optional<subject>> find_in_use(const fs::path& from) {
    const auto gone = [](const error& e) { return e.code == errc::not_found; };
    auto file = open_unlocked(from);
    if (!file) return tl::unexpected(file.error());
    auto journal = open_unlocked(journal_path(from));
    if (!journal && !gone(journal.error())) return tl::unexpected(journal.error());
    if (!journal) return pause(std::move(*file), from);
    if (auto ok = journal::copy_gate(journal->get()).hold(); !ok) return tl::unexpected(ok.error());
    // While we waited, the journal may have been removed and another one created (X1).
    if (!is_at(*journal, journal_path(from)) || !is_at(*file, from)) return std::nullopt;
    return subject{std::move(*file), std::move(*journal)};
}

result<std::optional<subject>> find_subject(const fs::path& from) {
    auto file = open_file(from, false);
    if (file) return subject{std::move(*file), {}};
    if (file.error().code != errc::busy) return tl::unexpected(file.error());
    return find_in_use(from);
}

/// Applies the journal's records to the copy of the base.
result<void> bring_up(const pending_redo& redo, const file_handle& to, const std::string& name) {
    journal::posix_file target(to.get(), name);
    return redo.merge_into(target);
}

/// The image is marked as not closed, so it needs a journal, even one without records.
result<void> make_journal(const fs::path& to, const journal::header_facts& header) {
    const fs::path path = journal_path(to);
    auto file = create_unnamed(path);
    if (!file) return tl::unexpected(file.error());
    journal::posix_file disk(file->get(), path.string());
    if (auto ok = disk.extend(journal::first_segment); !ok) return ok;
    for (const u64 next : {0, 1}) {
        auto both = header;
        both.serial += next;
        if (auto ok = journal::write_header(disk, both); !ok) return ok;
    }
    return publish(*file, path);
}

/// nullopt: retry.
result<std::optional<image_facts>> try_to_copy(const fs::path& from, const fs::path& to,
                                               const copy_progress& progress) {
    auto what = find_subject(from);
    if (!what) return tl::unexpected(what.error());
    if (!*what) return std::nullopt;
    subject& s = **what;
    image_facts facts;
    const bool has_gate = s.journal.is_open();
    facts.in_use = has_gate || s.is_paused;
    facts.paused = s.is_paused;

    const auto header = blank_header();
    const auto bytes = std::as_writable_bytes(std::span(header.get(), 1));
    if (auto ok = read_start(s.file, from.string(), bytes); !ok) return tl::unexpected(ok.error());
    auto redo = has_gate ? pending_redo::follow(std::move(s.journal), from, *header)
                         : pending_redo::find(from, *header, false);
    if (!redo) return tl::unexpected(redo.error());
    if (has_gate && !*redo) return std::nullopt;
    const auto size = facts_of(s.file, from.string());  // X5
    if (!size) return tl::unexpected(size.error());
    const auto found = judge_header(*header, size->bytes, from.string());
    if (!found) return tl::unexpected(found.error());
    if (auto ok =
            check_journal(found->super, found->pages * layout::page_size, *redo, from.string());
        !ok) {
        return tl::unexpected(ok.error());
    }
    facts.kind = found->super.kind;
    facts.was_closed = found->super.clean != 0 && !facts.in_use && !*redo;
    facts.epoch = *layout::epoch_record_load(header->epoch) - 1;

    auto target = create_unnamed(to);
    if (!target) return tl::unexpected(target.error());
    if (const auto kind = detect_medium(target->get(), to.string()); !kind) {
        return tl::unexpected(kind.error());
    }
    // Bytes after the segments belong to a growth in an epoch that is not in the copy.
    const u64 length = found->pages * layout::page_size;
    const auto made = clone(s.file, from.string(), *target, to.string(), length, progress);
    if (!made) return tl::unexpected(made.error());
    const auto is_one_moment = kept_still(s, from, found->super.generation);
    if (!is_one_moment) return tl::unexpected(is_one_moment.error());
    if (!*is_one_moment) return std::nullopt;
    std::optional<journal::header_facts> remaining;
    if (*redo) {
        auto ok = bring_up(**redo, *target, to.string());
        if (!ok) return tl::unexpected(ok.error());
        remaining = (*redo)->emptied();
    }
    *redo = std::nullopt;  // releases the gate
    if (facts.in_use) facts.held_ns = now_ns() - s.since_ns;
    if (s.is_paused) copy_pause(s.file.get()).release();
    facts.bytes = made->bytes;
    facts.shares_blocks = made->shares_blocks;

    if (remaining) {
        if (auto ok = make_journal(to, *remaining); !ok) return tl::unexpected(ok.error());
    }
    if (auto ok = publish(*target, to); !ok) return tl::unexpected(ok.error());
    return facts;
}

}  // namespace

result<image_facts> copy_image(const fs::path& from, const fs::path& to,
                               const copy_progress& progress) {
    const u64 until = now_ns() + patience_ns;
    for (;;) {
        auto done = try_to_copy(from, to, progress);
        if (!done) return tl::unexpected(done.error());
        if (*done) return **done;
        if (now_ns() > until) {
            return failure(in_use(from, "it is in use, and has no journal that fits it"));
        }
        std::this_thread::sleep_for(nap);
    }
}

result<void> renew_identity(const fs::path& path) {
    const auto file = open_file(path, true);
    if (!file) return tl::unexpected(file.error());
    const auto header = blank_header();
    const auto bytes = std::as_writable_bytes(std::span(header.get(), 1));
    if (auto ok = read_start(*file, path.string(), bytes); !ok) return ok;
    if (auto ok = renew_uuid(header->super[0]); !ok) return ok;
    std::copy(std::begin(header->super[0].uuid), std::end(header->super[0].uuid),
              header->super[1].uuid);
    for (layout::superblock& s : header->super) s.checksum = layout::superblock_checksum(s);
    if (auto ok = write_start(*file, path.string(), bytes); !ok) return ok;
    return sync(*file, path.string());
}

}  // namespace hf::detail
