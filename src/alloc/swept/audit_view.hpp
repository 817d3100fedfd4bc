// alloc/swept/audit_view.hpp: the audit's view of a swept heap.
//
// For a file that is not open, the audit reports double owners, and owners of something that is not
// a block; unclaimed blocks count as free. With the open heap, after its sweep, it finds leaks,
// too: blocks that are neither claimed nor in one of the heap's lists.
#pragma once

#include "alloc/audit.hpp"
#include "alloc/swept_heap.hpp"

namespace hf::swept {

class view final : public audit_view {
   public:
    explicit view(const region& r) : region_(r) {}
    /// `caches`: those of all threads. No operation may be running.
    view(const swept_heap& live, std::span<const swept_heap::cache* const> caches)
        : region_(live.store()), live_(&live), caches_(caches.begin(), caches.end()) {}

    [[nodiscard]] std::optional<bounds> look_at(const segment& s, bool first,
                                                audit_report& report) override;
    [[nodiscard]] u64 descriptor_of(const segment& s, u64 page) const override {
        return swept::descriptor_of({s.offset, s.pages}, page);
    }
    [[nodiscard]] page_run run_at(const segment& s, u64 page) const override {
        return descriptors{region_}.run_at({s.offset, s.pages}, page);
    }
    void check_run(const segment& s, u64 page, const page_run& run, audit_report& report) override;
    void read_free(heap_audit& audit) override;
    void read_counters(heap_audit&) override {}
    [[nodiscard]] bool unclaimed_is_free() const override { return live_ == nullptr; }
    void finish(heap_audit&) override {}
    [[nodiscard]] const char* name_of(block_state s) const override;

   private:
    const region& region_;
    const swept_heap* live_ = nullptr;
    std::vector<const swept_heap::cache*> caches_;
};

}  // namespace hf::swept
