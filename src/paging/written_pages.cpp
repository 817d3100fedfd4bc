#include "paging/written_pages.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace hf {

namespace {

// See userfaultfd(2), and Documentation/admin-guide/mm/pagemap.rst.
constexpr int user_mode_only = 1;
constexpr u64 feature_wp_unpopulated = u64{1} << 13;
constexpr u64 feature_wp_async = u64{1} << 15;

constexpr u64 page_is_written = u64{1} << 1;
constexpr u64 page_is_file = u64{1} << 2;
constexpr u64 page_is_present = u64{1} << 3;
constexpr u64 page_is_swapped = u64{1} << 4;

constexpr u64 protect_matching = u64{1} << 0;
constexpr u64 check_asynchronous = u64{1} << 1;

struct scanned_run {
    u64 start;  ///< addresses
    u64 end;
    u64 categories;
};

struct scan_argument {
    u64 size;
    u64 flags;
    u64 start;
    u64 end;
    u64 walk_end;
    u64 vec;
    u64 vec_len;
    u64 max_pages;
    u64 category_inverted;
    u64 category_mask;
    u64 category_anyof_mask;
    u64 return_mask;
};
static_assert(sizeof(scan_argument) == 96);

const unsigned long pagemap_scan = _IOWR('f', 16, scan_argument);

}  // namespace

std::unique_ptr<written_pages> written_pages::start() {
    std::unique_ptr<written_pages> made(new written_pages);
    return made->begin() && made->works() ? std::move(made) : nullptr;
}

bool written_pages::begin() noexcept {
    uffd_ = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | user_mode_only));
    if (!page_table_.open()) return false;
    uffdio_api api{};
    api.api = UFFD_API;
    api.features = feature_wp_async | feature_wp_unpopulated;
    return ::ioctl(uffd_, UFFDIO_API, &api) == 0;
}

written_pages::~written_pages() {
    if (uffd_ >= 0) ::close(uffd_);
}

/// Tests the mechanism on a page: a kernel may accept the calls and still not work as documented.
bool written_pages::works() {
    void* p =
        ::mmap(nullptr, small_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return false;
    auto* const page = static_cast<std::byte*>(p);
    volatile std::byte& stored = *page;
    const auto seen = [&] {
        std::vector<small_page_run> found;
        return take(page, 0, 1, found) ? found.size() : ~std::size_t{0};
    };
    bool right = watch(page, small_page) && seen() == 0;
    for (const int value : {1, 2}) {
        stored = static_cast<std::byte>(value);
        right = right && seen() == 1 && seen() == 0;
    }
    ::munmap(p, small_page);
    return right;
}

bool written_pages::watch(const std::byte* p, u64 bytes) noexcept {
    uffdio_register what{};
    what.range = {reinterpret_cast<u64>(p), bytes};
    what.mode = UFFDIO_REGISTER_MODE_WP;
    return ::ioctl(uffd_, UFFDIO_REGISTER, &what) == 0;
}

template <class Visit>
bool written_pages::scan(const std::byte* base, u64 first, u64 end, u64 flags, Visit visit) const {
    std::array<scanned_run, 256> runs;
    const u64 origin = reinterpret_cast<u64>(base);
    scan_argument a{};
    a.size = sizeof a;
    a.flags = flags;
    a.start = origin + first * small_page;
    a.end = origin + end * small_page;
    a.vec = reinterpret_cast<u64>(runs.data());
    a.vec_len = runs.size();
    a.category_inverted = page_is_file;
    a.category_mask = page_is_written | page_is_file;
    a.category_anyof_mask = page_is_present | page_is_swapped;
    a.return_mask = page_is_written;
    while (a.start < a.end) {
        const int n = ::ioctl(page_table_.get(), pagemap_scan, &a);
        if (n < 0) return false;
        for (int i = 0; i < n; ++i) {
            const scanned_run& r = runs[static_cast<std::size_t>(i)];
            visit(small_page_run{(r.start - origin) / small_page, (r.end - r.start) / small_page});
        }
        if (a.walk_end <= a.start) return false;
        a.start = a.walk_end;
    }
    return true;
}

bool written_pages::take(const std::byte* base, u64 first, u64 end,
                         std::vector<small_page_run>& found) {
    return scan(base, first, end, protect_matching | check_asynchronous,
                [&found](const small_page_run& r) { found.push_back(r); });
}

std::optional<u64> written_pages::count(const std::byte* base, u64 first, u64 end, u64 most) const {
    constexpr u64 at_once = 1 << 16;  // pages per call, so that counting stops early after `most`
    u64 n = 0;
    for (u64 at = first; at < end && n < most; at += at_once) {
        const bool told = scan(base, at, std::min(end, at + at_once), check_asynchronous,
                               [&n](const small_page_run& r) { n += r.count; });
        if (!told) return std::nullopt;
    }
    return n;
}

}  // namespace hf
