// sim/shadow_machine.hpp: a processor with optimised shadow paging (docs/shadow_paging.md).
//
// Purpose. Counts what the paper's hardware would flush, miss and wait for, access by access:
//
//     sim::shadow_machine<> m({}, pages);
//     m.begin(0); m.store(0, address, 8); m.commit(0);
//     m.numbers().flushed(sim::source::consolidation);
//
// The bits, records and consolidations are those of shadow/rules.hpp. Their orders are kept, and an
// observer sees them (observer.hpp): tests run the rules' recovery at every step.
//
// Invariants, beside the rules' own.
//   sim I1  A page has an entry in the state table if and only if it has two slots.
//   sim I2  consolidation::at_eviction: a page that no TLB holds has one slot, unless it waits for
//           the end of a transaction that updated it (page_state::waits).
//   sim I3  The table's indexes of live entries are different, and not named by records that were
//           written for another entry since the last truncation.
//
// Several cores have TLBs and caches of their own and share everything else. Committed bits are
// coherent: a commit sends the new bits to each other core whose TLB holds the page. A line is
// updated by one running transaction at most; an access of another core to it is refused.
//
// Bad input. Addresses beyond `pages` and more than max_cores cores end the process (HF_CHECK).
//
// Literature. shadow/rules.hpp.
#pragma once

#include "base/check.hpp"
#include "sim/core_clock.hpp"
#include "sim/observer.hpp"
#include "sim/page_space.hpp"
#include "sim/sink.hpp"
#include "sim/wear.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace hf::sim {

template <class Observer = no_observer>
class shadow_machine final : public sink {
   public:
    shadow_machine(const shadow_config& c, u64 pages, Observer observer = {})
        : config_(c),
          pages_(pages),
          tlbs_(c.on),
          caches_(c.on),
          clock_(c.on.takes),
          observer_(std::move(observer)) {
        if (c.on.cores > 1) mine_.resize(pages);
        observer_.journal_begins(sequence_);
        observer_.fence();
    }

    bool load(unsigned core, u64 address, unsigned bytes) override {
        return each_line(address, bytes, [&](u64 at) { return load_line(core, at); });
    }
    bool store(unsigned core, u64 address, unsigned bytes) override {
        return each_line(address, bytes, [&](u64 at) { return store_line(core, at); });
    }
    void begin(unsigned core) override {
        HF_CHECK(!cores_[core].is_running, "a core begins a transaction within another");
        cores_[core].is_running = true;
    }
    void commit(unsigned core) override;
    void abort(unsigned core) override;
    /// The state of its page comes from memory first, and some calls later what that leads to.
    void expect(unsigned core, u64 address) override {
        if (is_persistent(address) && address / shadow::page_size < pages_.size()) {
            __builtin_prefetch(&pages_[address / shadow::page_size], 1);
        }
        const std::size_t at = expected_at_++ % expected_.size();
        std::swap(address, expected_[at]);
        expect_consolidation(leaving_[at]);
        leaving_[at] = none_leaves;
        if (!is_persistent(address) || address / shadow::page_size >= pages_.size()) return;
        const page_state& p = pages_[address / shadow::page_size];
        const unsigned line = line_in_page(address);
        caches_.expect(core, line_number(p.slot[0], line));
        if (p.has_entry()) caches_.expect(core, line_number(p.slot[1], line));
        const u64 out = tlbs_.expect(core, address / shadow::page_size);
        if (out >= pages_.size()) return;
        __builtin_prefetch(&pages_[out], 1);
        leaving_[at] = out;
    }
    void shootdown(u64 address) override {
        ++n_.shootdowns;
        for (unsigned i = tlbs_.drop(page_of(address)); i != 0; --i) send_message();
        leave_tlb();
    }

    /// The physical line that a load of this core reads.
    [[nodiscard]] u64 line_of(unsigned core, u64 address) const {
        const page_state& p = pages_[address / shadow::page_size];
        const unsigned line = line_in_page(address);
        const bool own = (updated_by(core, address / shadow::page_size) & shadow::only(line)) != 0;
        return line_number(p.slot[p.bits.committed_slot(line) ^ unsigned{own}], line);
    }
    [[nodiscard]] const page_state& page(u64 number) const { return pages_[number]; }
    [[nodiscard]] unsigned tlb_refs(u64 number) const { return tlbs_.refs(number); }
    [[nodiscard]] counters numbers() const {
        counters n = n_;
        n.write_backs = caches_.write_backs() - write_backs_before_;
        clock_.add_to(n);
        return n;
    }
    [[nodiscard]] wear_summary wear_of_lines() { return wear_.summary(); }
    [[nodiscard]] u64 entries() const noexcept { return entries_; }
    [[nodiscard]] Observer& observer() noexcept { return observer_; }
    /// Counts from here on; the machine stays as it is.
    void reset_numbers() {
        n_ = {};
        clock_.reset();
        n_.max_split_pages = entries_;
        write_backs_before_ = caches_.write_backs();
        wear_.clear();
    }

   private:
    struct core_state {
        bool is_running = false;
        std::vector<u32> pages;  ///< that its transaction has updated
    };
    static constexpr u64 none_leaves = ~u64{0};
    /// The page may leave the last TLB before long; its state is in the caches by now.
    void expect_consolidation(u64 v) const {
        if (v >= pages_.size() || config_.when != consolidation::at_eviction) return;
        const page_state& p = pages_[v];
        if (!p.has_entry()) return;
        const shadow::consolidation_plan plan = shadow::plan_consolidation(p.bits.committed);
        expect_copies(p, plan);
    }
    /// The copies of these lines follow.
    void expect_copies(const page_state& p, const shadow::consolidation_plan& plan) const {
        for (shadow::line_set left = plan.to_copy; left != 0; left &= left - 1) {
            const auto line = static_cast<unsigned>(std::countr_zero(left));
            caches_.expect(0, line_number(p.slot[plan.kept ^ 1], line));
            caches_.expect(0, line_number(p.slot[plan.kept], line));
        }
    }
    /// Of one commit or consolidation: who pays for its flushes.
    enum class payer : u8 { core, background };

    static unsigned line_in_page(u64 address) noexcept {
        return static_cast<unsigned>(address / line_size % shadow::lines_per_page);
    }
    static u64 line_number(u64 physical, unsigned line) noexcept {
        return physical * shadow::lines_per_page + line;
    }
    /// As TLBs count pages: volatile ones come after the persistent ones.
    [[nodiscard]] u64 page_of(u64 address) const noexcept {
        if (is_persistent(address)) return address / shadow::page_size;
        return pages_.size() + (address - volatile_memory) / shadow::page_size;
    }
    template <class F>
    static bool each_line(u64 address, unsigned bytes, F&& f) {
        const u64 last = (address + bytes - 1) / line_size;
        for (u64 at = address; at / line_size <= last; at = (at / line_size + 1) * line_size) {
            if (!f(at)) return false;
        }
        return true;
    }
    [[nodiscard]] shadow::line_set updated_by(unsigned core, u64 v) const {
        return mine_.empty() ? pages_[v].bits.updated : mine_[v][core];
    }
    /// Whether another core's transaction has updated the line.
    [[nodiscard]] bool is_foreign(unsigned core, u64 v, unsigned line) const {
        if (mine_.empty()) return false;
        return ((pages_[v].bits.updated & ~mine_[v][core]) & shadow::only(line)) != 0;
    }

    // accesses
    bool load_line(unsigned core, u64 address);
    bool store_line(unsigned core, u64 address);
    bool transactional_store(unsigned core, u64 address, u64 v);
    void translate(unsigned core, u64 page, bool is_load);
    void leave_tlb();

    // commit (shadow_commit.hpp)
    void flush_updated(unsigned core);
    void commit_by_journal();
    void commit_by_super_page();
    void append(source s);
    void truncate();
    void settle(unsigned core, u64 v);
    void consolidate_if_due(u64 v);

    // entries and consolidation (shadow_commit.hpp)
    void insert(u64 v);
    void consolidate(u64 v);
    void copy_minority(const page_state& p, const shadow::consolidation_plan& plan, payer who);
    void remove_entry(u64 v, const shadow::consolidation_plan& plan, payer who);
    void stay_split(u64 v);
    void consolidate_oldest();

    void flush(source s, u64 line, payer who) {
        ++n_.flushes[static_cast<std::size_t>(s)];
        wear_.write(line);
        if (who == payer::core) {
            clock_.flush();
        } else {
            clock_.in_background(0, 1);
        }
    }
    void fence(payer who) {
        observer_.fence();
        if (who == payer::core) clock_.fence();
    }
    void send_message() {
        ++n_.messages;
        clock_.message();
    }
    void flush_table_line(u64 line, payer who) {
        observer_.flush_table(line);
        flush(source::table, table_place() + line, who);
    }
    // Beyond all spares there can be.
    [[nodiscard]] u64 journal_place() const { return (2 * pages_.size() + 1) * 64; }
    [[nodiscard]] u64 table_place() const { return journal_place() + config_.journal_lines + 64; }
    [[nodiscard]] u64 mapping_place() const { return table_place() + pages_.size() + 64; }
    [[nodiscard]] u64 super_place() const { return mapping_place() + pages_.size() / 8 + 64; }
    [[nodiscard]] payer consolidator() const {
        return config_.in_background ? payer::background : payer::core;
    }

    shadow_config config_;
    page_space pages_;
    tlbs tlbs_;
    caches caches_;
    counters n_;
    core_clock clock_;
    wear wear_;
    Observer observer_;
    std::array<core_state, max_cores> cores_{};
    std::vector<std::array<shadow::line_set, max_cores>> mine_;  ///< only if there are several
    std::vector<shadow::page_change> changes_;  ///< of the running commit; by table index
    std::array<u64, 4> expected_{};
    /// Pages that may leave the last TLB for the expected accesses.
    std::array<u64, 4> leaving_{none_leaves, none_leaves, none_leaves, none_leaves};
    std::size_t expected_at_ = 0;
    std::vector<u64> new_table_lines_;    ///< to be durable before the next record
    std::vector<u64> dirty_table_lines_;  ///< since the last truncation
    std::vector<u8> is_dirty_;            ///< by line of the table
    u64 journal_at_ = 0;
    u64 sequence_ = 1;
    u64 entries_ = 0;
    u64 write_backs_before_ = 0;
};

template <class Observer>
bool shadow_machine<Observer>::load_line(unsigned core, u64 address) {
    ++n_.loads;
    if (!is_persistent(address)) {
        translate(core, page_of(address), true);
        clock_.accessed(caches_.access(core, address / line_size, false), false);
        return true;
    }
    const u64 v = address / shadow::page_size;
    HF_CHECK(v < pages_.size(), "an access beyond the simulated memory");
    if (is_foreign(core, v, line_in_page(address))) return ++n_.conflicts, false;
    translate(core, v, true);
    clock_.accessed(caches_.access(core, line_of(core, address), false), true);
    return true;
}

template <class Observer>
bool shadow_machine<Observer>::store_line(unsigned core, u64 address) {
    ++n_.stores;
    if (!is_persistent(address)) {
        translate(core, page_of(address), false);
        clock_.accessed(caches_.access(core, address / line_size, true), false);
        return true;
    }
    const u64 v = address / shadow::page_size;
    HF_CHECK(v < pages_.size(), "an access beyond the simulated memory");
    if (is_foreign(core, v, line_in_page(address))) return ++n_.conflicts, false;
    translate(core, v, false);
    if (cores_[core].is_running) return transactional_store(core, address, v);
    ++n_.unprotected_stores;
    const u64 line = line_of(core, address);
    observer_.write(line, address);
    clock_.accessed(caches_.access(core, line, true), true);
    return true;
}

template <class Observer>
bool shadow_machine<Observer>::transactional_store(unsigned core, u64 address, u64 v) {
    ++n_.transactional_stores;
    if (!pages_[v].has_entry()) insert(v);
    page_state& p = pages_[v];
    const unsigned line = line_in_page(address);
    const u64 to = line_number(p.slot[p.bits.write_slot(line)], line);
    if (updated_by(core, v) == 0) cores_[core].pages.push_back(static_cast<u32>(v));
    if (p.bits.needs_old_line(line)) {
        const u64 from = line_number(p.slot[p.bits.committed_slot(line)], line);
        observer_.fetch(from, to);
        clock_.accessed(caches_.retag(core, from, to), true);
    } else {
        clock_.accessed(caches_.access(core, to, true), true);
    }
    p.bits.store(line);
    if (!mine_.empty()) mine_[v][core] |= shadow::only(line);
    observer_.write(to, address);
    return true;
}

template <class Observer>
void shadow_machine<Observer>::translate(unsigned core, u64 page, bool is_load) {
    const auto pinned = [this](u64 v) {
        return config_.full == overflow::pin && v < pages_.size() && pages_[v].bits.updated != 0;
    };
    const tlbs::found where = tlbs_.touch(core, page, pinned);
    clock_.translated(where);
    if (where == tlbs::found::first) [[likely]]
        return;
    ++n_.l1_tlb_misses;
    if (where == tlbs::found::nowhere) {
        ++n_.tlb_misses;
        if (is_load) ++n_.tlb_load_misses;
    }
    leave_tlb();
    if (where == tlbs::found::nowhere && config_.inserts == insertion::at_miss &&
        page < pages_.size() && !pages_[page].has_entry()) {
        insert(page);
    }
}

/// Pages that no TLB holds any more.
template <class Observer>
void shadow_machine<Observer>::leave_tlb() {
    for (const u64 v : tlbs_.gone()) {
        if (v >= pages_.size()) continue;
        page_state& p = pages_[v];
        if (!p.has_entry()) continue;
        if (!shadow::may_consolidate(p.bits)) {
            p.waits = true;
            ++n_.spills;
        } else if (config_.when != consolidation::lazily || !p.is_split()) {
            consolidate(v);
        }
    }
}

}  // namespace hf::sim

#include "sim/shadow_commit.hpp"  // IWYU pragma: export
