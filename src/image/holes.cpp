#include "image/holes.hpp"

#include "region/file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace hf::detail {
namespace {

/// False: the file system makes no holes.
bool punch(const file_handle& file, const spare_range& r) {
    if (r.bytes == 0) return true;
    int refused = 0;
    do {
        refused = ::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                              static_cast<off_t>(r.offset), static_cast<off_t>(r.bytes));
    } while (refused != 0 && errno == EINTR);
    return refused == 0;
}

/// The next range without data from `at` on: a hole, or allocated and never written.
spare_range next_unwritten(const file_handle& file, u64 at, u64 end) {
    const off_t first = ::lseek(file.get(), static_cast<off_t>(at), SEEK_HOLE);
    if (first < 0 || static_cast<u64>(first) >= end) return {end, 0};
    const off_t data = ::lseek(file.get(), first, SEEK_DATA);
    const u64 until = data < 0 ? end : std::min(static_cast<u64>(data), end);
    return {static_cast<u64>(first), until - static_cast<u64>(first)};
}

}  // namespace

result<u64> make_holes(const std::filesystem::path& path, std::span<const spare_range> spare) {
    const std::string name = path.string();
    const auto file = open_file(path, true);
    if (!file) return tl::unexpected(file.error());
    const auto size = facts_of(*file, name);
    if (!size) return tl::unexpected(size.error());
    bool can = true;
    for (u64 at = 0; can && at < size->bytes;) {
        const spare_range r = next_unwritten(*file, at, size->bytes);
        can = punch(*file, r);
        at = r.offset + std::max<u64>(r.bytes, 1);
    }
    for (const spare_range& r : spare) {
        if (can) can = punch(*file, r);
    }
    const auto left = facts_of(*file, name);
    if (!left) return tl::unexpected(left.error());
    return left->allocated_bytes;
}

}  // namespace hf::detail
