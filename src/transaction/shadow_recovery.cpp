#include "transaction/shadow_recovery.hpp"

#include "persist/ordered.hpp"
#include "persist/persist_point.hpp"
#include "transaction/commit_record.hpp"
#include "transaction/shadow_slots.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hf {
namespace {

using shadow::line_set;
using word = std::atomic<u64>;

result<void> refuse_table(const region& r, u64 at, std::string why) {
    return failure({errc::corrupt, "recover the second slots of pages",
                    r.path().string() + " at offset " + std::to_string(at), std::move(why),
                    "restore the file from a backup"});
}

template <class F>
void each_bit(line_set lines, F&& f) {
    for (; lines != 0; lines &= lines - 1) f(static_cast<unsigned>(std::countr_zero(lines)));
}

word* line_at(const region& r, u64 page, unsigned line) {
    return r.at<word>(page * shadow::page_size + line * line_size);
}

// ---------------------------------------------------------------------------- which records count

/// Drops the last record of a log whose lines are not on the medium.
class doubts {
   public:
    doubts(const region& r, std::vector<record_view>& records) : region_(r), records_(records) {}

    void settle() {
        for (u64 i = 0; i < records_.size(); ++i) {
            if (!records_[i].is_last || lines_sum_of(records_[i]) == no_lines_sum) continue;
            doubtful_.push_back(i);
            for (const record_page& p : pages_of(records_[i])) {
                by_page_.emplace(p.change.page, i);
            }
        }
        if (doubtful_.empty()) return;
        for (const record_view& v : records_) find_those_before(v);
        std::erase_if(doubtful_, [&](u64 i) { return is_whole(records_[i]); });
        for (const u64 i : doubtful_) records_[i].bytes = 0;
        std::erase_if(records_, [](const record_view& v) { return v.bytes == 0; });
    }

   private:
    /// Those that were durable when this one was begun.
    void find_those_before(const record_view& v) {
        for (const record_page& p : pages_of(v)) {
            const auto [from, to] = by_page_.equal_range(p.change.page);
            for (auto each = from; each != to; ++each) {
                record_view& other = records_[each->second];
                if (other.header.version >= v.header.version) continue;
                for (const record_page& q : pages_of(other)) {
                    const bool same = q.change.page == p.change.page;
                    if (same && (q.change.mask & p.change.mask) != 0) other.is_last = false;
                }
            }
        }
    }
    [[nodiscard]] bool is_whole(const record_view& v) const {
        if (!v.is_last) return true;
        lines_sum sum;
        for (const record_page& p : pages_of(v)) {
            each_bit(p.change.mask, [&](unsigned line) {
                const bool in_slot = (p.change.value >> line & 1) != 0;
                const u64 page = in_slot ? p.slot : p.change.page;
                sum.add(line_at(region_, page, line));
            });
        }
        return sum.value() == lines_sum_of(v);
    }

    const region& region_;
    std::vector<record_view>& records_;
    std::vector<u64> doubtful_;
    std::unordered_multimap<u64, u64> by_page_;
};

// -------------------------------------------------------------------------------------- the table

struct used_slot {
    slot_entry* entry = nullptr;
    u64 number = 0;
    u64 page = shadow_slots::no_page;
    line_set committed = 0;
    u64 page_read = shadow_slots::no_page;  ///< as the entry says
    line_set named = 0;                     ///< lines of that page that records name
};

/// The table as it is, then as the records leave it.
class slot_table {
   public:
    explicit slot_table(const region& r) : region_(r) {}

    result<void> read() {
        for (const segment& s : region_.segments()) {
            if (s.kind != segment_kind::slots) continue;
            const slot_segment lies(s);
            for (u64 i = 0; i < lies.slots(); ++i) {
                if (auto ok = read_entry(lies, i); !ok) return ok;
            }
        }
        return {};
    }
    result<void> apply(const record_view& v) {
        for (const record_page& p : pages_of(v)) {
            const auto found = slots_.find(p.slot);
            if (found == slots_.end()) {
                return refuse_table(region_, v.at,
                                    "the record names a page as a slot that is none");
            }
            used_slot& s = found->second;
            if (s.page_read == p.change.page) s.named |= p.change.mask;
            if (s.page != p.change.page) {
                s.page = p.change.page;
                s.committed = 0;
            }
            s.committed = p.change.applied_to(s.committed);
        }
        return {};
    }
    result<void> check() const {
        std::unordered_map<u64, u64> seen;
        for (const auto& [number, s] : slots_) {
            if (s.page_read != shadow_slots::no_page && is_damaged(s)) {
                return refuse_table(region_, region_.offset_of(s.entry),
                                    "the committed bits of a page contradict their copy");
            }
            if (s.committed == 0) continue;
            if (!seen.emplace(s.page, number).second) {
                return refuse_table(region_, region_.offset_of(s.entry),
                                    "a page has two second slots");
            }
        }
        return {};
    }
    /// Calls f(slot) for each that holds committed lines.
    template <class F>
    void each(F&& f) const {
        for (const auto& [number, s] : slots_) {
            if (s.committed != 0) f(s);
        }
    }
    /// Frees all entries. The caller fences. One that is free may be so in the caches alone,
    /// as a process that was killed has left it: every entry that was ever used is flushed.
    void clear() const {
        for (const auto& [number, s] : slots_) {
            if (s.entry->slot.load(std::memory_order_relaxed) == 0) continue;
            s.entry->name.store(0, std::memory_order_release);
            region_.med().flush_line(s.entry);
        }
    }

   private:
    /// SS5 of shadow_slots.hpp.
    static bool is_damaged(const used_slot& s) noexcept {
        const line_set committed = s.entry->committed.load(std::memory_order_relaxed);
        const line_set copy = s.entry->copy.load(std::memory_order_relaxed);
        return shadow::unexplained(committed, copy, s.named) != 0;
    }
    result<void> read_entry(const slot_segment& lies, u64 i) {
        used_slot s{region_.at<slot_entry>(lies.entry_at(i)), lies.slot_at(i) / shadow::page_size};
        if (const u64 name = s.entry->name.load(std::memory_order_acquire); name != 0) {
            const std::optional<u64> page = shadow::page_of_name(name, s.number);
            const bool fits = page && *page >= layout::page_size / shadow::page_size &&
                              *page < region_.size() / shadow::page_size &&
                              s.entry->slot.load(std::memory_order_relaxed) == s.number;
            if (!fits) {
                return refuse_table(region_, lies.entry_at(i),
                                    "the table of second slots is damaged there");
            }
            s.page = s.page_read = *page;
            s.committed = s.entry->committed.load(std::memory_order_acquire);
        }
        slots_.emplace(s.number, s);
        return {};
    }

    const region& region_;
    std::unordered_map<u64, used_slot> slots_;
};

// ------------------------------------------------------------------------------------- bringing
// home

/// SR1: makes all records, and the lines they refer to, durable before any line is copied home.
void make_durable(const region& r, const std::vector<record_view>& records,
                  const slot_table& table) {
    for (const record_view& v : records) {
        each_piece(v, [&](u64 at, u64 bytes) { r.med().flush(r.at<const std::byte>(at), bytes); });
        if (!v.is_last) continue;
        for (const record_page& p : pages_of(v)) {
            each_bit(p.change.mask & ~p.change.value,
                     [&](unsigned line) { r.med().flush_line(line_at(r, p.change.page, line)); });
        }
    }
    table.each([&](const used_slot& s) {
        each_bit(s.committed, [&](unsigned i) { r.med().flush_line(line_at(r, s.number, i)); });
    });
    r.med().fence();
    HF_PERSIST_POINT("transaction SR1: what counts is durable before a line is brought home");
}

void bring_home(const region& r, const slot_table& table) {
    table.each([&](const used_slot& s) {
        each_bit(s.committed, [&](unsigned line) {
            word* const to = line_at(r, s.page, line);
            const word* const from = line_at(r, s.number, line);
            for (unsigned i = 0; i < 8; ++i) {
                ordered_store(to[i], from[i].load(std::memory_order_relaxed));
            }
            r.med().flush_line(to);
        });
    });
}

/// Words of fresh blocks that records hold, of lines that no later record has written elsewhere.
/// The newest record first, so that the lines seen so far are those of later records.
void place_fresh(const region& r, const std::vector<record_view>& records) {
    std::unordered_map<u64, line_set> later;
    late_flushes flushes(r);
    for (auto v = records.rbegin(); v != records.rend(); ++v) {
        for (const record_page& p : pages_of(*v)) later[p.change.page] |= p.change.mask;
        each_line_of(r, *v, [&](u64 line, u8 mask, const u64* words) {
            const auto found = later.find(line / shadow::lines_per_page);
            if (found != later.end() && (found->second >> line % shadow::lines_per_page & 1) != 0) {
                return;
            }
            word* const place = r.at<word>(line * line_size);
            each_word(mask, [&](unsigned i) { ordered_store(place[i], *words++); });
            flushes.add(line);
        });
    }
    flushes.finish();
}

}  // namespace

result<applied_records> recover_shadow(region& r, u64 epoch) {
    auto found = read_records(r, epoch);
    if (!found) return tl::unexpected(found.error());
    slot_table table(r);
    if (auto ok = table.read(); !ok) return tl::unexpected(ok.error());
    doubts(r, *found).settle();
    std::vector<committed::word_change> changes;
    applied_records sum;
    for (const record_view& v : *found) {
        if (kind_of(v.header) != record_kind::shadow) {
            return tl::unexpected(
                refuse_table(r, v.at, "it is a record of another engine").error());
        }
        if (auto ok = table.apply(v); !ok) return tl::unexpected(ok.error());
        read_changes(v, changes);
        ++sum.records;
        sum.bytes += v.bytes;
    }
    if (auto ok = table.check(); !ok) return tl::unexpected(ok.error());
    make_durable(r, *found, table);
    if (auto ok = committed::reapply(r, changes); !ok) return tl::unexpected(ok.error());
    bring_home(r, table);
    place_fresh(r, *found);
    r.med().fence();
    HF_PERSIST_POINT("transaction SR2: homes are durable before the table is cleared");
    table.clear();
    r.med().fence();
    HF_PERSIST_POINT("transaction SR3: the table is clear before the session begins");
    return sum;
}

}  // namespace hf
