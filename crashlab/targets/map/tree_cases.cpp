// Workloads on a tree: one for each operation and structure change, and for the rooms below it.
#include "crashlab/targets/map/tree.hpp"

namespace hf::lab {
namespace {

// Keys with gaps between them for later inserts.
void load(tree_session& s, u64 count, u64 step = 10) {
    for (u64 i = 1; i <= count; ++i) s.put(key_of(i * step), 8);
    s.end_epoch();
}

std::string any_key(tree_session& s, u64 count, u64 step = 10) {
    return key_of((1 + s.random()() % count) * step);
}

// Keys with a common first slice, so that they are in a layer below it.
std::string deep_key(u64 number) { return "shared00" + key_of(number); }

void insert_into_leaf(tree_session& s) {
    for (u64 i = 0; i < 5; ++i) s.put(key_of(5 + 10 * (s.random()() % 6)));
}
void update_in_leaf(tree_session& s) {
    for (u64 i = 0; i < 7; ++i) s.put(any_key(s, 8));
}
void remove_from_leaf(tree_session& s) {
    for (u64 i = 0; i < 4; ++i) s.remove(any_key(s, 8));
    s.put(key_of(15));
}
void change_leaf(tree_session& s) {
    for (u64 i = 0; i < 9; ++i) {
        switch (s.random()() % 4) {
            case 0:
                s.remove(any_key(s, 8));
                break;
            case 1:
                s.put(key_of(5 + 10 * (s.random()() % 8)));
                break;
            default:
                s.put(any_key(s, 8));
                break;
        }
        if (s.random()() % 6 == 0) s.end_epoch();
    }
}
void split_leaf(tree_session& s) {
    for (u64 i = 1; i <= 8; ++i) s.put(key_of(i * 10 + 3), 8);
}
void split_many(tree_session& s) {
    for (u64 i = 0; i < 24; ++i) s.put(key_of(1000 + i), 8);
    s.end_epoch();
    for (u64 i = 0; i < 12; ++i) s.put(key_of(1 + 10 * (s.random()() % 40)), 8);
}
void make_layers(tree_session& s) {
    s.put(deep_key(1), 8);
    s.put(deep_key(2), 8);
    s.end_epoch();
    s.put(deep_key(1) + "tail and more", 8);
    s.put(deep_key(3), 8);
    s.put("shared00", 8);
}
void remove_layers(tree_session& s) {
    for (u64 i = 1; i <= 3; ++i) s.remove(deep_key(i));
    s.end_epoch();
    s.put(deep_key(2), 8);
    s.remove(deep_key(2));
}
void remove_nodes(tree_session& s) {
    for (u64 i = 8; i <= 30; ++i) s.remove(key_of(i * 10));
    s.end_epoch();
    for (u64 i = 31; i <= 40; ++i) s.remove(key_of(i * 10));
    s.put(key_of(155), 8);
}
void churn_memory(tree_session& s) {
    for (u64 i = 0; i < 14; ++i) {
        const std::string key = any_key(s, 12);
        if (s.random()() % 3 == 0) {
            s.remove(key);
        } else {
            s.put(key, 1 + s.random()() % 300);
        }
        if (i % 5 == 4) s.end_epoch();
    }
}
void write_large_values(tree_session& s) {
    s.put(key_of(15), 70'000);
    s.put(key_of(20), 66'000);
    s.end_epoch();
    s.put(key_of(15), 67'000);
    s.remove(key_of(20));
    s.end_epoch();
    s.put(key_of(25), 66'000);
}
void fill_log(tree_session& s) {
    // In many leaves, each of which needs the external log.
    for (u64 i = 0; i < 6; ++i) {
        s.remove(key_of(10 * (1 + 14 * i)));
        s.put(key_of(10 * (1 + 14 * i) + 5), 8);
        s.put(key_of(10 * (1 + 14 * i)), 8);
        s.remove(key_of(10 * (1 + 14 * i) + 5));
        s.put(key_of(10 * (1 + 14 * i) + 6), 8);
    }
}
void end_epochs(tree_session& s) {
    for (u64 i = 0; i < 4; ++i) {
        s.put(any_key(s, 4));
        s.end_epoch();
    }
}
void crash_repeatedly(tree_session& s, u64 times) {
    for (u64 i = 0; i < times; ++i) {
        s.put(any_key(s, 12));
        s.remove(any_key(s, 12));
        // A crash that loses only the epoch: all stores are durable, and are undone.
        s.crash();
        s.open();
        s.adopt(0);
        s.put(any_key(s, 12));
        s.end_epoch();
    }
}
void open_and_touch(tree_session& s) {
    s.open();
    s.adopt(0);
    for (u64 i = 0; i < 6; ++i) s.touch(any_key(s, 12));
    s.put(any_key(s, 12));
    s.remove(any_key(s, 12));
    s.end_epoch();
    s.put(any_key(s, 12));
}

// Each thread has the keys whose number is its own modulo four.
void write_as_thread(tree_session& s, unsigned thread) {
    splitmix64 random(s.random()());
    for (u64 i = 0; i < 5; ++i) {
        const std::string key = key_of(4 * (random() % 10) + thread);
        if (random() % 4 == 0) {
            s.remove_by(thread, key);
        } else {
            s.put_by(thread, key);
        }
    }
}
// The last thread reads keys that the others write, in a leaf whose records move and which splits.
void write_or_read(tree_session& s, unsigned thread) {
    if (thread != 2) return write_as_thread(s, thread);
    splitmix64 random(s.random()());
    for (u64 i = 0; i < 16; ++i) s.get_by(key_of(4 * (random() % 10) + random() % 2));
}
void write_or_end_epochs(tree_session& s, unsigned thread) {
    if (thread != 0) return write_as_thread(s, thread);
    s.put_by(0, key_of(0));
    s.end_epoch_by_thread();
    s.put_by(0, key_of(4));
    s.end_epoch_by_thread();
}
void touch_and_write(tree_session& s, unsigned thread) {
    for (u64 i = 1; i <= 4; ++i) s.touch(key_of(10 * (i + thread)));
    write_as_thread(s, thread);
}

using points = std::vector<std::string_view>;

const points boundary{"epoch E1: every dirty line durable before the epoch is counted",
                      "epoch E2: epoch counted before it is announced"};
const points logged{"undo L1: undo images durable before their objects change"};
const points opening{"undo R1: undo images applied and durable before the epoch is declared failed",
                     "epoch O1: session in the superblock, durable before the epoch record",
                     "epoch O2: epoch record durable before the first operation",
                     "region S1: one superblock durable before the other is touched",
                     "region S2: both superblocks durable before the update counts"};
const points creation{"region C1: space allocated before the header is written",
                      "region C2: header and size durable before the file gets its name",
                      "region C3: file named before the directory is synced",
                      "region C4: name durable before the region is used",
                      "alloc F1: heap formatted before the root directory names it",
                      "masstree F1: empty root leaf durable before the root leads to it",
                      "region R1: root durable before it is relied on"};
const points wrapped{"masstree U1: value lines durable before line 0 gets new upper epoch bits",
                     "masstree U2: line 0 durable before a value line is logged with its bits"};
const points growth{"region G0: tail of a broken growth cut off before a new intent",
                    "region G1: intent durable before the file grows",
                    "region G2: length and blocks durable before they are mapped",
                    "region G3: pages mapped before the directory names them",
                    "region G4: directory word durable before the intent is cleared",
                    "region G5: intent cleared before the next growth"};

}  // namespace

const std::vector<tree_case>& tree_cases() {
    static const std::vector<tree_case> cases{
        {"leaf.insert",
         "masstree",
         "inserts into one leaf",
         [](auto& s) { load(s, 6); },
         insert_into_leaf,
         {}},
        {"leaf.update",
         "masstree",
         "updates in one leaf",
         [](auto& s) { load(s, 8); },
         update_in_leaf,
         {}},
        {"leaf.remove",
         "masstree",
         "removals from one leaf",
         [](auto& s) { load(s, 8); },
         remove_from_leaf,
         {}},
        {"leaf.mixed",
         "masstree",
         "all of these over several epochs",
         [](auto& s) { load(s, 8); },
         change_leaf,
         {}},
        {"leaf.wrap",
         "masstree",
         "the same where 16-bit epochs come round",
         [](auto& s) { load(s, 8); },
         change_leaf,
         {},
         65530},
        {"split.leaf", "masstree", "a full leaf splits", [](auto& s) { load(s, 12); }, split_leaf,
         logged},
        {"split.many", "masstree", "leaves and interior nodes split", [](auto& s) { load(s, 200); },
         split_many, logged},
        {"layer.make",
         "masstree",
         "keys with a common slice make a layer",
         [](auto& s) { load(s, 4); },
         make_layers,
         {}},
        {"layer.remove",
         "masstree",
         "a layer's keys go",
         [](auto& s) {
             for (u64 i = 1; i <= 3; ++i) s.put(deep_key(i), 8);
             load(s, 2);
         },
         remove_layers,
         {}},
        {"node.remove", "masstree", "empty leaves are unlinked", [](auto& s) { load(s, 60); },
         remove_nodes, logged},
        {"recovery.lazy", "masstree", "leaves are recovered on first touch",
         [](auto& s) {
             load(s, 12);
             change_leaf(s);
             s.crash();
         },
         open_and_touch, opening},
        {"recovery.wrap", "masstree", "the same after 16-bit epochs came round",
         [](auto& s) {
             load(s, 12);
             change_leaf(s);
             s.put(any_key(s, 12));
             s.crash();
         },
         open_and_touch, wrapped, 65533},
        {"recovery.wrap.once", "masstree", "the same, of a leaf that is logged in its lines alone",
         [](auto& s) {
             load(s, 12);
             s.put(any_key(s, 12), 8);
             s.crash();
         },
         open_and_touch, wrapped, 65534},
        {"epochs.change", "checkpoint", "epochs end", [](auto& s) { load(s, 4); }, end_epochs,
         boundary},
        {"epochs.failed", "checkpoint", "several failed epochs in the set",
         [](auto& s) {
             load(s, 12);
             crash_repeatedly(s, 3);
         },
         [](auto& s) {
             crash_repeatedly(s, 1);
             change_leaf(s);
         },
         opening},
        {"epochs.pass",
         "checkpoint",
         "the pass that empties the failed set",
         [](auto& s) {
             load(s, 20);
             crash_repeatedly(s, 2);
         },
         [](auto& s) {
             s.put(any_key(s, 12));
             s.run_pass();
             s.put(any_key(s, 12));
         },
         {"store B1: everything visited is durable before the failed set is emptied"}},
        {"count.begin",
         "checkpoint",
         "records are counted that nobody has counted before",
         [](auto& s) {
             load(s, 12);
             s.forget_count();
             s.model().epoch_ended(s.machine().epochs().current_epoch());
             s.close();
         },
         [](auto& s) {
             s.open();
             s.put(key_of(15));
             s.remove(key_of(20));
             s.end_epoch();
             s.put(key_of(25));
         },
         {"store B2: the count is durable before the heap says that there is one"}},
        {"log.fill",
         "checkpoint",
         "many objects in the external log",
         [](auto& s) { load(s, 90); },
         fill_log,
         {}},
        {"alloc.churn",
         "alloc",
         "blocks come and go",
         [](auto& s) { load(s, 12); },
         churn_memory,
         {}},
        {"alloc.large",
         "alloc",
         "extents come and go",
         [](auto& s) { load(s, 4); },
         write_large_values,
         {"store V1: a large value's bytes durable before it is linked"}},
        {"region.create",
         "region",
         "a region is made and first used",
         {},
         [](auto& s) {
             s.open();
             s.put(key_of(1));
             s.end_epoch();
         },
         creation,
         1,
         true},
        {"region.grow", "region", "the region grows", [](auto& s) { load(s, 4); },
         [](auto& s) {
             s.put(key_of(15));
             s.reserve(u64{17} << 20);
             s.put(key_of(25), 66'000);
             s.end_epoch();
             s.reserve(u64{20} << 20);
             s.put(key_of(35));
         },
         growth},
        {"region.close",
         "region",
         "an orderly close, and an opening after it",
         [](auto& s) { load(s, 4); },
         [](auto& s) {
             s.put(key_of(15));
             s.model().epoch_ended(s.machine().epochs().current_epoch());
             s.close();
             s.open();
             s.put(key_of(25));
         },
         {}},
        {"threads.leaf",
         "masstree",
         "two threads in one leaf",
         [](auto& s) { load(s, 4); },
         [](auto&) {},
         {},
         1,
         false,
         u64{16} << 20,
         2,
         write_as_thread},
        {"threads.split",
         "masstree",
         "three threads, leaves split",
         [](auto& s) { load(s, 14); },
         [](auto&) {},
         {},
         1,
         false,
         u64{16} << 20,
         3,
         write_as_thread},
        {"threads.read",
         "masstree",
         "two threads write, one reads",
         [](auto& s) { load(s, 13); },
         [](auto&) {},
         {},
         1,
         false,
         u64{16} << 20,
         3,
         write_or_read},
        {"threads.epochs",
         "checkpoint",
         "two threads write, one ends epochs",
         [](auto& s) { load(s, 12); },
         [](auto&) {},
         {},
         1,
         false,
         u64{16} << 20,
         3,
         write_or_end_epochs},
        {"threads.recovery",
         "masstree",
         "leaves are recovered by two threads at once",
         [](auto& s) {
             load(s, 12);
             change_leaf(s);
             s.crash();
             s.open();
             s.adopt(0);
         },
         [](auto&) {},
         {},
         1,
         false,
         u64{16} << 20,
         2,
         touch_and_write},
    };
    return cases;
}

}  // namespace hf::lab
