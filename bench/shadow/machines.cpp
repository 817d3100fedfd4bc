#include "bench/shadow/machines.hpp"

#include <algorithm>

namespace hf::bench {

namespace {

using sim::shadow_config;

/// The paper's: one TLB level of 64 entries, consolidation at eviction, a packed journal.
shadow_config paper() {
    shadow_config c;
    c.on.stlb_sets = 0;
    c.inserts = sim::insertion::at_first_store;
    return c;
}
template <class Change>
named_machine with(std::string name, std::string what, Change&& change) {
    shadow_config c = paper();
    change(c);
    return {std::move(name), std::move(what), c};
}
named_machine with_tlb(unsigned entries) {
    return with("tlb-" + std::to_string(entries), "a DTLB of so many entries",
                [&](shadow_config& c) { c.on.tlb_entries = entries; });
}
void use_stlb(shadow_config& c) { c.on.stlb_sets = sim::hardware{}.stlb_sets; }

named_machine lazy(std::string name, u64 pages) {
    return with(std::move(name), "consolidates the oldest of so many split pages",
                [&](shadow_config& c) {
                    use_stlb(c);
                    c.when = sim::consolidation::lazily;
                    c.split_pages = pages;
                });
}

std::vector<named_machine> make_machines() {
    std::vector<named_machine> all{
        with("osp", "the paper's", [](shadow_config&) {}),
        with("osp-stlb", "the last TLB is an STLB of 1,536 entries", use_stlb),
        with("record-16", "journal records of 16 bytes a page",
             [](shadow_config& c) { c.journal_record = 16; }),
        with("super-page", "commits by super pages",
             [](shadow_config& c) { c.commits = sim::commit_path::super_page; }),
        with("super-page-stlb", "commits by super pages; with the STLB",
             [](shadow_config& c) {
                 use_stlb(c);
                 c.commits = sim::commit_path::super_page;
             }),
        with("insert-at-miss", "an entry of the state table at each TLB miss",
             [](shadow_config& c) { c.inserts = sim::insertion::at_miss; }),
        with("immediately", "consolidates after each commit",
             [](shadow_config& c) { c.when = sim::consolidation::immediately; }),
        with("background", "consolidation is off the critical path",
             [](shadow_config& c) { c.in_background = true; }),
        with("stlb-background", "with the STLB; consolidation is off the critical path",
             [](shadow_config& c) {
                 use_stlb(c);
                 c.in_background = true;
             }),
        with("pin", "pages with updated lines stay in the TLB",
             [](shadow_config& c) { c.full = sim::overflow::pin; }),
        lazy("lazy-1k", 1024),
        lazy("lazy-4k", 4096),
        lazy("lazy-8k", 8192),
        lazy("lazy-16k", 16'384),
        lazy("lazy-64k", 65'536),
        lazy("lazy-256k", 262'144)};
    for (const unsigned n : {16U, 32U, 128U, 252U}) all.push_back(with_tlb(n));
    return all;
}

std::vector<named_log> make_logs() {
    using g = sim::log_config::granularity;
    using p = sim::log_config::packing;
    std::vector<named_log> all;
    const auto add = [&](const std::string& name, bool is_redo, g of, p how, unsigned head) {
        const char* const suffixes[] = {"-0", "-1", "-2"};
        for (const unsigned markers : {1U, 0U, 2U}) {
            if (is_redo && markers == 2) continue;
            all.push_back({name + suffixes[markers], {is_redo, of, how, head, markers}});
        }
    };
    add("undo-line", false, g::line, p::packed, 16);
    add("undo-line-aligned", false, g::line, p::aligned, 16);
    add("undo-line-batched", false, g::line, p::batched, 16);
    add("undo-line-headless", false, g::line, p::aligned, 0);
    add("undo-store", false, g::store, p::packed, 16);
    add("undo-store-aligned", false, g::store, p::aligned, 16);
    add("undo-store-batched", false, g::store, p::batched, 16);
    add("redo-line", true, g::line, p::batched, 16);
    add("redo-store", true, g::store, p::batched, 16);
    return all;
}

}  // namespace

const std::vector<named_machine>& shadow_machines() {
    static const std::vector<named_machine> all = make_machines();
    return all;
}

const named_machine* find_machine(std::string_view name) {
    const auto& all = shadow_machines();
    const auto at =
        std::find_if(all.begin(), all.end(), [&](const auto& m) { return m.name == name; });
    return at == all.end() ? nullptr : &*at;
}

const std::vector<named_log>& shadow_logs() {
    static const std::vector<named_log> all = make_logs();
    return all;
}

std::vector<sim::log_config> log_configs() {
    std::vector<sim::log_config> all;
    for (const named_log& l : shadow_logs()) all.push_back(l.config);
    return all;
}

}  // namespace hf::bench
