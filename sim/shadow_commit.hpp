// sim/shadow_commit.hpp: the second half of shadow_machine.hpp: commits, entries, consolidation.
//
// The labels P1 to P3, T1 to T3 and K1 to K4 are those of shadow/rules.hpp and its siblings.
#pragma once

#include "sim/shadow_machine.hpp"

namespace hf::sim {

template <class Observer>
void shadow_machine<Observer>::commit(unsigned core) {
    core_state& c = cores_[core];
    HF_CHECK(c.is_running, "a core commits without a transaction");
    c.is_running = false;
    ++n_.transactions;
    if (c.pages.empty()) return;
    flush_updated(core);
    if (config_.commits == commit_path::journal) {
        commit_by_journal();
    } else {
        commit_by_super_page();
    }
    // First all of the commit's bits: a consolidation may truncate the journal, which then would
    // lose those that are not in the table yet.
    for (const u32 v : c.pages) settle(core, v);
    for (const u32 v : c.pages) consolidate_if_due(v);
    c.pages.clear();
    if (config_.when == consolidation::lazily) consolidate_oldest();
}

/// P1, but for its fence. Also the commit's changes, and the entries that they name (T2).
template <class Observer>
void shadow_machine<Observer>::flush_updated(unsigned core) {
    changes_.clear();
    for (const u32 v : cores_[core].pages) {
        const page_state& p = pages_[v];
        const shadow::line_set mine = updated_by(core, v);
        for (shadow::line_set left = mine; left != 0; left &= left - 1) {
            const auto line = static_cast<unsigned>(std::countr_zero(left));
            const u64 to = line_number(p.slot[p.bits.write_slot(line)], line);
            caches_.clean(to);
            observer_.flush(to);
            flush(source::data, to, payer::core);
        }
        changes_.push_back(p.bits.change_of(p.index, mine));
    }
    for (const u64 line : new_table_lines_) flush_table_line(line, payer::core);
    new_table_lines_.clear();
}

template <class Observer>
void shadow_machine<Observer>::commit_by_journal() {
    fence(payer::core);  // P1
    append(source::journal);
    fence(payer::core);  // P2
}

/// Writes changes_ as one record, after the others. Its fence is the caller's.
template <class Observer>
void shadow_machine<Observer>::append(source s) {
    const u64 bytes = shadow::record_head_bytes + changes_.size() * config_.journal_record;
    const u64 lines = (bytes + line_size - 1) / line_size;
    HF_CHECK(lines <= config_.journal_lines, "a transaction is larger than the journal");
    if (journal_at_ + lines > config_.journal_lines) truncate();
    observer_.record(journal_at_, sequence_, changes_);
    for (u64 i = 0; i < lines; ++i) flush(s, journal_place() + journal_at_ + i, payer::core);
    journal_at_ += lines;
    sequence_ = shadow::next_sequence(sequence_);
}

/// P3. The new beginning needs no fence of its own: that of the record, which follows, is before
/// anything relies on it. Until then the old records are replayed, onto a table that has them.
template <class Observer>
void shadow_machine<Observer>::truncate() {
    ++n_.truncations;
    for (const u64 line : dirty_table_lines_) {
        flush_table_line(line, payer::core);
        is_dirty_[line] = 0;
    }
    dirty_table_lines_.clear();
    fence(payer::core);
    observer_.journal_begins(sequence_);
    flush(source::journal, journal_place() + config_.journal_lines, payer::core);
    journal_at_ = 0;
    pages_.truncated();
}

/// All lines but the root's are flushed with the data's: one fence, then the root and another.
template <class Observer>
void shadow_machine<Observer>::commit_by_super_page() {
    std::vector<u64> indexes;
    indexes.reserve(changes_.size());
    for (const shadow::page_change& c : changes_) indexes.push_back(c.page);
    std::sort(indexes.begin(), indexes.end());
    const u64 lines = shadow::super_page_lines(indexes, pages_.table_size());
    u64 last = ~u64{0};
    u64 first_level = 0;
    for (const u64 i : indexes) {
        if (i / shadow::bitmaps_per_line == last) continue;
        last = i / shadow::bitmaps_per_line;
        flush(source::journal, super_place() + last, payer::core);
        ++first_level;
    }
    for (u64 i = first_level + 1; i < lines; ++i) {
        flush(source::journal, journal_place() + 1 + i, payer::core);  // higher levels
    }
    fence(payer::core);
    flush(source::journal, journal_place(), payer::core);  // the root
    fence(payer::core);
    pages_.truncated();
}

/// After the durable point: a page's new bits, to the table and to other cores' TLBs.
template <class Observer>
void shadow_machine<Observer>::settle(unsigned core, u64 v) {
    page_state& p = pages_[v];
    p.bits.commit(updated_by(core, v));
    if (!mine_.empty()) mine_[v][core] = 0;
    observer_.table_bits(p.index, p.bits.committed);
    const u64 line = p.index / 2;
    if (config_.commits == commit_path::journal && is_dirty_[line] == 0) {
        is_dirty_[line] = 1;
        dirty_table_lines_.push_back(line);
    }
    for (unsigned c = 0; c < config_.on.cores; ++c) {
        if (c != core && tlbs_.holds(c, v)) send_message();
    }
    if (config_.when == consolidation::lazily) pages_.to_front(v);
}

/// A page whose transaction has ended.
template <class Observer>
void shadow_machine<Observer>::consolidate_if_due(u64 v) {
    page_state& p = pages_[v];
    if (!shadow::may_consolidate(p.bits)) return;
    const bool has_left = p.waits && tlbs_.refs(v) == 0;
    p.waits = false;
    if (has_left) {
        if (config_.when != consolidation::lazily || !p.is_split()) consolidate(v);
    } else if (config_.when == consolidation::immediately) {
        stay_split(v);
    }
}

template <class Observer>
void shadow_machine<Observer>::abort(unsigned core) {
    core_state& c = cores_[core];
    HF_CHECK(c.is_running, "a core aborts without a transaction");
    c.is_running = false;
    ++n_.aborts;
    for (const u32 v : c.pages) {
        page_state& p = pages_[v];
        const shadow::line_set mine = updated_by(core, v);
        n_.rolled_back_lines += static_cast<u64>(std::popcount(mine));
        p.bits.abort(mine);
        if (!mine_.empty()) mine_[v][core] = 0;
        if (p.waits) consolidate_if_due(v);
    }
    c.pages.clear();
}

template <class Observer>
void shadow_machine<Observer>::insert(u64 v) {
    page_state& p = pages_[v];
    p.slot[1] = pages_.take_physical();
    p.index = pages_.take_index();
    p.bits = {};
    ++n_.insertions;
    n_.max_split_pages = std::max(n_.max_split_pages, ++entries_);
    const u64 line = p.index / 2;
    if (line >= is_dirty_.size()) is_dirty_.resize(2 * line + 1);
    observer_.table_entry(p.index, shadow::entry_for(v, p.slot[0], p.slot[1]));  // T1
    if (config_.inserts == insertion::at_first_store) {
        new_table_lines_.push_back(line);  // T2 with the commit's P1
        return;
    }
    flush_table_line(line, payer::core);
    fence(payer::core);  // T2
}

/// From two slots to one. The page has no updated lines.
template <class Observer>
void shadow_machine<Observer>::consolidate(u64 v) {
    const payer who = consolidator();
    page_state& p = pages_[v];
    HF_ASSERT(shadow::may_consolidate(p.bits), "a page with updated lines is consolidated");
    const shadow::consolidation_plan plan = shadow::plan_consolidation(p.bits.committed);
    copy_minority(p, plan, who);
    remove_entry(v, plan, who);
}

template <class Observer>
void shadow_machine<Observer>::copy_minority(const page_state& p,
                                             const shadow::consolidation_plan& plan, payer who) {
    if (plan.to_copy == 0) return;
    ++n_.consolidations;
    expect_copies(p, plan);
    for (shadow::line_set left = plan.to_copy; left != 0; left &= left - 1) {
        const auto line = static_cast<unsigned>(std::countr_zero(left));
        const u64 from = line_number(p.slot[plan.kept ^ 1], line);
        const u64 to = line_number(p.slot[plan.kept], line);
        observer_.copy(from, to);
        observer_.flush(to);
        if (who == payer::core) {
            clock_.accessed(caches_.retag(0, from, to), true);
        } else {
            clock_.in_background(1, 0);
        }
        caches_.clean(to);
        flush(source::consolidation, to, who);
    }
    fence(who);  // K1
}

template <class Observer>
void shadow_machine<Observer>::remove_entry(u64 v, const shadow::consolidation_plan& plan,
                                            payer who) {
    page_state& p = pages_[v];
    if (plan.kept != 0) {
        observer_.map(v, p.slot[plan.kept]);
        flush(source::mapping, mapping_place() + v / 8, who);
        fence(who);  // K2
    }
    observer_.table_entry(p.index, {});
    flush_table_line(p.index / 2, who);
    fence(who);                                   // K3
    pages_.give_physical(p.slot[plan.kept ^ 1]);  // K4
    pages_.retire_index(p.index);
    pages_.unlist(v);
    p.slot[0] = p.slot[plan.kept];
    p.slot[1] = nothing;
    p.index = nothing;
    p.bits = {};
    --entries_;
}

/// consolidation::immediately: the page keeps its entry, and its new bits go through the journal,
/// for older records would be replayed over bits that are stored in the table alone.
template <class Observer>
void shadow_machine<Observer>::stay_split(u64 v) {
    page_state& p = pages_[v];
    const shadow::consolidation_plan plan = shadow::plan_consolidation(p.bits.committed);
    if (plan.to_copy == 0) return;
    const payer who = consolidator();
    copy_minority(p, plan, who);
    if (config_.commits == commit_path::journal) {
        changes_.assign(1, {p.index, ~shadow::line_set{0}, plan.committed});
        append(source::consolidation);
    } else {
        flush(source::consolidation, super_place() + p.index / shadow::bitmaps_per_line,
              payer::core);
        fence(payer::core);
        flush(source::consolidation, journal_place(), payer::core);  // the root
    }
    fence(payer::core);
    p.bits.committed = plan.committed;
    observer_.table_bits(p.index, plan.committed);
}

template <class Observer>
void shadow_machine<Observer>::consolidate_oldest() {
    // Pages with updated lines go to the front: each is passed over once.
    for (u64 tries = pages_.listed(); tries != 0 && pages_.listed() > config_.split_pages;
         --tries) {
        const u32 v = pages_.oldest();
        if (!shadow::may_consolidate(pages_[v].bits)) {
            pages_.to_front(v);
            continue;
        }
        if (tlbs_.refs(v) != 0) {
            ++n_.shootdowns;
            for (unsigned i = tlbs_.drop(v); i != 0; --i) send_message();
        }
        consolidate(v);
    }
}

}  // namespace hf::sim
