// A heap whose lists roll back, on a region of its own, with epochs that end when the test says so.
#pragma once

#include "checkpoint/heap/heap.hpp"
#include "checkpoint/opening.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <memory>

namespace hf::test {

class heap_on_tmpfs : public on_tmpfs {
   protected:
    void open() { must(try_to_open()); }
    result<void> try_to_open() {
        close();
        region_options o;
        o.initial_size = initial_size_;
        o.max_size = max_size_;
        o.flush = flush_policy::always;
        up_ = checkpointed_region(must(open_region(file, o)));
        checkpoint_options by_hand;
        by_hand.epoch = no_clock;
        opening up(up_, by_hand);
        up.add(recovery_phase::format, "format", [&]() -> result<void> {
            if (!up_.file().created()) return {};
            auto formatted = format_1_ ? format_heap_1(up_.file()) : format_heap(up_.file());
            return formatted ? result<void>{} : tl::unexpected(formatted.error());
        });
        up.add(recovery_phase::allocator, "heap", [&] {
            heap_ = std::make_unique<heap<incll_discipline>>(up_.checkpoint());
            return heap_->recover();
        });
        return up.run();
    }
    /// Without an orderly end: a crash.
    void close() {
        heap_.reset();
        up_ = {};
    }
    u64 allocate(u64 payload) {
        operation op(up_.checkpoint());
        op.my_lane().mark_written();
        if (!is_large(payload)) return must(heap_->allocate(op, payload));
        const u64 offset = must(heap_->reserve_large(op, payload));
        heap_->commit_large(op, offset, payload);
        return offset;
    }
    void release(u64 offset, u64 payload) {
        operation op(up_.checkpoint());
        op.my_lane().mark_written();
        heap_->deallocate(op, offset, payload);
    }

    u64 initial_size_ = u64{16} << 20;
    u64 max_size_ = 0;
    bool format_1_ = false;  ///< what is made new
    checkpointed_region up_;
    std::unique_ptr<heap<incll_discipline>> heap_;
};

}  // namespace hf::test
