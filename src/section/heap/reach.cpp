// Conservative collection: blocks that no root reaches are freed. It runs in open(), before other
// threads use the group: pointers in ordinary memory, which the collector cannot see, do not exist
// yet.
//
// The search ends as soon as every block is reached, and small blocks are read first: directories
// of a program's memory (lists of pages, tables) usually lie in these, so that the bulk of its data
// need not be read before it can answer.
#include "section/group.hpp"

#include <algorithm>
#include <unordered_set>
#include <vector>

namespace hf::section {
namespace {

class marker {
   public:
    /// `blocks`: how many are allocated.
    marker(const heap& h, u64 blocks) : heap_(h), unreached_(blocks) {}

    void follow(const void* address) {
        const u64 page = page_of(address);
        if (page < settled_.size() && settled_[page] != 0) return;
        const block_ref b = heap_.find(address);
        if (b.run == nullptr || !reached_.insert(b.begin).second) return;
        --unreached_;
        (b.bytes <= max_small ? small_ : large_).push_back(b);
        if (b.run->kind == run_kind::large) settle(*b.run);
    }
    void run() {
        while (unreached_ != 0 && !(small_.empty() && large_.empty())) {
            auto& todo = small_.empty() ? large_ : small_;
            const block_ref b = todo.back();
            todo.pop_back();
            read(b);
        }
    }
    [[nodiscard]] bool has_all() const { return unreached_ == 0; }
    void set_window(const void* base) { window_ = reinterpret_cast<u64>(base) & ~window_mask; }
    [[nodiscard]] bool has(const void* block) const { return reached_.contains(block); }

   private:
    void read(const block_ref& b) {
        const auto* const words = reinterpret_cast<const u64*>(b.begin);
        for (u64 i = 0; i < b.bytes / sizeof(u64); ++i) {
            if (is_in_window(words[i])) follow(reinterpret_cast<const void*>(words[i]));
        }
    }
    [[nodiscard]] static u64 page_of(const void* p) {
        return (reinterpret_cast<u64>(p) & window_mask) / page_bytes;
    }
    /// Further pointers to the pages of a large block that is reached tell nothing.
    void settle(const run_header& run) {
        const u64 first = page_of(&run);
        if (settled_.size() < first + run.pages) settled_.resize(first + run.pages);
        std::fill_n(settled_.begin() + static_cast<std::ptrdiff_t>(first), run.pages, u8{1});
    }
    [[nodiscard]] bool is_in_window(u64 word) const { return (word & ~window_mask) == window_; }

    const heap& heap_;
    u64 window_ = 0;
    u64 unreached_;
    std::unordered_set<const void*> reached_;
    std::vector<block_ref> small_;  ///< reached and not read yet
    std::vector<block_ref> large_;
    std::vector<u8> settled_;  ///< a byte a page; 1: all of it is in a large block that is reached
};

void add_unreached(const run_header& run, const marker& marked, std::vector<void*>& into) {
    auto* const base = reinterpret_cast<std::byte*>(const_cast<run_header*>(&run));
    if (run.kind == run_kind::large && !marked.has(base + run.payload)) {
        into.push_back(base + run.payload);
    }
    if (run.kind != run_kind::slab) return;
    const slab_shape& shape = slab_shapes[run.size_class];
    for (u64 b = 0; b < shape.blocks; ++b) {
        if (!heap::is_allocated(run, b)) continue;
        std::byte* const block = base + shape.first + b * class_bytes(run.size_class);
        if (!marked.has(block)) into.push_back(block);
    }
}

}  // namespace

u64 reclaim_unreachable(heap& h, const group_table& table, change& by) {
    marker marked(h, h.allocated_blocks());
    marked.set_window(&table);
    for (const region_entry& r : table.regions) {
        for (const root_entry& root : r.roots) {
            if (root.value != nullptr) marked.follow(root.value);
        }
    }
    marked.run();
    if (marked.has_all()) return 0;
    std::vector<void*> unreached;
    h.walk([&](run_header& run) { add_unreached(run, marked, unreached); });
    u64 bytes = 0;
    for (void* block : unreached) {
        const own_section one(by);
        bytes += h.usable(block);
        h.free(by, block);
    }
    return bytes;
}

}  // namespace hf::section
