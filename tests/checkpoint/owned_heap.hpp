// A heap whose blocks the test owns, and its audit.
#pragma once

#include "base/random.hpp"
#include "checkpoint/heap/audit.hpp"
#include "checkpoint/heap/heap.hpp"
#include "checkpoint/opening.hpp"
#include "must.hpp"
#include "scratch.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hf::test {

class owned_heap : public on_tmpfs {
   protected:
    struct owned {
        u64 offset;
        u64 payload;
    };

    void open() { must(try_to_open()); }
    result<void> try_to_open() {
        close();
        region_options o;
        o.initial_size = initial_size_;
        up_ = checkpointed_region(must(open_region(file, o)));
        checkpoint_options by_hand;
        by_hand.epoch = no_clock;
        opening up(up_, by_hand);
        up.add(recovery_phase::format, "format", [&]() -> result<void> {
            if (!up_.file().created()) return {};
            auto formatted = format_heap(up_.file());
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
        u64 offset = 0;
        if (is_large(payload)) {
            offset = must(heap_->reserve_large(op, payload));
            heap_->commit_large(op, offset, payload);
        } else {
            offset = must(heap_->allocate(op, payload));
        }
        mine_.push_back({offset, payload});
        return offset;
    }
    void release(std::size_t index) {
        operation op(up_.checkpoint());
        op.my_lane().mark_written();
        heap_->deallocate(op, mine_[index].offset, mine_[index].payload);
        mine_[index] = mine_.back();
        mine_.pop_back();
    }
    void use(xoshiro256ss& r, unsigned times) {
        for (unsigned i = 0; i < times; ++i) {
            if (mine_.empty() || r.below(100) < 55) {
                allocate(r.below(40) == 0 ? 60'000 + r.below(400'000) : 1 + r.below(900));
            } else {
                release(r.below(mine_.size()));
            }
            if (r.below(200) == 0) up_.epochs().end_epoch();
        }
    }
    /// Claims everything that this test owns.
    audit_report look() {
        operation op(up_.checkpoint());
        return look(up_.file(), op.failed(), op.epoch());
    }
    audit_report look(const region& r, const failed_set& failed, u64 epoch) {
        audit_report report;
        rolled_back_audit audit(r, failed, epoch, report);
        audit.read_runs();
        audit.read_free();
        for (const owned& o : mine_) {
            const auto p = audit.locate(o.offset);
            if (!p || !audit.fits(*p, o.payload)) {
                report.add(o.offset, "no place for it");
                report.mark_incomplete();
            } else {
                audit.claim(*p, "the block", 0);
            }
        }
        audit.finish();
        return report;
    }
    void expect(std::string_view text) {
        const audit_report report = look();
        EXPECT_FALSE(report.ok());
        EXPECT_NE(report.to_string().find(text), std::string::npos)
            << "not found: " << text << "\nin:\n"
            << report.to_string();
    }
    /// The same, and that the audit has not seen everything, or has.
    void expect(std::string_view text, bool complete) {
        expect(text);
        EXPECT_EQ(look().complete(), complete) << text;
    }
    void expect_ok() { EXPECT_TRUE(look().ok()) << look().to_string(); }
    heap_segment& segment_at(u64 offset = layout::page_size) {
        return *up_.file().at<heap_segment>(offset);
    }
    class_lists& lists_of(u64 payload) {
        operation op(up_.checkpoint());
        return heap_->lists(op.my_lane().index, class_of_block(payload + block_header_size));
    }

    u64 initial_size_ = u64{16} << 20;
    checkpointed_region up_;
    std::unique_ptr<heap<incll_discipline>> heap_;
    std::vector<owned> mine_;
};

}  // namespace hf::test
