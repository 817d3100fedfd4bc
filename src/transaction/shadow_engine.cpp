// The shadow engine: a line has two slots, and a commit writes its new version to the slot that
// does not hold the committed one. No data is logged; the record says which lines have changed
// slots.
//
//   lines: streamed to the slot, or home by flush | (fence |  S1 ) | record: flush | fence |  S2  |
//   words at home, table entries: stored, entries recorded as dirty
//
// The working image is the homes (SS4 of shadow_slots.hpp), so loads are raw loads. A line whose
// bit is 0 is composed from home and the private copy, and streamed to P1. One whose bit is 1 goes
// home, while P1 has the committed version: streamed, if the transaction has stored every word of
// it, else stored to and flushed. Either way the line is written once. A line that was streamed
// home is in no cache; but neither is one that clwb has written back, on the processors measured.
//
// One fence or two. A record may be on the medium before its lines are. So either there is a fence
// between them (S1), or the record carries a checksum of its lines, by which recovery tells. That
// works for lines that nothing else changes: those in P1, and those at home of which the
// transaction has stored every word. Other lines at home may hold fresh blocks of other
// transactions, stored in place. And beyond max_checked_lines a checksum costs more than a fence.
// docs/shadow_engine.md has the measurements that chose this.
//
// Fresh blocks are stored at home in place. Few bytes of them are in the record (redo_engine.cpp).
// More, or any in a line whose bit is 1, are flushed before S1; in the latter case the bit changes.
// So a line may be composed while another transaction fills its own fresh block in that line. The
// words of this block that go to P1 may be old, new or half filled: it belongs to no committed
// state, and its own commit finds the line's bit at 1 and writes the block at home.
//
// Persist order.
//  S1  The lines, and what was allocated and is not in the record, are durable before the record is
//      begun; or the record has a checksum of its lines.
//  S2  Record and lines are durable before any word of a line in P1 is stored at home, before the
//      table's bits change, before the lines are given back, and before atomic() returns.
//  S3  Consolidation: the homes of a page's lines are durable before the record that gives up its
//      slot.
//  S4  That record is durable before the slot is free.
//  S5  At the end of a session all homes are durable before a table entry is cleared.
// Table entries are recorded in the lane: durable with the epoch's end, when records give way (T2).
//
// Concurrency. Two transactions may change different lines of one page: ownership keeps them
// apart, but not from a fresh block in the same line, nor their bits in one word. So a commit owns
// its pages, from before it looks which slots are committed until its words are at home. It takes
// them in ascending order, and holds none while it waits for anything else; so commits do not wait
// in a circle. A record's number is drawn while they are owned: records that change one line have
// numbers in the order in which they did. Consolidation takes a page or passes it by. Taking a page
// is a locked instruction, and precedes all that is streamed; after the fence there are only
// stores. A locked instruction there would wait for them, and they wait for the fence.
//
// Recovery: shadow_recovery.hpp. Bad input, full region: shadow_slots.hpp; errc::no_space where a
// transaction needs more second slots than there can be, before anything has changed.
#include "alloc/geometry.hpp"
#include "base/check.hpp"
#include "base/tsan.hpp"
#include "persist/ordered.hpp"
#include "persist/persist_point.hpp"
#include "transaction/commit_engine.hpp"
#include "transaction/home_words.hpp"
#include "transaction/shadow_lane.hpp"
#include "transaction/shadow_recovery.hpp"
#include "transaction/shadow_slots.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

namespace hf {
namespace {

using shadow::line_set;
using shadow::page_change;
using line_words = std::array<u64, 8>;
using slot = shadow_slots::slot;
using word = std::atomic<u64>;

constexpr u64 max_logged_fresh = 256;
constexpr std::size_t max_checked_lines = 64;
/// Pages that one call of work() consolidates, at most.
constexpr std::size_t work_budget = 32;
constexpr record_body empty_record{record_kind::shadow, {}, {}, {}, {}, no_lines_sum};
/// Attempts of one transaction that fail because other transactions may hold the free slots.
/// After that many the transaction fails.
constexpr unsigned max_slot_conflicts = 32;

class shadow_engine final : public commit_engine {
   public:
    explicit shadow_engine(region& r)
        : commit_engine(r), slots_(r), first_line_(reinterpret_cast<u64>(r.base()) / line_size) {}

    result<void> open() override { return slots_.open(); }
    result<void> close(epoch_manager& epochs) override;
    std::unique_ptr<engine_lane> make_lane(u16 lane) override {
        return std::make_unique<shadow_lane>(file(), shared(), lane);
    }
    result<void> prepare(context& t) override;
    void commit(context& t, u64 version) noexcept(!crashes_throw) override;
    void work(epoch_manager& epochs, lane& mine, engine_lane& state) override;
    [[nodiscard]] engine_numbers numbers() const noexcept override;

   private:
    struct victim {
        slot* second;
        shadow_slots::page* page;
        u64 number;
    };

    [[nodiscard]] result<void> find_slots(context& t, shadow_lane& l);
    [[nodiscard]] result<void> find_log_room(context& t, shadow_lane& l);
    static void own(const shadow_lane& l) noexcept {
        for (const touched_page& p : l.pages) p.state->owned.lock();
    }
    static void give_back(const shadow_lane& l) noexcept {
        for (const touched_page& p : l.pages) p.state->owned.unlock();
    }
    void give_back_stash(shadow_lane& l);
    /// Gives the lane's stash back at the end of prepare(), unless a commit follows, which uses it.
    struct kept_stash {
        kept_stash(shadow_engine& e, shadow_lane& l) : engine(e), of(l) {
            of.is_committing = false;
        }
        kept_stash(const kept_stash&) = delete;
        kept_stash& operator=(const kept_stash&) = delete;
        ~kept_stash() {
            if (!of.is_committing) engine.give_back_stash(of);
        }
        shadow_engine& engine;
        shadow_lane& of;
    };
    void look_at_slots(shadow_lane& l) noexcept;
    /// False: a fence has to come before the record. `sum` is the checksum of the lines.
    [[nodiscard]] bool write_lines(const shadow_lane& l, lines_sum& sum) const noexcept;
    /// The line's new version, in the copy or in `composed`.
    [[nodiscard]] const u64* new_version(const copy_of_line& c,
                                         line_words& composed) const noexcept;
    /// A line whose committed version is in P1. False: other words of it may change.
    [[nodiscard]] bool write_home(const touched_page& p, const copy_of_line& c) const noexcept;
    void prefetch_homes(const shadow_lane& l, const touched_page& p) const noexcept;
    [[nodiscard]] bool write_fresh(const context& t, const shadow_lane& l) const noexcept;
    void lay_record(context& t, shadow_lane& l, u64 sum);
    void place(context& t, shadow_lane& l) noexcept;
    [[nodiscard]] u64 consolidate(lane& mine, commit_log& log, std::size_t budget);
    [[nodiscard]] bool own_victim(victim& v);
    void flush_homes(const shadow_slots::page& p, u64 number) noexcept;

    [[nodiscard]] word* home(u64 line) const noexcept { return file().at<word>(line * line_size); }

    shadow_slots slots_;
    const u64 first_line_;
    std::atomic<u64> records_{0};  ///< number of the newest record of all lanes
    std::atomic<u64> consolidated_pages_{0};
    std::atomic<u64> consolidated_lines_{0};
};

// ---------------------------------------------------------------------------------- all that can
// fail

result<void> shadow_engine::find_slots(context& t, shadow_lane& l) {
    for (;;) {
        const u64 needed = l.pages_without_slot();
        if (l.stash.size() >= needed) return {};
        if (slots_.take(l.stash, needed)) return {};
        if (slots_.grow(shadow_slots::growth::after_consolidations)) continue;
        const u64 budget = std::max<u64>(needed, work_budget);
        if (consolidate(t.my_lane(), l.own_log(), budget) != 0) continue;
        if (slots_.grow(shadow_slots::growth::at_once)) continue;
        const u64 found = l.stash.size();
        give_back_stash(l);  // others may take them while this one waits
        if (l.own_log().has_records(t.epoch())) t.wait_for_boundary();  // its log may be full
        if (needed <= slots_.total() && ++l.slot_conflicts < max_slot_conflicts) {
            transaction::meet_conflict();
        }
        l.slot_conflicts = 0;
        return failure({errc::no_space, "commit a transaction", file().path().string(),
                        "it changes " + std::to_string(needed) +
                            " pages of 4 KiB that have no second slot, and there is room for " +
                            std::to_string(found),
                        "make it smaller, or allow a larger maximal size"});
    }
}

result<void> shadow_engine::find_log_room(context& t, shadow_lane& l) {
    record_body most = empty_record;
    if (l.logs_fresh) most.fresh = t.fresh();
    most.changes = t.heap_changes();
    const u64 bytes = most_record_bytes(most, l.pages.size());
    if (l.log().has_room(bytes, t.epoch())) return {};
    return l.make_room(t, bytes);
}

void shadow_engine::give_back_stash(shadow_lane& l) {
    for (slot* s : l.stash) slots_.give_back(*s);
    l.stash.clear();
}

// find_slots() and find_log_room() may end the attempt by an exception, too.
result<void> shadow_engine::prepare(context& t) {
    auto& l = static_cast<shadow_lane&>(t.engine_state());
    const kept_stash stash(*this, l);
    l.gather(t, first_line_, slots_);
    l.logs_fresh = t.fresh_bytes() <= max_logged_fresh;
    l.changes.reserve(l.pages.size());  // what asks for memory does it here
    for (;;) {
        if (auto ok = find_slots(t, l); !ok) return ok;
        if (auto ok = find_log_room(t, l); !ok) return ok;
        own(l);
        if (l.pages_without_slot() <= l.stash.size()) {
            // Here, for a locked instruction waits for all that was streamed before it.
            l.number = records_.fetch_add(1, std::memory_order_acq_rel) + 1;
            l.is_committing = true;
            return {};
        }
        give_back(l);  // a page was consolidated meanwhile
    }
}

// ------------------------------------------------------------------------------------------ a
// commit

void shadow_engine::look_at_slots(shadow_lane& l) noexcept {
    for (touched_page& p : l.pages) {
        if (p.state->second.load(std::memory_order_relaxed) == nullptr) {
            p.committed = 0;
            if (p.written == 0) continue;
            shadow_slots::attach(*l.stash.back(), *p.state, p.number);
            l.stash.pop_back();
        }
        p.committed = p.state->committed & p.lines();
        __builtin_prefetch(p.state->entry, 1);
    }
}

/// Lines that are stored to at home after the fence.
void shadow_engine::prefetch_homes(const shadow_lane& l, const touched_page& p) const noexcept {
    for (const copy_of_line& c : l.copies_of(p)) {
        if ((p.committed >> c.bit() & 1) == 0) __builtin_prefetch(home(c.line), 1);
    }
}

const u64* shadow_engine::new_version(const copy_of_line& c, line_words& composed) const noexcept {
    if (c.copy->mask == all_words) return c.copy->words.data();
    const word* const at_home = home(c.line);
    for (unsigned i = 0; i < composed.size(); ++i) {
        const bool is_new = (c.copy->mask >> i & 1) != 0;
        composed[i] = is_new ? c.copy->words[i] : read_unchecked(&at_home[i]);
    }
    return composed.data();
}

bool shadow_engine::write_home(const touched_page& p, const copy_of_line& c) const noexcept {
    const bool is_whole = c.copy->mask == all_words;
    // A line with words of a fresh block was stored to at home already.
    const bool is_cached = (p.fresh >> c.bit() & 1) != 0;
    if (is_whole && !is_cached) {
        stream_to_working_image(file().med(), home(c.line), *c.copy);
    } else {
        word* const at_home = home(c.line);
        each_word(c.copy->mask, [&](unsigned i) { ordered_store(at_home[i], c.copy->words[i]); });
        file().med().flush_line(at_home);
    }
    return is_whole;
}

bool shadow_engine::write_lines(const shadow_lane& l, lines_sum& sum) const noexcept {
    const medium& med = file().med();
    bool is_checked = l.copies() <= max_checked_lines;
    line_words composed;
    for (const touched_page& p : l.pages) {
        prefetch_homes(l, p);
        for (const copy_of_line& c : l.copies_of(p)) {
            const u64* const words = new_version(c, composed);
            if ((p.committed >> c.bit() & 1) == 0) {
                med.stream_line(p.state->memory + c.bit() * line_size, words);
            } else if (!write_home(p, c)) {
                is_checked = false;
            }
            if (is_checked) sum.add(words);
        }
    }
    return is_checked;
}

/// False: some were flushed.
bool shadow_engine::write_fresh(const context& t, const shadow_lane& l) const noexcept {
    const auto changes_slot = [](const touched_page& p) { return (p.fresh & p.committed) != 0; };
    if (l.logs_fresh && std::ranges::none_of(l.pages, changes_slot)) {
        t.note_fresh();
        return true;
    }
    t.flush_fresh();
    return false;
}

void shadow_engine::lay_record(context& t, shadow_lane& l, u64 sum) {
    l.changes.clear();
    for (const touched_page& p : l.pages) {
        const page_change c = p.change();
        if (c.mask != 0) l.changes.push_back({c, p.state->slot_number});
    }
    record_body body = empty_record;
    if (l.logs_fresh) body.fresh = t.fresh();
    body.changes = t.heap_changes();
    body.pages = l.changes;
    body.lines_sum = sum;
    l.log().lay(t.epoch(), l.number, body);
}

void shadow_engine::place(context& t, shadow_lane& l) noexcept {
    for (const touched_page& p : l.pages) {
        for (const copy_of_line& c : l.copies_of(p)) {
            const bool is_there = (p.committed >> c.bit() & 1) != 0;
            if (!is_there) store_in_working_image(home(c.line), *c.copy);
        }
        if (p.flipped() == 0) continue;
        p.state->flip(p.flipped());
        p.state->recent.store(true, std::memory_order_relaxed);
        shadow_slots::note(*p.state, t.my_lane());
    }
    t.my_lane().mark_written();
}

void shadow_engine::commit(context& t, u64) noexcept(!crashes_throw) {
    auto& l = static_cast<shadow_lane&>(t.engine_state());
    const medium& med = file().med();
    look_at_slots(l);
    lines_sum sum;
    const bool lines_checked = write_lines(l, sum);
    const bool fresh_logged = write_fresh(t, l);
    l.logs_fresh = fresh_logged;
    if (!lines_checked || !fresh_logged) {
        med.fence();
        HF_PERSIST_POINT("transaction S1: lines are durable before the record that turns to them");
        sum = {};
    }
    lay_record(t, l, sum.value());
    med.fence();
    HF_PERSIST_POINT("transaction S2: a record is durable before its lines are given back");
    place(t, l);
    give_back(l);
    t.place_heap_changes();
    l.slot_conflicts = 0;
    give_back_stash(l);
    if (slots_.is_short()) set_has_work(true);
}

// --------------------------------------------------------------------------------------
// consolidation

void shadow_engine::flush_homes(const shadow_slots::page& p, u64 number) noexcept {
    const auto plan = shadow::plan_consolidation_into(0, p.committed);
    const u64 first = number * shadow::lines_per_page;
    for (line_set left = plan.to_copy; left != 0; left &= left - 1) {
        file().med().flush_line(home(first + static_cast<unsigned>(std::countr_zero(left))));
    }
    consolidated_pages_.fetch_add(1, std::memory_order_relaxed);
    consolidated_lines_.fetch_add(plan.lines(), std::memory_order_relaxed);
}

/// Owns the slot's page. False: a commit owns it, or the slot was freed.
bool shadow_engine::own_victim(victim& v) {
    v.number = v.second->page.load(std::memory_order_relaxed);
    if (v.number == shadow_slots::no_page) return false;
    v.page = &slots_.of(v.number);
    if (!v.page->owned.try_lock()) return false;
    if (v.page->second.load(std::memory_order_relaxed) == v.second) return true;
    v.page->owned.unlock();
    return false;
}

u64 shadow_engine::consolidate(lane& mine, commit_log& log, std::size_t budget) {
    constexpr std::size_t most_at_once = 256;
    budget = std::min(budget, most_at_once);
    if (!log.make_room(most_record_bytes(empty_record, budget), mine.epoch)) return 0;
    std::vector<victim> found;
    std::vector<record_page> changes;
    found.reserve(budget);
    changes.reserve(budget);
    for (std::size_t tries = 0; found.size() < budget && tries < 2 * budget; ++tries) {
        victim v{slots_.next_victim(), nullptr, 0};
        if (v.second == nullptr) break;
        if (!own_victim(v)) continue;
        flush_homes(*v.page, v.number);
        const line_set in_slot = v.page->committed;
        if (in_slot != 0) changes.push_back({{v.number, in_slot, 0}, v.second->number});
        found.push_back(v);
    }
    if (found.empty()) {
        log.forget_room();
        return 0;
    }
    file().med().fence();
    HF_PERSIST_POINT("transaction S3: homes are durable before their slots are given up");
    record_body body = empty_record;
    body.pages = changes;
    log.lay(mine.epoch, records_.fetch_add(1, std::memory_order_acq_rel) + 1, body);
    file().med().fence();
    HF_PERSIST_POINT("transaction S4: a slot is given up before it is free");
    for (const victim& v : found) {
        shadow_slots::detach(*v.page);
        shadow_slots::note(*v.page, mine);
        v.page->owned.unlock();
        slots_.give_back(*v.second);
    }
    mine.mark_written();
    slots_.count_consolidated(found.size());
    return found.size();
}

void shadow_engine::work(epoch_manager& epochs, lane& mine, engine_lane& state) {
    const epoch_guard inside(epochs, mine);
    set_has_work(false);
    static_cast<void>(consolidate(mine, state.own_log(), work_budget));
}

result<void> shadow_engine::close(epoch_manager&) {
    slots_.each_used([&](const shadow_slots::page& p, u64 number) { flush_homes(p, number); });
    file().med().fence();
    HF_PERSIST_POINT("transaction S5: homes are durable before the table is cleared");
    slots_.each_used([&](const shadow_slots::page& p, u64) {
        p.entry->name.store(0, std::memory_order_release);
        file().med().flush_line(p.entry);
    });
    file().med().fence();
    return {};
}

engine_numbers shadow_engine::numbers() const noexcept {
    return {.slots = slots_.total(),
            .free_slots = slots_.free(),
            .kept_for_slots = pages_kept_for_slots(file()) * layout::page_size,
            .consolidated_pages = consolidated_pages_.load(std::memory_order_relaxed),
            .consolidated_lines = consolidated_lines_.load(std::memory_order_relaxed)};
}

}  // namespace

std::unique_ptr<commit_engine> make_shadow_engine(region& r) {
    return std::make_unique<shadow_engine>(r);
}

}  // namespace hf
