// sim/medium_observer.hpp (tests): gives a simulated machine contents on a medium whose power can
// be cut, and can leave out one kind of flush or fence.
#pragma once

#include "shadow/torn_medium.hpp"
#include "sim/shadow_machine.hpp"

#include <cstring>
#include <optional>
#include <vector>

namespace hf::sim::testing {

using shadow::testing::image;
using shadow::testing::line_content;
using shadow::testing::torn_medium;

/// Lines beyond the physical pages.
inline constexpr u64 table_line = 1'000'000;
inline constexpr u64 journal_line = 2'000'000;
inline constexpr u64 head_line = 3'000'000;
inline constexpr u64 map_line = 4'000'000;
inline constexpr u64 table_indexes = 256;

/// The flush or fence that a machine leaves out.
enum class missing {
    nothing,
    old_line,  ///< the first store's fetch
    flush_of_data,
    flush_of_copies,
    flush_of_entries,    ///< insertion, removal, truncation
    fence_after_data,    ///< P1
    fence_after_record,  ///< P2
    fence_after_copies,  ///< K1
    fence_after_table,   ///< T2, K3, P3
    fence_after_map,     ///< K2
    flush_of_head,       ///< where the journal begins
    map,
};

/// Copied into the machine: refers to what outlives both.
class medium_observer {
   public:
    medium_observer(torn_medium& m, const u64& value, missing what)
        : m_(&m), value_(&value), missing_(what) {}

    void fetch(u64 from, u64 to) {
        if (missing_ != missing::old_line) m_->store_line(to, m_->load(from));
    }
    void write(u64 line, u64 address) {
        m_->store(line, static_cast<unsigned>(address / 8 % 8), *value_);
    }
    void copy(u64 from, u64 to) {
        m_->store_line(to, m_->load(from));
        copied_ = to;
    }
    void flush(u64 line) {
        const bool is_copy = copied_ == line;
        copied_.reset();
        last_ = is_copy ? missing::fence_after_copies : missing::fence_after_data;
        if (missing_ == (is_copy ? missing::flush_of_copies : missing::flush_of_data)) return;
        m_->flush(line);
    }
    void fence() {
        if (missing_ != last_) m_->fence();
    }
    void record(u64 at, u64 sequence, std::span<const shadow::page_change> changes) {
        std::vector<std::byte> bytes(shadow::record_lines(changes.size()) * line_size);
        shadow::write_record(bytes.data(), sequence, changes);
        for (std::size_t i = 0; i < bytes.size() / line_size; ++i) {
            line_content content;
            std::memcpy(content.data(), bytes.data() + i * line_size, line_size);
            m_->store_line(journal_line + at + i, content);
            m_->flush(journal_line + at + i);
        }
        last_ = missing::fence_after_record;
    }
    void journal_begins(u64 sequence) {
        m_->store(head_line, 0, sequence);
        if (missing_ != missing::flush_of_head) m_->flush(head_line);
    }
    void table_entry(u64 index, const shadow::table_entry& e) {
        const u64 line = table_line + index / 2;
        const auto w = static_cast<unsigned>(index % 2 * 4);
        if (e.is_used()) {
            m_->store(line, w + 1, e.slot[0]);
            m_->store(line, w + 2, e.slot[1]);
            m_->store(line, w + 3, e.committed);
        }
        m_->store(line, w, e.page_plus_one);
    }
    void table_bits(u64 index, shadow::line_set committed) {
        m_->store(table_line + index / 2, static_cast<unsigned>(index % 2 * 4 + 3), committed);
    }
    void flush_table(u64 line) {
        // The flush of new entries belongs to the commit's fence P1.
        if (last_ != missing::fence_after_data) last_ = missing::fence_after_table;
        if (missing_ != missing::flush_of_entries) m_->flush(table_line + line);
    }
    void map(u64 page, u64 physical) {
        last_ = missing::fence_after_map;
        if (missing_ == missing::map) return;
        m_->store(map_line + page / 8, static_cast<unsigned>(page % 8), physical + 1);
        m_->flush(map_line + page / 8);
    }
    [[nodiscard]] torn_medium& medium() const { return *m_; }

   private:
    torn_medium* m_;
    const u64* value_;
    missing missing_;
    missing last_ = missing::nothing;  ///< what the next fence is for
    std::optional<u64> copied_;
};

/// The state table of an image, after the replay of its journal.
[[nodiscard]] inline std::vector<shadow::table_entry> recovered_table(image& left,
                                                                      u64 journal_lines) {
    std::vector<shadow::table_entry> table(table_indexes);
    for (u64 i = 0; i < table_indexes; ++i) {
        const line_content& l = left[table_line + i / 2];
        const std::size_t w = i % 2 * 4;
        table[i] = {l[w], {l[w + 1], l[w + 2]}, l[w + 3]};
    }
    std::vector<std::byte> journal(journal_lines * line_size);
    for (u64 i = 0; i < journal_lines; ++i) {
        std::memcpy(journal.data() + i * line_size, left[journal_line + i].data(), line_size);
    }
    shadow::replay_into(table, journal, left[head_line][0]);
    return table;
}

/// The lines of all pages as a restart finds them, by (page, line).
[[nodiscard]] inline std::map<std::pair<u64, unsigned>, line_content> recovered_lines(
    image left, u64 pages, u64 journal_lines) {
    const auto table = recovered_table(left, journal_lines);
    std::map<std::pair<u64, unsigned>, line_content> found;
    for (u64 v = 0; v < pages; ++v) {
        const u64 mapped = left[map_line + v / 8][v % 8];
        const u64 home = mapped == 0 ? v : mapped - 1;
        const shadow::table_entry* entry = nullptr;
        for (const auto& e : table) {
            if (e.is_used() && e.page() == v) entry = &e;
        }
        for (unsigned i = 0; i < shadow::lines_per_page; ++i) {
            const u64 in = entry == nullptr ? home : entry->committed_in(i);
            const line_content l = left[in * shadow::lines_per_page + i];
            if (l != line_content{}) found[{v, i}] = l;
        }
    }
    return found;
}

}  // namespace hf::sim::testing
