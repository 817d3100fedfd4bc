#include "crashlab/targets/alloc/swept_cases.hpp"

#include "alloc/size_class.hpp"
#include "crashlab/targets/eager/eager_cases.hpp"
#include "index/clht/clht.hpp"

namespace hf::lab {
namespace {

/// Values whose blocks no other structure uses: the first record creates a slab of two pages.
struct long_values {};

}  // namespace

template <>
struct lab_keys<long_values> : lab_keys<byte_keys> {
    static std::string value(u64 number) { return std::to_string(number) + std::string(4400, 'v'); }
};

namespace {

struct small_shape {
    static constexpr unsigned chunk_bits = 2;
    static constexpr unsigned group_bits = 1;
    static constexpr unsigned frontier_groups = 1;
};
using session = eager_session<clht<eager_discipline, byte_keys, small_shape>, long_values>;

// S4: a run's word was set to 0 only in the cache. After a power failure the old word is back, and
// claims the run's pages again. That is harmful if the page is free and the pages after it were
// allocated by words in other lines: their contents are then taken for the old run's.
//
//   pages      ... | before | it                         | ...
//   first          | free   | freed, killed before its flush
//   then           | covering, freed  | a slab |           both durably
//
// A line has the words of eight pages.
constexpr u64 before = 64;
constexpr u64 it = 128;
constexpr u64 covering = before + 9;

u64 take_pages(session& s, u64 pages) {
    session::operation op(s.space());
    return eager_must(op.allocate(pages * layout::page_size));
}
void give_back(session& s, u64 offset) {
    session::operation op(s.space());
    op.cancel(offset);
}
u64 to_be_freed = 0;  ///< of the running case
void have_a_run(session& s) {
    const u64 front = take_pages(s, before);
    to_be_freed = take_pages(s, it);
    require(to_be_freed == front + before * layout::page_size, "two runs are not neighbours");
    give_back(s, front);
}
void free_the_run(session& s, splitmix64&) { give_back(s, to_be_freed); }

/// Allocates the single free pages between others, one block each.
std::vector<u64> plug_gaps(session& s) {
    constexpr u32 smallest = 512;  // smaller classes have slabs already
    std::vector<u64> plugs;
    session::operation op(s.space());
    for (u32 c = 0; c < block_classes; ++c) {
        if (slab_pages(c) != 1 || block_size(c) < smallest) continue;
        plugs.push_back(eager_must(op.allocate(block_size(c))));
    }
    return plugs;
}
void cover_it(session& s) {
    const auto plugs = plug_gaps(s);
    require(plugs.size() + 8 < before, "the covering run does not begin in front of the freed one");
    const u64 cover = take_pages(s, covering);
    s.upsert(0);
    give_back(s, cover);
    s.get(0);
    for (const u64 p : plugs) give_back(s, p);
}

// W6: two slabs run empty side by side, and their pages become a record's slab, since the region is
// full.
std::vector<u64> to_run_empty;  ///< of the running case
void fill_but_two_slabs(session& s) {
    session::operation op(s.space());
    to_run_empty = {eager_must(op.allocate(3072)), eager_must(op.allocate(8192))};
    while (op.allocate(2 * layout::page_size)) {
    }
}
void use_what_runs_empty(session& s, splitmix64&) {
    for (const u64 block : to_run_empty) give_back(s, block);
    s.upsert(1);
    s.upsert(2);
}

const std::vector<eager_case<session>>& cases() {
    static const std::vector<eager_case<session>> all{
        {.name = "swept.covered",
         .what = "what a killed process was freeing is covered by another's memory",
         .prepare = have_a_run,
         .run = free_the_run,
         .points = {"swept S4: page words that were found are durable before pages are taken",
                    "swept S2: freed runs' words are durably 0 before their pages are used"},
         .work_first = cover_it},
        {.name = "swept.emptied",
         .what = "slabs that have run empty become pages of another size",
         .prepare = fill_but_two_slabs,
         .run = use_what_runs_empty,
         .points = {"swept S1: a run's word is durable before its memory is handed out",
                    "swept S2: freed runs' words are durably 0 before their pages are used"},
         .most_bytes = u64{2} << 20}};
    return all;
}

}  // namespace

const std::vector<target_description>& swept_cases() {
    static const std::vector<target_description> all = [] {
        std::vector<target_description> found;
        for (const auto& c : cases()) {
            found.push_back(describe(c, "alloc", eager_rules_for_groups()));
        }
        return found;
    }();
    return all;
}

}  // namespace hf::lab
