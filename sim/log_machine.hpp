// sim/log_machine.hpp: the baselines: transactions by an undo or a redo log, simulated.
//
// Purpose. The same accesses as a shadow_machine gets, on the same TLBs and caches, with data in
// place. One machine counts any number of ways to write the log at once (log_config), for they
// differ in flushes, fences and their time only:
//
//   undo   before the first store to a line (or before each store) a record with the old data is
//          durable; at the commit the data's lines are flushed, fence; then the marker, fence
//   redo   at the commit all records are flushed, fence; the marker, fence; the data's lines are
//          flushed, and the core does not wait for them
//
// The paper says of its baseline that it is an undo log, and "one record with actual data per
// update"; not the record's size, its packing, or how a commit is marked. So all of them are here.
#pragma once

#include "base/check.hpp"
#include "shadow/bitmaps.hpp"
#include "sim/core_clock.hpp"
#include "sim/sink.hpp"
#include "sim/wear.hpp"

#include <bit>
#include <deque>
#include <vector>

namespace hf::sim {

class log_machine final : public sink {
   public:
    log_machine(const hardware& h, u64 pages, const std::vector<log_config>& logs);

    bool load(unsigned core, u64 address, unsigned bytes) override;
    bool store(unsigned core, u64 address, unsigned bytes) override;
    void expect(unsigned core, u64 address) override {
        tlbs_.expect(core, page_of(address));
        caches_.expect(core, address / line_size);
    }
    void begin(unsigned core) override;
    void commit(unsigned core) override;
    /// The undone lines are restored from the log, each flushed; a redo log is dropped.
    void abort(unsigned core) override;

    /// Counts of the log with this index in the list, and of the accesses that all logs share.
    [[nodiscard]] counters numbers(std::size_t log) const;
    /// Writes of the data's lines and of the first log's ring.
    [[nodiscard]] wear_summary wear_of_lines() { return wear_.summary(); }
    void reset_numbers();

   private:
    struct log_state {
        explicit log_state(const log_config& c, const latencies& takes) : how(c), clock(takes) {}
        log_config how;
        decltype(counters::flushes) flushes{};
        core_clock clock;
        u64 at = 0;       ///< bytes, from the log's beginning
        u64 pending = 0;  ///< bytes of the running transaction's records
    };
    struct core_state {
        bool is_running = false;
        std::vector<u64> pages;
        u64 lines = 0;
    };
    static constexpr u64 ring_lines = 1024;

    /// As the TLBs count pages: volatile ones come after the persistent ones.
    [[nodiscard]] u64 page_of(u64 address) const noexcept {
        if (is_persistent(address)) return address / shadow::page_size;
        return pages_ + (address - volatile_memory) / shadow::page_size;
    }
    void access(unsigned core, u64 address, bool is_store);
    void translate(unsigned core, u64 page, bool is_load);
    void record(unsigned core, bool is_first_of_line);
    void append(log_state& l, u64 bytes);
    void flush_log(log_state& l, u64 lines, source s);
    void commit_one(log_state& l, u64 data_lines);
    void flush_data(core_state& c);

    u64 pages_;
    tlbs tlbs_;
    caches caches_;
    counters common_;
    core_clock clock_;
    wear wear_;
    std::vector<shadow::line_set> updated_;
    std::array<core_state, max_cores> cores_{};
    std::deque<log_state> logs_;  // they refer to themselves
    u64 ring_at_ = 0;
    u64 write_backs_before_ = 0;
};

}  // namespace hf::sim
