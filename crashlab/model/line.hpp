// model/line.hpp: the possible contents of one cache line on the medium after a crash (PCSO, Cohen
// et al., section 2.1).
//
// Model. A line has a floor, the content that has certainly reached the medium, and a list of later
// stores. After a crash it contains the floor and any DOWNWARD CLOSED subset of the list, in
// program order:
//
//   release store   requires every earlier store (PCSO: stores to one line keep their order)
//   plain, relaxed  requires those before its thread's last compiler barrier: a compiler may hoist
//                   it up to there, and merge it with its neighbours
//   piece           of a store wider than 8 bytes: as plain
//   stream, file    bypasses the caches: no store requires it and it requires none, until fenced or
//                   synced
//
// A flush captures the current list; the same thread's later fence raises the floor to it.
// Most lists are chains of release stores, with n + 1 contents for n stores. A window of w
// reorderable stores (a copied object) has 2^w: beyond `most_free` of them only none,
// all, single ones and all but one are included, and versions() reports that some are missing.
#pragma once

#include "base/bits.hpp"
#include "crashlab/trace/event.hpp"

#include <array>
#include <cstring>
#include <vector>

namespace hf::lab {

struct line_content {
    alignas(line_size) std::array<u8, line_size> bytes{};

    friend bool operator==(const line_content& a, const line_content& b) noexcept {
        return std::memcmp(a.bytes.data(), b.bytes.data(), line_size) == 0;
    }
};

[[nodiscard]] u64 digest_of(u64 line, const line_content& c) noexcept;

/// One possible content of a line.
struct version {
    line_content content;
    u64 digest = 0;  ///< of line number and content
    u64 stores = 0;  ///< number of stores of the list that it includes
};

class line_state {
   public:
    /// A store of the list. `needs`: number of stores of the list that it requires.
    struct entry {
        u64 value;
        u32 event;  ///< number in the trace
        u32 needs;
        u8 at;  ///< byte in the line
        u8 size;
        store_kind how;
    };

    explicit line_state(const line_content& floor) : floor_(floor) {}

    void add(const event& e, u32 number);
    /// Everything up to the store with this number (as counted by stores_seen()) is durable.
    void raise_floor(u64 stores);
    /// The line has exactly this content.
    void settle(const version& v);
    /// From now on only stores up to this number can be on the medium: no evictions.
    void limit(u64 stores) noexcept { visible_ = stores; }

    /// Treats every store as durable, as a running program sees it.
    void settle_newest() { settle({newest(), 0, 0}); }
    /// Later stores cannot be reordered before the present ones, because another process makes
    /// them.
    void pass_barrier() noexcept { barrier_ = stores_seen(); }

    /// After a crash: removes stores that could not be on the medium.
    void forget_hidden() { entries_.resize(visible_entries(), {}); }

    [[nodiscard]] u64 stores_seen() const noexcept { return gone_ + entries_.size(); }
    [[nodiscard]] bool is_sure() const noexcept { return visible_entries() == 0; }
    [[nodiscard]] const line_content& floor() const noexcept { return floor_; }
    [[nodiscard]] line_content newest() const;
    [[nodiscard]] const std::vector<entry>& entries() const noexcept { return entries_; }

    /// All contents, the floor first, each once; `complete` is false if some were left out.
    [[nodiscard]] std::vector<version> versions(u64 line, bool& complete) const;

   private:
    static constexpr unsigned most_free = 5;

    void apply(line_content& c, const entry& e) const noexcept;
    [[nodiscard]] std::vector<u32> free_behind(u32 prefix) const;
    [[nodiscard]] u32 visible_entries() const noexcept {
        const u64 most = visible_ > gone_ ? visible_ - gone_ : 0;
        return static_cast<u32>(most < entries_.size() ? most : entries_.size());
    }

    line_content floor_;
    u64 gone_ = 0;  ///< number of stores included in the floor
    u64 visible_ = ~u64{0};
    u64 barrier_ = 0;  ///< stores before the last barrier, as counted by stores_seen()
    std::vector<entry> entries_;
};

}  // namespace hf::lab
