#include "image/partial.hpp"

#include "base/os_error.hpp"
#include "persist/persist_point.hpp"
#include "recovery/redo.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <utility>

namespace hf::detail {
namespace {

namespace fs = std::filesystem;

constexpr const char* making = "make the region";

tl::unexpected<error> is_there(const fs::path& name) {
    return failure({errc::usage, making, name.string(), "there is a file of this name already",
                    "choose another name, or remove the file"});
}

using magic_number = std::array<char, 8>;

/// Whether one of the file's first two pages begins with the magic: as those of regions of all
/// versions and of journals do.
result<bool> begins_with(const magic_number& magic, const file_handle& file, const fs::path& name) {
    const auto facts = facts_of(file, name.string());
    if (!facts) return tl::unexpected(facts.error());
    constexpr std::size_t page = sizeof(layout::superblock);
    static_assert(page == journal::page);
    std::array<std::byte, page + sizeof magic> start{};
    const auto length = std::min<u64>(facts->bytes, start.size());
    auto read = read_start(file, name.string(), std::span(start).first(length));
    if (!read) return tl::unexpected(read.error());
    return std::memcmp(start.data(), magic.data(), magic.size()) == 0 ||
           std::memcmp(start.data() + page, magic.data(), magic.size()) == 0;
}

result<bool> is_empty(const file_handle& file, const fs::path& name) {
    const auto facts = facts_of(file, name.string());
    if (!facts) return tl::unexpected(facts.error());
    return facts->bytes == 0;
}

tl::unexpected<error> is_other(const fs::path& name, const char* than) {
    return failure({errc::unsafe_file, making, name.string(),
                    std::string("what is there is no ") + than + ", and is not replaced",
                    "choose another name, or remove the file"});
}

/// Opens the file to be replaced: a region, or an empty file without a journal.
result<file_handle> open_old(const fs::path& name) {
    auto old = open_file(name, true);
    if (!old) return old;
    const auto is_region = begins_with(std::to_array(layout::magic), *old, name);
    if (!is_region) return tl::unexpected(is_region.error());
    if (*is_region) return old;
    const auto holds_nothing = is_empty(*old, name);
    if (!holds_nothing) return tl::unexpected(holds_nothing.error());
    if (!*holds_nothing) return is_other(name, "region");
    if (auto ok = check_no_journal(name, making); !ok) return tl::unexpected(ok.error());
    return old;
}

/// Removes a file that a killed process has left; fails if it is in use.
result<void> remove_unused(const fs::path& path) {
    if (!is_taken(path)) return {};
    const auto file = open_file(path, true);
    if (!file) return tl::unexpected(file.error());
    return remove_stale(path);
}

/// remove_unused() for a file of the expected kind only.
result<void> remove_left(const fs::path& path, const magic_number& magic, const char* kind) {
    if (!is_taken(path)) return {};
    const auto file = open_file(path, true);
    if (!file) return tl::unexpected(file.error());
    const auto is_ours = begins_with(magic, *file, path);
    if (!is_ours) return tl::unexpected(is_ours.error());
    return *is_ours ? remove_stale(path) : is_other(path, kind);
}

result<void> sync_directory(const fs::path& path) {
    const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
    const file_handle directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory.is_open() && ::fsync(directory.get()) == 0) return {};
    return failure(os_error(errc::io, "sync the directory of the region", path.string(),
                            "do not trust the file; check the device"));
}

/// Renames without replacing a file that was created meanwhile, even if the file system does not
/// support RENAME_NOREPLACE.
result<void> rename_new(const fs::path& from, const fs::path& to) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return {};
    if (errno == EINVAL || errno == ENOSYS) {
        if (::link(from.c_str(), to.c_str()) == 0) return remove_stale(from);
    }
    if (errno == EEXIST) return is_there(to);
    return failure(os_error(making, to.string(), "check the rights on its directory"));
}

}  // namespace

partial_region::partial_region(fs::path name, bool replace)
    : name_(std::move(name)), partial_(name_.string() + ".partial"), replace_(replace) {}

partial_region::partial_region(partial_region&& other) noexcept
    : name_(std::move(other.name_)),
      partial_(std::move(other.partial_)),
      unfinished_(std::exchange(other.unfinished_, std::nullopt)),
      unfinished_journal_(std::exchange(other.unfinished_journal_, std::nullopt)),
      old_(std::move(other.old_)),
      has_readers_(other.has_readers_),
      replace_(other.replace_),
      pending_(std::exchange(other.pending_, false)) {}

partial_region::~partial_region() {
    if (!pending_) return;
    (void)remove_stale(journal_path(partial_));
    (void)remove_stale(partial_);
}

result<partial_region> partial_region::prepare(const fs::path& name, bool replace) {
    file_handle old;
    if (is_taken(name)) {
        if (!replace) return is_there(name);
        auto opened = open_old(name);  // locks it until finish()
        if (!opened) return tl::unexpected(opened.error());
        old = std::move(*opened);
    } else if (auto ok = check_no_journal(name, making); !ok) {
        return tl::unexpected(ok.error());
    }
    // It refuses to replace a file that is created later.
    const bool replaces = old.is_open();
    return begin(name, std::move(old), replaces);
}

result<partial_region> partial_region::prepare_over(const fs::path& name) {
    auto old = open_beside_readers(name);
    if (!old) return tl::unexpected(old.error());
    if (!is_at(*old, name) || is_taken(journal_path(name))) {
        return failure({errc::busy, making, name.string(),
                        "it has been opened or replaced in the meantime", "try again"});
    }
    auto made = begin(name, std::move(*old), true);
    if (made) made->has_readers_ = true;
    return made;
}

result<partial_region> partial_region::begin(const fs::path& name, file_handle old, bool replaces) {
    partial_region made(name, replaces);
    made.old_ = std::move(old);
    made.pending_ = false;  // until the old files are removed, the destructor must not remove them
    auto removed = remove_left(made.partial_, std::to_array(layout::magic), "region");
    if (!removed) return tl::unexpected(removed.error());
    const auto journal = std::bit_cast<magic_number>(journal::header_magic);
    removed = remove_left(journal_path(made.partial_), journal, "journal");
    if (!removed) return tl::unexpected(removed.error());
    made.pending_ = true;
    made.unfinished_.emplace(made.partial_.string());
    made.unfinished_journal_.emplace(journal_path(made.partial_).string());
    return made;
}

// The journal of the replaced region is removed last: after an interruption it is the journal of
// another region, which open() detects.
result<void> partial_region::finish() {
    const auto mine = open_file(partial_, true);  // locks it until it is renamed
    if (!mine) return tl::unexpected(mine.error());
    if (has_readers_) {
        if (auto ok = lock_alone(old_, name_); !ok) return ok;
        if (auto ok = sync(*mine, partial_.string()); !ok) return ok;
        HF_PERSIST_POINT("image N1: all of a region is durable before it takes another's place");
    }
    if (!replace_) {
        if (auto ok = rename_new(partial_, name_); !ok) return ok;
    } else if (::rename(partial_.c_str(), name_.c_str()) != 0) {
        return failure(os_error(making, name_.string(), "check the rights on its directory"));
    }
    pending_ = false;
    unfinished_.reset();
    unfinished_journal_.reset();
    if (replace_) {
        // errc::busy: another process has opened the new region already.
        const auto removed = remove_unused(journal_path(name_));
        if (!removed && removed.error().code != errc::busy) return removed;
    }
    if (has_readers_) {
        HF_PERSIST_POINT("image N2: a region has its name before its directory is synced");
    }
    return sync_directory(name_);
}

}  // namespace hf::detail
