// shadow/recovery.hpp: what a restart does with state table and journal (rules.hpp, R1 to R3).
//
// Replay applies whole records in the order of their sequence numbers and ends at the first that is
// not whole. A record is damaged rather than torn if a later one is whole: a caller that wants to
// tell them apart looks for sequence + 1 on the following lines; in a crash that follows the order
// P1 to P3 there is none.
#pragma once

#include "shadow/journal_record.hpp"
#include "shadow/state_table.hpp"

#include <cstddef>
#include <span>

namespace hf::shadow {

struct replayed {
    u64 records = 0;
    u64 changes = 0;
    u64 next_sequence = 0;  ///< of the first record that a new journal writes
    u64 bytes = 0;          ///< of the journal that the records take, whole lines
    u64 unknown = 0;        ///< changes whose page `apply` did not find
};

/// Calls apply(page_change) -> bool for each change of each whole record of `journal`, whose first
/// has the number `sequence`. False: there is no such page.
template <class Apply>
replayed replay(std::span<const std::byte> journal, u64 sequence, Apply&& apply) {
    replayed done;
    done.next_sequence = sequence;
    while (const auto record = read_record(journal, done.next_sequence)) {
        for (u64 i = 0; i < record->count; ++i) {
            if (!apply(record->change(i))) ++done.unknown;
        }
        const u64 taken = record->lines() * line_size;
        done.changes += record->count;
        done.bytes += taken;
        ++done.records;
        done.next_sequence = next_sequence(done.next_sequence);
        journal = journal.subspan(taken < journal.size() ? taken : journal.size());
    }
    return done;
}

/// The replay where the records name entries by their index in the table.
inline replayed replay_into(std::span<table_entry> table, std::span<const std::byte> journal,
                            u64 sequence) {
    return replay(journal, sequence, [table](const page_change& c) {
        if (c.page >= table.size() || !table[c.page].is_used()) return false;
        table[c.page].apply(c);
        return true;
    });
}

/// Calls use(physical page) for each slot that the state table holds: with those that the page
/// table names they are all that is in use (R3).
template <class Use>
void for_each_slot(std::span<const table_entry> table, Use&& use) {
    for (const table_entry& e : table) {
        if (!e.is_used()) continue;
        use(e.slot[0]);
        use(e.slot[1]);
    }
}

}  // namespace hf::shadow
