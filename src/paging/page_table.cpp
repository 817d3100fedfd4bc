#include "paging/page_table.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace hf {

page_table::~page_table() {
    if (fd_ >= 0) ::close(fd_);
}

bool page_table::open() noexcept {
    if (fd_ < 0) fd_ = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    return fd_ >= 0;
}

u64 page_table::read(const std::byte* base, u64 page, u64 count,
                     std::array<u64, 8192>& entries) const noexcept {
    const u64 at = reinterpret_cast<u64>(base) / small_page + page;
    const ssize_t n =
        ::pread(fd_, entries.data(), count * sizeof(u64), static_cast<off_t>(at * sizeof(u64)));
    return static_cast<u64>(std::max<ssize_t>(n, 0)) / sizeof(u64);
}

}  // namespace hf
