// Workloads that meet leftovers of earlier epochs: bytes in recycled blocks, logs that were not
// cleared, lines that recovery restored.
#include "crashlab/targets/map/tree.hpp"
#include "index/masstree/incll/leaf_log.hpp"

#include <cstring>
#include <thread>

namespace hf::lab {
namespace {

void load(tree_session& s, u64 count) {
    for (u64 i = 1; i <= count; ++i) s.put(key_of(i * 10), 8);
    s.end_epoch();
}

// ------------------------------------------------------------------------------------------- alloc

// One leftover of each kind in a failed epoch: a list joined to another, whose tail changes; a new
// slab; a freed extent.
void fail_in_allocator(tree_session& s) {
    s.put(key_of(200), 66'000);
    load(s, 12);
    for (const u64 i : {1, 2, 3}) s.remove(key_of(i * 10));
    s.end_epoch();
    for (const u64 i : {4, 5}) s.remove(key_of(i * 10));
    s.end_epoch();
    s.remove(key_of(60));
    s.put(key_of(65), 120);
    s.remove(key_of(200));
    s.crash();
}
// The failed set is empty: nothing is restored any more.
void forget_failed_epoch(tree_session& s) {
    s.open();
    s.adopt(0);
    s.run_pass();
    s.put(key_of(65), 120);
    s.end_epoch();
}

// The pass builds an index of free runs, from which the failed epoch's slab is allocated again.
void take_fresh_slab_again(tree_session& s) {
    s.put(key_of(65), 120);
    s.crash();
    s.open();
    s.adopt(0);
    s.run_pass();
    s.put(key_of(65), 120);
    s.end_epoch();
    s.put(key_of(75), 120);
}

// ------------------------------------------------------------------------------------------- nodes

// The failed epoch's log in a spare slot is seen again two recoveries later.
void crash_beside_spare_log(tree_session& s) {
    load(s, 5);
    s.put(key_of(20), 8);
    s.put(key_of(30), 8);
    s.crash();
}
void change_and_forget_spare_log(tree_session& s) {
    s.open();
    s.adopt(0);
    s.put(key_of(30), 8);
    s.end_epoch();
    s.put(key_of(40), 8);
}

/// A record whose bytes, read as a leaf, are the fields after the version word.
std::string bytes_of(const masstree_detail::durable_leaf& n) {
    static_assert(sizeof(masstree_detail::record) == sizeof(masstree_detail::node));
    std::string bytes(sizeof n - sizeof(masstree_detail::node), '\0');
    std::memcpy(bytes.data(), reinterpret_cast<const char*>(&n) + sizeof(masstree_detail::node),
                bytes.size());
    return bytes;
}

/// Read as a leaf, the value looks changed in `epoch`, with a log wherever one is possible.
std::string misleading_value(u64 epoch) {
    masstree_detail::durable_leaf n{};
    constexpr u64 somewhere = u64{1} << 20;
    const u64 log = masstree_detail::log_word::make(
        epoch, 0, masstree_detail::value_word::of_record(somewhere), 0);
    n.order = ~u64{0};
    n.permutation_log = ~u64{0};
    n.node_epoch = epoch;
    n.log_epoch = epoch;
    n.next = somewhere;
    n.lengths = ~u64{0};
    n.low_key = ~u64{0};
    for (auto& key : n.keys) key = epoch;
    n.value_log_0 = log;
    n.value_log_1 = log;
    for (auto& value : n.values) value = log;
    return bytes_of(n);
}

constexpr u64 misleading_epoch = 5;

// Blocks with such values are free; the leaf is full.
void have_misleading_blocks(tree_session& s) {
    for (const u64 i : {20, 21, 22}) {
        s.put_value(key_of(i * 10), misleading_value(misleading_epoch));
    }
    load(s, 11);
    for (const u64 i : {20, 21, 22}) s.remove(key_of(i * 10));
    s.end_epoch();
    for (const u64 i : {12, 13, 14}) s.put(key_of(i * 10), 8);
    s.end_epoch();
}
void split_into_recycled_blocks(tree_session& s) {
    require(s.machine().epochs().current_epoch() + 1 == misleading_epoch,
            "the workload's epochs have been miscounted");
    s.put(key_of(15), 8);
    s.put(key_of(135), 8);  // so the right leaf's second line has a value, too
    s.end_epoch();
    s.put(key_of(5), 8);
    s.put(key_of(20), 8);
    s.put(key_of(130), 8);
    s.remove(key_of(140));
}

// The tree shrinks from several leaves to a root leaf.
void empty_tree(tree_session& s) {
    for (u64 i = 1; i <= 40; ++i) s.remove(key_of(i * 10));
    s.put(key_of(15), 8);
    s.end_epoch();
    for (u64 i = 1; i <= 16; ++i) s.put(key_of(i * 10), 8);
    s.end_epoch();
    s.remove(key_of(15));
}

// -------------------------------------------------------------------------------------- checkpoint

// Two threads, so two segments of the external log.
void crash_with_two_logs(tree_session& s) {
    load(s, 60);
    const auto split = [&s](u64 first) {
        for (u64 i = 1; i <= 8; ++i) s.put(key_of(first + i), 8);
    };
    split(100);
    std::thread([&] { split(400); }).join();
    s.crash();
}
// Recovery's helper threads are fibers, as recovery itself runs in one.
void recover_with_helper(tree_session& s, unsigned thread) {
    if (thread != 0) return;
    s.open(2);
    s.adopt(0);
    s.put(key_of(15), 8);
    s.end_epoch();
}

}  // namespace

const std::vector<tree_case>& stale_cases() {
    static const std::vector<tree_case> cases{
        {"alloc.forget",
         "alloc",
         "a failed epoch of the allocator is forgotten",
         fail_in_allocator,
         forget_failed_epoch,
         {}},
        {"alloc.fresh",
         "alloc",
         "a slab that a failed epoch took is taken again",
         [](auto& s) { load(s, 2); },
         take_fresh_slab_again,
         {}},
        {"leaf.forgotten",
         "masstree",
         "a spare slot's log outlives two crashes",
         crash_beside_spare_log,
         change_and_forget_spare_log,
         {}},
        {"node.recycled",
         "masstree",
         "leaves are made where records lay that look like leaves",
         have_misleading_blocks,
         split_into_recycled_blocks,
         {}},
        {"node.last",
         "masstree",
         "a tree runs empty, and fills again",
         [](auto& s) { load(s, 40); },
         empty_tree,
         {}},
        {"recovery.threads",
         "checkpoint",
         "two threads apply the external log",
         crash_with_two_logs,
         [](auto&) {},
         {},
         1,
         false,
         u64{16} << 20,
         2,
         recover_with_helper},
    };
    return cases;
}

}  // namespace hf::lab
