#include "plain/working_image.hpp"

#include "paging/differing_lines.hpp"
#include "persist/persist_point.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <string>

namespace hf::plain {
namespace {

constexpr u64 alignment = layout::page_size;

/// Whether the file has the committed bytes, and a private mapping of it shows them.
bool file_has_homes(const region& r) noexcept {
    return !crashes_throw && !r.med().is_atomic() && !r.read_only() && !r.is_volatile();
}

bool is_zero(const std::byte* page) noexcept {
    constexpr std::byte zeros[small_page]{};
    return std::memcmp(page, zeros, small_page) == 0;
}

}  // namespace

result<std::unique_ptr<working_image>> working_image::make(region& r, way best) {
    std::unique_ptr<working_image> image(new working_image);
    if (auto ok = image->map(r); !ok) return tl::unexpected(ok.error());
    image->begin_to_watch(best);
    return image;
}

working_image::~working_image() {
    if (reserved_ != nullptr) ::munmap(reserved_, reserved_bytes_);
}

bool working_image::reserve() noexcept {
    reserved_bytes_ = bytes_ + alignment;
    void* const p = ::mmap(nullptr, reserved_bytes_, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return false;
    reserved_ = p;
    const u64 first = reinterpret_cast<u64>(p);
    base_ = static_cast<std::byte*>(p) + (alignment - first % alignment) % alignment;
    return true;
}

bool working_image::map_piece(const piece& p, const region& r) const noexcept {
    void* const at = base_ + p.begin;
    return ::mmap(at, p.end - p.begin, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, r.descriptor(),
                  static_cast<off_t>(r.offset_of(p.home))) == at;
}

result<void> working_image::map(region& r) {
    for (const segment& s : r.segments()) {
        if (s.kind != segment_kind::memory) continue;
        pieces_.push_back({bytes_, bytes_ + s.bytes(), r.at<std::byte>(s.offset)});
        bytes_ += s.bytes();
    }
    const bool shows_file = file_has_homes(r);
    const bool is_mapped =
        reserve() &&
        (!shows_file || std::ranges::all_of(pieces_, [&](auto& p) { return map_piece(p, r); }));
    if (!is_mapped) {
        return failure({errc::no_space, "map plain memory", r.path().string(),
                        "there is no room for " + std::to_string(bytes_) +
                            " bytes of addresses: " + std::strerror(errno),
                        "raise the limit (ulimit -v), or stop other programs"});
    }
    if (!shows_file) copy_homes();
    return {};
}

/// Pages of zeros are not copied: they take no memory until they are stored to.
void working_image::copy_homes() noexcept {
    for (const piece& p : pieces_) {
        for (u64 at = p.begin; at < p.end; at += small_page) {
            const std::byte* const home = p.home + (at - p.begin);
            if (!is_zero(home)) std::memcpy(base_ + at, home, small_page);
        }
    }
}

void working_image::begin_to_watch(way best) {
    if (best == way::all || bytes_ == 0) return;
    written_ = written_pages::start();
    if (!written_ || !written_->watch(base_, bytes_)) return;
    std::vector<small_page_run> copied;  // by copy_homes(): not stored to by the program
    if (written_->take(base_, 0, bytes_ / small_page, copied)) how_ = way::written;
}

void working_image::list_pages() {
    if (how_ == way::written && lists_all_) {
        lists_all_ = false;  // what the kernel tells it tells once: an exception would lose it
        std::vector<small_page_run> runs;
        if (written_->take(base_, 0, bytes_ / small_page, runs)) {
            for (const small_page_run& r : runs) {
                for (u64 i = 0; i < r.count; ++i) pages_.push_back(r.first + i);
            }
            std::ranges::sort(pages_);
            pages_.erase(std::unique(pages_.begin(), pages_.end()), pages_.end());
            lists_all_ = true;
            return;
        }
        how_ = way::all;
    }
    pages_.resize(bytes_ / small_page);
    std::iota(pages_.begin(), pages_.end(), u64{0});
    lists_all_ = true;
}

std::byte* working_image::home_of(u64 page, const piece*& near) const noexcept {
    const u64 at = page * small_page;
    while (at >= near->end) ++near;
    return near->home + (at - near->begin);
}

std::span<const changed_line> working_image::find_changes() {
    lines_.clear();
    list_pages();
    const piece* near = pieces_.data();
    for (const u64 page : pages_) {
        std::byte* const mine = base_ + page * small_page;
        std::byte* const home = home_of(page, near);
        for (u64 left = differing_lines(mine, home); left != 0; left &= left - 1) {
            const u64 at = line_size * static_cast<u64>(std::countr_zero(left));
            lines_.push_back({mine + at, home + at});
        }
    }
    compared_ += pages_.size();
    return lines_;
}

void working_image::restore() {
    for (const changed_line& l : find_changes()) std::memcpy(l.mine, l.home, line_size);
    settle();
}

std::string_view to_string(working_image::way w) noexcept {
    return w == working_image::way::written ? "written" : "all";
}

}  // namespace hf::plain
