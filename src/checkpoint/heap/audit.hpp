// checkpoint/heap/audit.hpp: the books of list_heap, as the audit reads them (alloc/audit.hpp).
//
// Everything is read through its logs: failed epochs count as undone.
// Cost. One read of each page descriptor, of each list head and of each free block's header.
#pragma once

#include "alloc/audit.hpp"
#include "checkpoint/failed_set.hpp"
#include "checkpoint/heap/layout.hpp"

namespace hf {

class rolled_back_view : public audit_view {
   public:
    rolled_back_view(const region& r, const failed_set& failed, u64 current_epoch)
        : region_(r), failed_(failed), current_(current_epoch) {}

    [[nodiscard]] std::optional<bounds> look_at(const segment& s, bool first,
                                                audit_report& report) override;
    [[nodiscard]] u64 descriptor_of(const segment& s, u64 page) const override;
    [[nodiscard]] page_run run_at(const segment& s, u64 page) const override;
    void check_run(const segment& s, u64 page, const page_run& run, audit_report& report) override;
    [[nodiscard]] std::optional<own_room> founding() const override;
    void read_free(heap_audit& audit) override;
    void read_counters(heap_audit& audit) override;
    void finish(heap_audit& audit) override;
    [[nodiscard]] const char* name_of(block_state s) const override;

   private:
    template <class T>
    [[nodiscard]] const T& at(u64 offset) const noexcept {
        return *reinterpret_cast<const T*>(region_.base() + offset);
    }
    void read_group(heap_audit& audit, const class_lists& g, u32 set, u32 size_class);
    void read_chain(heap_audit& audit, u64 head, u32 size_class, u64 from, bool pending);
    void read_bump(heap_audit& audit, u64 word, u32 size_class, u64 from);
    [[nodiscard]] bool was_undone(const class_lists& g) const noexcept;
    [[nodiscard]] u64 list_value(const class_lists& g, unsigned which) const noexcept;
    [[nodiscard]] const heap_root* root() const noexcept;

    const region& region_;
    const failed_set& failed_;
    u64 current_;
    segment first_;
    u64 root_offset_ = 0;
    std::optional<root_layout> layout_;  ///< of the heap's root, if it says
};

namespace detail {
struct rolled_back_books {
    rolled_back_view view;
};
}  // namespace detail

/// The audit of a list_heap.
class rolled_back_audit : private detail::rolled_back_books, public heap_audit {
   public:
    rolled_back_audit(const region& r, const failed_set& failed, u64 current_epoch,
                      audit_report& report)
        : rolled_back_books{{r, failed, current_epoch}}, heap_audit(r, view, report) {}
};

}  // namespace hf
