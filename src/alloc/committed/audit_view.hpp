// alloc/committed/audit_view.hpp: the audit's view of a committed heap. All logs must be applied,
// and no operation running. Also checks M5 (committed_heap.hpp).
#pragma once

#include "alloc/audit.hpp"
#include "alloc/committed/layout.hpp"

namespace hf::committed {

class view final : public audit_view {
   public:
    explicit view(const region& r) : region_(r) {}

    [[nodiscard]] std::optional<bounds> look_at(const segment& s, bool first,
                                                audit_report& report) override;
    [[nodiscard]] u64 descriptor_of(const segment& s, u64 page) const override;
    [[nodiscard]] page_run run_at(const segment& s, u64 page) const override;
    void check_run(const segment& s, u64 page, const page_run& run, audit_report& report) override;
    void read_free(heap_audit& audit) override;
    void read_counters(heap_audit& audit) override;
    void finish(heap_audit&) override {}
    [[nodiscard]] const char* name_of(block_state s) const override;

   private:
    [[nodiscard]] u64 read(u64 offset) const noexcept {
        return region_.at<word>(offset)->load(std::memory_order_acquire);
    }
    [[nodiscard]] u64 bits_at(u64 slab) const noexcept;
    void check_bits(const heap_span& s, u64 page, u32 used, audit_report& report) const;

    const region& region_;
};

}  // namespace hf::committed
