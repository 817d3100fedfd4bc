#include "journal/mapped_file.hpp"

#include "base/check.hpp"
#include "base/lock_order.hpp"
#include "base/os_error.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace hf::journal {

mapped_file::mapped_file(int fd, std::string name, const medium& med, u64 piece)
    : file_(fd, std::move(name)), fd_(fd), medium_(med), piece_(piece) {
    HF_CHECK(piece != 0 && piece % 4096 == 0, "a piece is a number of pages");
    HF_CHECK(!med.is_atomic(), "a file's own medium writes no journal");
}

mapped_file::~mapped_file() {
    for (std::byte* const p : mapped_) {
        if (p != nullptr) ::munmap(p, piece_);
    }
}

// A mapping may end after its file; only bytes before the file's end are used.
result<std::byte*> mapped_file::map(u64 offset) const {
    const int flags =
        medium_.kind() == medium_kind::shm ? MAP_SHARED : MAP_SHARED_VALIDATE | MAP_SYNC;
    void* const p =
        ::mmap(nullptr, piece_, PROT_READ | PROT_WRITE, flags, fd_, static_cast<off_t>(offset));
    if (p != MAP_FAILED) return static_cast<std::byte*>(p);
    return failure(os_error(errc::io, "map the file", at_offset(name(), offset),
                            "check the limits on memory and mappings (ulimit -v, "
                            "vm.max_map_count)"));
}

result<std::byte*> mapped_file::at(u64 offset) {
    const u64 number = offset / piece_;
    const ranked_guard lock(lock_rank::journal_file, mutex_);
    if (number >= mapped_.size()) mapped_.resize(number + 1, nullptr);
    if (mapped_[number] == nullptr) {
        const auto made = map(number * piece_);
        if (!made) return made;
        mapped_[number] = *made;
    }
    return mapped_[number] + offset % piece_;
}

result<void> mapped_file::check_end(u64 end) {
    const ranked_guard lock(lock_rank::journal_file, mutex_);
    if (end <= known_bytes_) return {};
    const auto bytes = size();
    if (!bytes) return tl::unexpected(bytes.error());
    known_bytes_ = *bytes;
    if (end <= known_bytes_) return {};
    return failure({errc::corrupt, "use the file", at_offset(name(), known_bytes_),
                    "the file ends there", "restore it from a backup"});
}

result<void> mapped_file::store(u64 offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const auto to = at(offset);
        if (!to) return tl::unexpected(to.error());
        const std::size_t n = std::min<u64>(bytes.size(), piece_ - offset % piece_);
        medium_.stream(*to, bytes.data(), n);
        bytes = bytes.subspan(n);
        offset += n;
    }
    return {};
}

result<void> mapped_file::write(u64 offset, std::span<const std::span<const std::byte>> pieces) {
    u64 end = offset;
    for (const auto& piece : pieces) end += piece.size();
    if (auto ok = check_end(end); !ok) return ok;
    for (const auto& piece : pieces) {
        if (auto ok = store(offset, piece); !ok) return ok;
        offset += piece.size();
    }
    medium_.fence();
    return {};
}

result<void> mapped_file::read(u64 offset, std::span<std::byte> into) {
    if (auto ok = check_end(offset + into.size()); !ok) return ok;
    while (!into.empty()) {
        const auto from = at(offset);
        if (!from) return tl::unexpected(from.error());
        const std::size_t n = std::min<u64>(into.size(), piece_ - offset % piece_);
        std::memcpy(into.data(), *from, n);
        into = into.subspan(n);
        offset += n;
    }
    return {};
}

// A sync that another one overtakes does not say which length is durable: it may have read an older
// one, and the file may have been cut in between.
result<void> mapped_file::sync() {
    u64 mine = 0;
    u64 length = 0;
    {
        const ranked_guard lock(lock_rank::journal_file, mutex_);
        const auto bytes = size();
        if (!bytes) return tl::unexpected(bytes.error());
        if (*bytes == synced_bytes_) return {};
        synced_bytes_ = unknown;
        length = *bytes;
        mine = ++syncs_;
    }
    if (auto ok = file_.sync(); !ok) return ok;
    const ranked_guard lock(lock_rank::journal_file, mutex_);
    if (mine == syncs_) synced_bytes_ = length;
    return {};
}

}  // namespace hf::journal
