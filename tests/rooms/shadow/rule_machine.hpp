// shadow/rule_machine.hpp (tests): the smallest program that keeps pages by the rules, on a medium
// that can be cut off at any step. It breaks one rule on request.
//
// Four pages, ten physical ones, a table of four entries, a journal of six lines. Each line of data
// is one number, in each of its eight words.
#pragma once

#include "shadow/rules.hpp"
#include "shadow/torn_medium.hpp"

#include <array>
#include <optional>
#include <set>
#include <vector>

namespace hf::shadow::testing {

enum class broken {
    nothing,
    old_line_is_not_fetched,    ///< bitmaps.hpp
    store_into_committed_slot,  ///< I1
    updated_page_consolidated,  ///< I3
    no_data_before_record,      ///< P1
    answer_before_record,       ///< P2
    bits_before_record,         ///< P2: the table is changed before the record is durable
    truncated_before_table,     ///< P3
    page_before_slots,          ///< T1
    entry_after_record,         ///< T2
    copies_not_durable,         ///< K1
    removed_before_mapping,     ///< K2
    freed_before_removal,       ///< K4
};

inline constexpr u64 page_count = 4;
inline constexpr u64 physical_count = 10;
inline constexpr u64 journal_lines = 6;
inline constexpr u64 page_table_line = 10'000;
inline constexpr u64 state_table_line = 10'100;
inline constexpr u64 journal_head_line = 10'200;
inline constexpr u64 journal_line = 10'300;

/// The content of all lines of all pages: what a reader sees.
using plain_pages = std::array<std::array<u64, lines_per_page>, page_count>;

[[nodiscard]] constexpr u64 data_line(u64 physical, unsigned line) noexcept {
    return physical * lines_per_page + line;
}

class rule_machine {
   public:
    rule_machine(torn_medium& m, broken b) : m_(m), broken_(b) {
        for (u64 v = 0; v < page_count; ++v) {
            m_.store(page_table_line, static_cast<unsigned>(v), v);
        }
        m_.store(journal_head_line, 0, sequence_);
        m_.flush(page_table_line);
        m_.flush(journal_head_line);
        m_.fence();
        for (u64 p = page_count; p < physical_count; ++p) free_.insert(p);
    }
    [[nodiscard]] u64 load(u64 page, unsigned line) const {
        if (!entries_[page].is_used()) return m_.load(data_line(mapped(page), line))[0];
        return m_.load(data_line(entries_[page].slot[bits_[page].read_slot(line)], line))[0];
    }
    void store(u64 page, unsigned line, unsigned word, u64 value) {
        if (!entries_[page].is_used()) insert(page);
        page_bits& b = bits_[page];
        const unsigned to = broken_ == broken::store_into_committed_slot ? b.committed_slot(line)
                                                                         : b.write_slot(line);
        const u64 target = data_line(entries_[page].slot[to], line);
        if (b.needs_old_line(line) && broken_ != broken::old_line_is_not_fetched) {
            m_.store_line(target,
                          m_.load(data_line(entries_[page].slot[b.committed_slot(line)], line)));
        }
        m_.store(target, word, value);
        b.store(line);
    }
    void commit() {
        std::vector<page_change> changes;
        for (u64 v = 0; v < page_count; ++v) {
            if (bits_[v].updated == 0) continue;
            for (unsigned i = 0; i < lines_per_page; ++i) {
                if ((bits_[v].to_flush() & only(i)) != 0) {
                    m_.flush(data_line(entries_[v].slot[bits_[v].write_slot(i)], i));
                }
            }
            changes.push_back(bits_[v].change(v));
        }
        if (changes.empty()) return;
        if (broken_ != broken::no_data_before_record) m_.fence();  // shadow P1
        if (at_ + record_lines(changes.size()) > journal_lines) truncate();
        if (broken_ == broken::bits_before_record) to_table(changes);
        append(changes);
        if (broken_ != broken::answer_before_record) m_.fence();  // shadow P2
        to_table(changes);
        for (page_bits& b : bits_) b.commit();
    }
    void abort() {
        for (page_bits& b : bits_) b.abort();
    }
    /// False: the page has updated lines, or one slot.
    bool consolidate(u64 page) {
        table_entry& e = entries_[page];
        const page_bits& b = bits_[page];
        if (!e.is_used()) return false;
        if (!may_consolidate(b) && broken_ != broken::updated_page_consolidated) return false;
        truncate();  // no record names the page any more
        const consolidation_plan plan =
            plan_consolidation(b.committed, e.slot[1] == mapped(page) ? 1 : 0);
        for (unsigned i = 0; i < lines_per_page; ++i) {
            if ((plan.to_copy & only(i)) == 0) continue;
            const u64 to = data_line(e.slot[plan.kept], i);
            m_.store_line(to, m_.load(data_line(e.slot[plan.kept ^ 1], i)));
            if (broken_ != broken::copies_not_durable) m_.flush(to);
        }
        m_.fence();  // shadow K1
        if (broken_ == broken::removed_before_mapping) remove(page, e);
        m_.store(page_table_line, static_cast<unsigned>(page), e.slot[plan.kept]);
        m_.flush(page_table_line);
        m_.fence();  // shadow K2
        const u64 other = e.slot[plan.kept ^ 1];
        if (broken_ == broken::freed_before_removal) {
            m_.store_line(data_line(other, 0), {7, 7, 7, 7, 7, 7, 7, 7});  // its next owner
        }
        remove(page, e);
        free_.insert(other);  // shadow K4
        m_.store_line(data_line(other, 0), {7, 7, 7, 7, 7, 7, 7, 7});
        bits_[page] = {};
        e = {};
        return true;
    }

   private:
    [[nodiscard]] u64 mapped(u64 page) const { return m_.load(page_table_line)[page]; }
    static u64 line_of_entry(u64 page) { return state_table_line + page / 2; }
    static unsigned word_of_entry(u64 page) { return static_cast<unsigned>(page % 2 * 4); }

    void insert(u64 page) {
        const u64 spare = *free_.begin();
        free_.erase(free_.begin());
        entries_[page] = entry_for(page, mapped(page), spare);
        const table_entry& e = entries_[page];
        const unsigned w = word_of_entry(page);
        const u64 line = line_of_entry(page);
        if (broken_ == broken::page_before_slots) m_.store(line, w, e.page_plus_one);
        m_.store(line, w + 1, e.slot[0]);
        m_.store(line, w + 2, e.slot[1]);
        m_.store(line, w + 3, e.committed);
        m_.store(line, w, e.page_plus_one);  // shadow T1
        if (broken_ == broken::entry_after_record) return;
        m_.flush(line);
        m_.fence();  // shadow T2
    }
    void remove(u64 page, const table_entry&) {
        m_.store(line_of_entry(page), word_of_entry(page), 0);
        m_.flush(line_of_entry(page));
        m_.fence();  // shadow K3
    }
    void to_table(const std::vector<page_change>& changes) {
        for (const page_change& c : changes) {
            table_entry& e = entries_[c.page];
            e.apply(c);
            m_.store(line_of_entry(c.page), word_of_entry(c.page) + 3, e.committed);
        }
    }
    void append(const std::vector<page_change>& changes) {
        std::vector<std::byte> bytes(record_lines(changes.size()) * line_size);
        write_record(bytes.data(), sequence_, changes);
        for (std::size_t i = 0; i < bytes.size(); i += line_size) {
            line_content content;
            std::memcpy(content.data(), bytes.data() + i, line_size);
            m_.store_line(journal_line + at_, content);
            m_.flush(journal_line + at_);
            ++at_;
        }
        sequence_ = next_sequence(sequence_);
    }
    void truncate() {
        if (broken_ != broken::truncated_before_table) {
            m_.flush(state_table_line);
            m_.flush(state_table_line + 1);
            m_.fence();  // shadow P3
        }
        m_.store(journal_head_line, 0, sequence_);
        m_.flush(journal_head_line);
        m_.fence();
        at_ = 0;
    }

    torn_medium& m_;
    broken broken_;
    std::array<table_entry, page_count> entries_{};
    std::array<page_bits, page_count> bits_{};
    std::set<u64> free_;
    u64 sequence_ = 1;
    u64 at_ = 0;
};

/// The contents that a restart reads; nullopt: an entry cannot be.
[[nodiscard]] inline std::optional<plain_pages> recovered(image left) {
    std::array<table_entry, page_count> table{};
    for (u64 v = 0; v < page_count; ++v) {
        const line_content& l = left[state_table_line + v / 2];
        const unsigned w = static_cast<unsigned>(v % 2 * 4);
        table[v] = {l[w], {l[w + 1], l[w + 2]}, l[w + 3]};
        if (!table[v].is_sane(physical_count)) return std::nullopt;
    }
    std::vector<std::byte> journal(journal_lines * line_size);
    for (u64 i = 0; i < journal_lines; ++i) {
        std::memcpy(journal.data() + i * line_size, left[journal_line + i].data(), line_size);
    }
    replay_into(table, journal, left[journal_head_line][0]);
    plain_pages pages{};
    for (u64 v = 0; v < page_count; ++v) {
        for (unsigned i = 0; i < lines_per_page; ++i) {
            const u64 in = table[v].is_used() ? table[v].committed_in(i) : left[page_table_line][v];
            u64 sum = 0;
            for (const u64 word : left[data_line(in, i)]) sum = sum * 31 + word;
            pages[v][i] = sum;
        }
    }
    return pages;
}

}  // namespace hf::shadow::testing
