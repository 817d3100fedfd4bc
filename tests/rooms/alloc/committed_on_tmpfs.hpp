// A committed heap on a region of its own, whose transactions are as if their commit records were
// durable at once.
#pragma once

#include "alloc/committed/audit_view.hpp"
#include "alloc/committed_heap.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace hf::test {

class committed_test : public test::on_tmpfs {
   protected:
    using blocks = std::map<u64, u64>;  // offset -> size

    /// Not for ever, should a mistake make it grow.
    void open(u64 max_size = u64{1} << 30) {
        heap_.reset();
        region_.reset();
        region_options o;
        o.initial_size = u64{16} << 20;
        o.max_size = max_size;
        region_ = must(region::open(file, o));
        heap_ = std::make_unique<committed_heap>(*region_);
        must(heap_->open());
    }
    /// As if the commit record had become durable, and all of the rest.
    void commit(heap_batch& b) {
        static_cast<void>(b.changes());
        b.apply();
        b.settle();
    }
    u64 allocate(u64 size) {
        heap_batch b(*heap_);
        const u64 offset = must(b.reserve(size));
        commit(b);
        return offset;
    }
    void free(u64 offset, u64 size) {
        heap_batch b(*heap_);
        b.release(offset, size);
        commit(b);
    }
    audit_report look(const blocks& owned) {
        audit_report report;
        committed::view books(*region_);
        heap_audit audit(*region_, books, report);
        audit.read_runs();
        audit.read_free();
        for (const auto& [offset, size] : owned) {
            const auto p = audit.locate(offset, 0);
            if (!p || !audit.fits(*p, size, 0)) {
                report.add(offset, "no place for " + std::to_string(size) + " bytes");
            } else {
                audit.claim(*p, "the block", 0);
            }
        }
        audit.finish();
        return report;
    }
    void expect_owned(const blocks& owned) {
        const audit_report report = look(owned);
        ASSERT_TRUE(report.ok()) << report.to_string();
    }
    void expect_violation(const blocks& owned, std::string_view text) {
        const std::string all = look(owned).to_string();
        EXPECT_NE(all.find(text), std::string::npos) << "not found: " << text << "\nin:\n" << all;
    }
    /// All bytes of the region, to be compared.
    std::string medium() {
        return {reinterpret_cast<const char*>(region_->base()), region_->size()};
    }

    std::unique_ptr<region> region_;
    std::unique_ptr<committed_heap> heap_;
};

}  // namespace hf::test
