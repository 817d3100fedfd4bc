// A heap whose blocks the test owns, and its audit.
#pragma once

#include "base/random.hpp"
#include "checkpoint/heap/audit.hpp"
#include "heap_on_tmpfs.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace hf::test {

class owned_heap : public heap_on_tmpfs {
   protected:
    struct owned {
        u64 offset;
        u64 payload;
    };

    u64 allocate(u64 payload) {
        mine_.push_back({heap_on_tmpfs::allocate(payload), payload});
        return mine_.back().offset;
    }
    void release(std::size_t index) {
        heap_on_tmpfs::release(mine_[index].offset, mine_[index].payload);
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
            const auto p = audit.locate_payload(o.offset);
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
    void expect(std::string_view text) { expect_in(look(), text); }
    /// The same, and that the audit has not seen everything, or has.
    void expect(std::string_view text, bool complete) {
        const audit_report report = look();
        expect_in(report, text);
        EXPECT_EQ(report.complete(), complete) << text;
    }
    static void expect_in(const audit_report& report, std::string_view text) {
        EXPECT_FALSE(report.ok());
        EXPECT_NE(report.to_string().find(text), std::string::npos)
            << "not found: " << text << "\nin:\n"
            << report.to_string();
    }
    void expect_ok() { EXPECT_TRUE(look().ok()) << look().to_string(); }
    heap_segment& segment_at(u64 offset = layout::page_size) {
        return *up_.file().at<heap_segment>(offset);
    }
    class_lists& lists_of(u64 payload) {
        operation op(up_.checkpoint());
        return heap_->lists(heap_->set_of_lane(op.my_lane().index),
                            class_of_block(payload + block_header_size, heap_->classes()));
    }

    std::vector<owned> mine_;
};

}  // namespace hf::test
