// Workloads for states that the other workloads reach by chance or never. The mutation gate
// (docs/mutation.md) showed that they were missing.
#include "crashlab/runtime/file.hpp"
#include "crashlab/targets/map/tree.hpp"
#include "persist/ordered.hpp"

#include <thread>

namespace hf::lab {
namespace {

void load(tree_session& s, u64 count) {
    for (u64 i = 1; i <= count; ++i) s.put(key_of(i * 10), 8);
    s.end_epoch();
}
void update(tree_session& s, u64 first, u64 last) {
    for (u64 i = first; i <= last; ++i) s.put(key_of(i * 10), 8);
}
void crash_and_open(tree_session& s) {
    s.crash();
    s.open();
    s.adopt(0);
}
std::string deep_key(u64 number) { return "shared00" + key_of(number); }

// ------------------------------------------------------------------------------------------ leaves

void use_spare_logs(tree_session& s) {
    update(s, 1, 5);
    s.put(key_of(60), 8);
    s.end_epoch();
    update(s, 2, 4);
    crash_and_open(s);
    update(s, 1, 3);
    s.end_epoch();
    update(s, 1, 2);
}
void change_full_leaf(tree_session& s) {
    s.remove(key_of(30));
    s.put(key_of(35), 8);
    s.end_epoch();
    update(s, 4, 6);
    crash_and_open(s);
    s.touch(key_of(40));
    s.put(key_of(50), 8);
}
// Only the leaf's value logs belong to the failed epoch.
void recover_values_and_change(tree_session& s) {
    s.open();
    s.adopt(0);
    s.touch(key_of(20));
    s.put(key_of(15), 8);
    s.remove(key_of(30));
    s.put(key_of(20), 8);
    s.end_epoch();
    s.put(key_of(25), 8);
    crash_and_open(s);
    s.remove(key_of(15));
}
void crash_with_values(tree_session& s, u64 keys) {
    load(s, keys);
    s.put(key_of(20), 8);
    s.put(key_of(40), 8);
    s.crash();
}
// The crash is in the last epoch before the 16-bit counter wraps; the next session is after it.
void crash_before_wrap(tree_session& s) {
    load(s, 12);
    s.put(key_of(20), 8);
    s.put(key_of(90), 8);
    s.crash();
}
void wrap_and_remove(tree_session& s) {
    s.end_epoch();
    s.end_epoch();
    s.remove(key_of(20));
    s.put(key_of(15), 8);
    s.end_epoch();
    s.put(key_of(30), 8);
    s.put(key_of(20), 8);
}

// -------------------------------------------------------------------------------- nodes and layers

void split_again(tree_session& s) {
    for (u64 i = 1; i <= 8; ++i) s.put(key_of(i * 10 + 3), 8);
    crash_and_open(s);
    for (u64 i = 1; i <= 8; ++i) s.put(key_of(i * 10 + 4), 8);
    s.end_epoch();
    for (u64 i = 9; i <= 12; ++i) s.put(key_of(i * 10 + 4), 8);
}
void remove_first_leaves(tree_session& s) {
    for (u64 i = 1; i <= 20; ++i) s.remove(key_of(i * 10));
    s.put(key_of(5), 8);
    s.end_epoch();
    for (u64 i = 21; i <= 32; ++i) s.remove(key_of(i * 10));
    s.put(key_of(105), 8);
}
void empty_large_layer(tree_session& s) {
    for (u64 i = 1; i <= 30; ++i) s.remove(deep_key(i));
    s.put(deep_key(31), 8);
    s.end_epoch();
    s.remove(deep_key(31));
    s.put(deep_key(32), 8);
}
void make_layer_over_old_record(tree_session& s) {
    s.put(deep_key(2), 8);
    s.put(deep_key(1), 8);
    s.end_epoch();
    s.put(deep_key(3), 8);
}

// ------------------------------------------------------------------------------------------- alloc

void begin_with_removal_of_extent(tree_session& s) {
    s.remove(key_of(20));
    s.put(key_of(25), 8);
    s.end_epoch();
    s.put(key_of(30), 66'000);
    s.end_epoch();
    s.remove(key_of(30));
}
void have_surplus(tree_session& s) {
    constexpr u64 many = 4600;
    for (u64 i = 1; i <= many; ++i) s.put(key_of(i * 10), 8);
    s.end_epoch();
    for (u64 i = 13; i <= many; ++i) {
        s.remove(key_of(i * 10));
        s.model().keys.erase(key_of(i * 10));
    }
    s.end_epoch();
    s.put(key_of(10), 8);
    s.end_epoch();
}
void use_surplus(tree_session& s) {
    for (u64 i = 1; i <= 4; ++i) {
        s.remove(key_of(10 * i));
        s.put(key_of(10 * i + 5), 8);
        s.end_epoch();
    }
    update(s, 5, 8);
}
// The surplus is another thread's, and larger than one thread takes at a time. This thread gets its
// lane first, so it cannot take over the other's lane, and has no blocks of the class yet.
void leave_surplus_behind(tree_session& s) {
    s.put(key_of(5), 200);
    std::thread([&s] {
        have_surplus(s);
        for (u64 i = 101; i <= 170; ++i) s.put(key_of(i * 10), 8);
        s.end_epoch();
        for (u64 i = 101; i <= 170; ++i) {
            s.remove(key_of(i * 10));
            s.model().keys.erase(key_of(i * 10));
        }
        s.end_epoch();
        s.remove(key_of(20));
        s.end_epoch();
    }).join();
}
void take_surplus(tree_session& s) {
    s.put(key_of(15), 8);
    s.remove(key_of(40));
    s.end_epoch();
    s.put(key_of(25), 8);
    s.put(key_of(35), 8);
}
void leave_lists_behind(tree_session& s) {
    load(s, 4);
    // A new thread has a lane of its own, which is idle after the thread ends.
    std::thread([&s] {
        for (u64 i = 5; i <= 12; ++i) s.put(key_of(i * 10), 200);
        s.remove(key_of(50));
        s.end_epoch();
    }).join();
}
void adopt_lists(tree_session& s) {
    for (u64 i = 13; i <= 18; ++i) s.put(key_of(i * 10), 200);
    s.end_epoch();
    s.remove(key_of(60));
    s.put(key_of(70), 200);
}
void crash_pass_and_crash(tree_session& s) {
    update(s, 1, 6);
    s.remove(key_of(70));
    s.put(key_of(75), 200);
    crash_and_open(s);
    s.put(key_of(85), 200);
    s.run_pass();
    s.remove(key_of(85));
    s.put(key_of(95), 8);
    s.end_epoch();
    update(s, 1, 3);
}

// Two slabs of sixteen blocks each, and a third with blocks that were never used. The first one
// becomes empty; in the free list its blocks are among those of the second, and at the tail.
constexpr u64 large_block = 3900;
void fill_slabs(tree_session& s) {
    for (u64 i = 1; i <= 33; ++i) s.put(key_of(i * 10), large_block);
    s.end_epoch();
    for (u64 i = 1; i <= 16; ++i) {
        s.remove(key_of(i * 10));
        if (i % 5 == 1) s.remove(key_of((16 + i) * 10));
    }
    s.end_epoch();
}
// One group that this epoch has already touched, and lists that it has not.
void give_back_slabs(tree_session& s) {
    s.put(key_of(15), large_block);
    s.remove(key_of(15));
    s.end_epoch();
    s.give_back_slabs();
    s.put(key_of(25), 1900);
    s.end_epoch();
    s.put(key_of(35), 1900);  // at the former place of the slab
    s.put(key_of(45), large_block);
    s.put(key_of(55), large_block);
    s.remove(key_of(330));  // of the third slab only the never used part is left
    s.end_epoch();
    s.give_back_slabs();
    s.end_epoch();
    s.put(key_of(65), 9000);
}
void give_back_slabs_again(tree_session& s) {
    s.remove(key_of(300));
    s.give_back_slabs();
    s.put(key_of(25), large_block);
    crash_and_open(s);
    s.put(key_of(35), large_block);
    s.remove(key_of(290));
    s.give_back_slabs();
    s.end_epoch();
    s.put(key_of(45), 1900);
    s.put(key_of(55), large_block);
    s.end_epoch();
    s.put(key_of(45), 1900);
}
// Lists of a lane whose thread has ended, and the shared ones.
void leave_slabs_behind(tree_session& s) {
    s.put(key_of(5), 200);
    std::thread([&s] { fill_slabs(s); }).join();
}

// One lane has the unused part of the third slab, another its free block.
void give_back_rest(tree_session& s) {
    s.remove(key_of(330));
    s.end_epoch();
    s.give_back_slabs();
    s.end_epoch();
    s.put(key_of(25), 1900);
    s.put(key_of(35), large_block);
    s.end_epoch();
    s.put(key_of(45), 1900);
}

// Three slabs of sixteen blocks each, with three, eight and fourteen blocks in use. The first is
// emptied. The records of two adjacent leaves fit into one.
void fill_sparsely(tree_session& s) {
    for (u64 i = 1; i <= 49; ++i) s.put(key_of(i * 10), large_block);
    s.end_epoch();
    for (u64 i = 1; i <= 48; ++i) {
        const u64 in_slab = i % 16;
        if (in_slab >= (i <= 16 ? 4U : i <= 32 ? 9U : 15U)) s.remove(key_of(i * 10));
    }
    s.end_epoch();
}
void move_records(tree_session& s) {
    s.put(key_of(15), 30);
    s.compact();
    s.put(key_of(20), large_block);  // in a free block, perhaps of the emptied slab
    s.end_epoch();
    s.put(key_of(25), 1900);  // at the former place of the slab
    s.remove(key_of(170));
    s.end_epoch();
    s.put(key_of(35), large_block);
}
void move_records_again(tree_session& s) {
    s.compact();
    crash_and_open(s);  // the records were moved in an epoch that has ended
    s.put(key_of(20), large_block);
    s.give_back_slabs();
    s.put(key_of(25), 1900);
    s.end_epoch();
    s.put(key_of(30), 1900);
}
void load_and_halve(tree_session& s) {
    load(s, 60);
    for (u64 i = 1; i <= 60; i += 2) s.remove(key_of(i * 10));
    s.end_epoch();
}
void join_leaves(tree_session& s) {
    s.put(key_of(40), 8);
    s.compact();
    s.remove(key_of(80));
    s.end_epoch();
    for (u64 i = 1; i <= 15; i += 2) s.put(key_of(i * 10), 8);  // one splits again
    s.end_epoch();
    for (u64 i = 1; i <= 15; i += 2) s.remove(key_of(i * 10));
    s.compact();
    s.put(key_of(15), 8);
}
void join_leaves_again(tree_session& s) {
    s.compact();
    crash_and_open(s);
    s.touch(key_of(200));
    s.compact();
    for (u64 i = 1; i <= 15; i += 2) s.put(key_of(i * 10), 8);
}

// A full region with free blocks of 640 bytes.
void fill_all_pages(tree_session& s) {
    for (u64 i = 1; i <= 9; ++i) s.put(key_of(i * 10), 550);
    s.hold_all_pages();
    for (u64 i = 2; i <= 7; ++i) s.remove(key_of(i * 10));
    s.end_epoch();
}
void stand_in(tree_session& s) {
    s.let_larger_stand_in();
    s.put(key_of(22), 250);
    s.put(key_of(32), 250);
    s.end_epoch();
    s.remove(key_of(22));
    s.put(key_of(42), 250);
    s.end_epoch();
    s.put(key_of(23), 550);
    s.put(key_of(32), 550);
    crash_and_open(s);
    s.remove(key_of(32));
    s.end_epoch();
    s.put(key_of(24), 550);
    s.put(key_of(25), 550);
}

// ------------------------------------------------------------------------------ region, checkpoint

void add_roots(tree_session& s) {
    s.add_root("a name of 23 bytes long");
    s.put(key_of(15), 8);
    s.add_root("sixteen bytes ab");
    s.end_epoch();
    s.add_root("nine byte");
}
// A file longer than the growth that replaces it afterwards.
void break_growth(tree_session& s) {
    load(s, 4);
    s.crash_at("region G2: length and blocks durable before they are mapped",
               [](tree_session& t) { t.reserve(u64{30} << 20); });
}
void grow_again(tree_session& s) {
    s.open();
    s.adopt(0);
    s.reserve(u64{17} << 20);
    s.put(key_of(15), 8);
    s.end_epoch();
    s.put(key_of(25), 66'000);
}
void have_growth_refused(tree_session& s) {
    s.put(key_of(15), 8);
    the_file.mappings_to_refuse = 1;
    require(!s.try_to_reserve(u64{17} << 20), "a growth that was refused has succeeded");
    s.put(key_of(25), 8);
    s.end_epoch();
    s.reserve(u64{17} << 20);
    s.put(key_of(35), 8);
}
// The state after a crash between two words of the record.
void break_advance(tree_session& s, unsigned words) {
    load(s, 4);
    s.put(key_of(20), 8);
    layout::epoch_record& record = s.machine().file().header().epoch;
    layout::epoch_record next{};
    layout::epoch_record_init(next, s.machine().epochs().current_epoch() + 1);
    record.check.store(next.check.load());
    if (words > 1) {
        s.model().epoch_ended(s.machine().epochs().current_epoch());
        record.epoch.store(next.epoch.load());
    }
    s.crash();
}
// The state after a crash during an update, or on a damaged medium: only one copy is valid.
void tear_superblock(tree_session& s) {
    load(s, 4);
    s.put(key_of(20), 8);
    s.machine().file().header().super[1].sequence += 1;
    s.crash();
}
void open_and_end_epochs(tree_session& s) {
    s.open();
    s.adopt(0);
    s.put(key_of(15), 8);
    s.end_epoch();
    s.put(key_of(25), 8);
    s.end_epoch();
}
void crash_with_log(tree_session& s) {
    load(s, 90);
    for (u64 i = 0; i < 6; ++i) {
        const u64 first = 10 * (1 + 14 * i);
        s.remove(key_of(first));
        s.put(key_of(first + 5), 8);
        s.put(key_of(first), 8);
        s.remove(key_of(first + 5));
        s.put(key_of(first + 6), 8);
    }
    s.crash();
}
void fill_once_list(tree_session& s) {
    for (u64 i = 0; i < 1400; ++i) s.put(key_of(10 * (1 + i % 12)), 8);
    s.end_epoch();
    s.put(key_of(15), 8);
}

// One thread repeatedly fills its list of dirty lines, another ends the epochs.
void fill_or_end_epochs(tree_session& s, unsigned thread) {
    if (thread == 0) {
        for (u64 i = 0; i < 900; ++i) s.put_by(0, key_of(10 * (1 + i % 12)), 250);
        return;
    }
    for (u64 i = 0; i < 3; ++i) {
        s.put_by(1, key_of(15));
        s.end_epoch_by_thread();
    }
}

// A large value is written back by its writer; a fence of another thread does not complete that.
void write_large_or_end_epochs(tree_session& s, unsigned thread) {
    for (u64 i = 0; i < 3; ++i) {
        if (thread == 0) {
            s.put_by(0, key_of(10 * (1 + i)), 66'000);
        } else {
            s.put_by(1, key_of(15));
            s.end_epoch_by_thread();
        }
    }
}

}  // namespace

const std::vector<tree_case>& rare_cases() {
    static const std::vector<tree_case> cases{
        {"leaf.spare",
         "masstree",
         "free slots serve as logs",
         [](auto& s) { load(s, 5); },
         use_spare_logs,
         {}},
        {"leaf.full",
         "masstree",
         "a full leaf changes",
         [](auto& s) { load(s, 14); },
         change_full_leaf,
         {}},
        {"leaf.reach",
         "masstree",
         "the first touch after a wrap is a removal",
         [](auto& s) { load(s, 8); },
         wrap_and_remove,
         {},
         65534},
        {"recovery.values",
         "masstree",
         "a leaf of which values alone are rolled back",
         [](auto& s) { crash_with_values(s, 8); },
         recover_values_and_change,
         {}},
        {"recovery.full",
         "masstree",
         "the same of a full leaf",
         [](auto& s) { crash_with_values(s, 14); },
         recover_values_and_change,
         {}},
        {"recovery.reach",
         "masstree",
         "a crash in the last epoch before a wrap",
         crash_before_wrap,
         recover_values_and_change,
         {},
         65534},
        {"split.again",
         "masstree",
         "a split that failed is made again",
         [](auto& s) { load(s, 12); },
         split_again,
         {}},
        {"node.first",
         "masstree",
         "the first leaves of a tree go",
         [](auto& s) { load(s, 60); },
         remove_first_leaves,
         {}},
        {"layer.empty",
         "masstree",
         "a layer of several leaves is emptied",
         [](auto& s) {
             for (u64 i = 1; i <= 30; ++i) s.put(deep_key(i), 8);
             load(s, 2);
         },
         empty_large_layer,
         {}},
        {"layer.old",
         "masstree",
         "a layer comes over a record of an earlier epoch",
         [](auto& s) {
             s.put(deep_key(1), 8);
             load(s, 4);
         },
         make_layer_over_old_record,
         {}},
        {"alloc.first",
         "alloc",
         "an epoch's first change of extents is a removal",
         [](auto& s) {
             s.put(key_of(20), 66'000);
             load(s, 1);
         },
         begin_with_removal_of_extent,
         {}},
        {"alloc.surplus",
         "alloc",
         "a lane with too many free blocks shares them",
         have_surplus,
         use_surplus,
         {}},
        {"alloc.shared",
         "alloc",
         "shared blocks are taken",
         leave_surplus_behind,
         take_surplus,
         {}},
        {"recovery.log",
         "checkpoint",
         "a crash left much in the external log",
         crash_with_log,
         open_and_end_epochs,
         {}},
        {"alloc.adopt",
         "alloc",
         "lists of a thread that ended are taken over",
         leave_lists_behind,
         adopt_lists,
         {}},
        {"alloc.pass",
         "alloc",
         "crash, pass and crash",
         [](auto& s) { load(s, 12); },
         crash_pass_and_crash,
         {}},
        {"alloc.empty",
         "alloc",
         "slabs that have run empty are given back and used",
         fill_slabs,
         give_back_slabs,
         {"alloc W4: a chain of free blocks has moved to the shared lists"}},
        {"alloc.empty.again",
         "alloc",
         "the same, undone by a crash and done again",
         fill_slabs,
         give_back_slabs_again,
         {}},
        {"alloc.empty.idle",
         "alloc",
         "the same where the lists belong to no thread",
         leave_slabs_behind,
         give_back_rest,
         {}},
        {"alloc.move",
         "alloc",
         "records are moved out of a sparse slab, which becomes free pages",
         fill_sparsely,
         move_records,
         {"alloc W5: the free blocks of a chosen slab wait"}},
        {"alloc.move.again",
         "alloc",
         "the same; a crash undoes that the slab became pages, which is done again",
         fill_sparsely,
         move_records_again,
         {}},
        {"node.join",
         "masstree",
         "sparse leaves are joined, and split again",
         load_and_halve,
         join_leaves,
         {}},
        {"node.join.again",
         "masstree",
         "the same, undone by a crash and done again",
         load_and_halve,
         join_leaves_again,
         {}},
        {"alloc.larger",
         "alloc",
         "larger blocks stand in for smaller ones in a full region",
         fill_all_pages,
         stand_in,
         {},
         1,
         false,
         u64{16} << 20,
         1,
         {},
         u64{16} << 20},
        {"region.roots",
         "region",
         "roots with long names",
         [](auto& s) { load(s, 2); },
         add_roots,
         {}},
        {"region.regrow",
         "region",
         "a growth that was cut short is followed by a smaller one",
         break_growth,
         grow_again,
         {"region G0: tail of a broken growth cut off before a new intent"}},
        {"region.refused",
         "region",
         "a growth is refused and taken back",
         [](auto& s) { load(s, 4); },
         have_growth_refused,
         {}},
        {"region.torn",
         "region",
         "one copy of the superblock is torn",
         tear_superblock,
         open_and_end_epochs,
         {}},
        {"epochs.torn1",
         "checkpoint",
         "a crash lay inside of an advance of the epoch record",
         [](auto& s) { break_advance(s, 1); },
         open_and_end_epochs,
         {}},
        {"epochs.torn2",
         "checkpoint",
         "likewise, one word further",
         [](auto& s) { break_advance(s, 2); },
         open_and_end_epochs,
         {}},
        {"epochs.busy",
         "checkpoint",
         "lines are written back long before the boundary",
         [](auto& s) { load(s, 12); },
         fill_once_list,
         {}},
        {"threads.busy",
         "checkpoint",
         "likewise by one thread, and another ends epochs",
         [](auto& s) { load(s, 12); },
         [](auto&) {},
         {},
         1,
         false,
         u64{16} << 20,
         2,
         fill_or_end_epochs},
        {"threads.large",
         "alloc",
         "large values are written by one thread, and another ends epochs",
         [](auto& s) { load(s, 12); },
         [](auto&) {},
         {},
         1,
         false,
         u64{16} << 20,
         2,
         write_large_or_end_epochs},
    };
    return cases;
}

}  // namespace hf::lab
