#include "crashlab/model/line.hpp"

#include "base/checksum.hpp"

#include <algorithm>
#include <unordered_set>

namespace hf::lab {

u64 digest_of(u64 line, const line_content& c) noexcept {
    return checksum64(c.bytes.data(), line_size, line);
}

void line_state::apply(line_content& c, const entry& e) const noexcept {
    __builtin_memcpy(c.bytes.data() + e.at, &e.value, e.size);
}

void line_state::add(const event& e, u32 number) {
    if (e.after_barrier) barrier_ = stores_seen();
    u64 needs = 0;
    switch (e.how) {
        case store_kind::release:
            needs = stores_seen();
            break;
        case store_kind::plain:
        case store_kind::relaxed:
        case store_kind::piece:
            needs = barrier_;
            break;
        case store_kind::stream:
        case store_kind::file:
            break;
    }
    entries_.push_back({e.value, number, static_cast<u32>(needs > gone_ ? needs - gone_ : 0),
                        static_cast<u8>(e.where % line_size), e.size, e.how});
}

void line_state::raise_floor(u64 stores) {
    if (stores <= gone_) return;
    const u64 taken = std::min<u64>(stores - gone_, entries_.size());
    for (u64 i = 0; i < taken; ++i) apply(floor_, entries_[i]);
    entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(taken));
    gone_ += taken;
    for (entry& e : entries_) e.needs -= static_cast<u32>(std::min<u64>(e.needs, taken));
}

void line_state::settle(const version& v) {
    floor_ = v.content;
    gone_ += entries_.size();
    entries_.clear();
}

line_content line_state::newest() const {
    line_content c = floor_;
    for (const entry& e : entries_) apply(c, e);
    return c;
}

// The stores after a complete prefix that may be on the medium without their predecessor.
std::vector<u32> line_state::free_behind(u32 prefix) const {
    std::vector<u32> found;
    for (u32 i = prefix + 1; i < visible_entries(); ++i) {
        if (entries_[i].needs <= prefix) found.push_back(i);
    }
    return found;
}

std::vector<version> line_state::versions(u64 line, bool& complete) const {
    std::vector<version> all;
    std::unordered_set<u64> seen;
    const auto take = [&](const line_content& c, u64 stores) {
        const u64 digest = digest_of(line, c);
        if (seen.insert(digest).second) all.push_back({c, digest, stores});
    };
    line_content prefix = floor_;
    const u32 count = visible_entries();
    for (u32 p = 0; p <= count; ++p) {
        if (p > 0) apply(prefix, entries_[p - 1]);
        take(prefix, p);
        const auto free = free_behind(p);
        const auto with = [&](u64 mask) {
            line_content c = prefix;
            u64 stores = p;
            for (u32 i = 0; i < free.size(); ++i) {
                if ((mask >> std::min<u32>(i, 63) & 1) == 0) continue;
                apply(c, entries_[free[i]]);
                ++stores;
            }
            take(c, stores);
        };
        if (free.size() <= most_free) {
            for (u64 mask = 1; mask < (u64{1} << free.size()); ++mask) with(mask);
        } else {
            complete = false;
            with(~u64{0});
            for (u32 i = 0; i < std::min<std::size_t>(free.size(), 63); ++i) {
                with(u64{1} << i);
                with(~(u64{1} << i));
            }
        }
    }
    return all;
}

}  // namespace hf::lab
