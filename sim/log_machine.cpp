#include "sim/log_machine.hpp"

namespace hf::sim {

namespace {
constexpr u64 lines_for(u64 bytes) noexcept { return (bytes + line_size - 1) / line_size; }
constexpr u64 word_bytes = 8;
}  // namespace

log_machine::log_machine(const hardware& h, u64 pages, const std::vector<log_config>& logs)
    : pages_(pages), tlbs_(h), caches_(h), clock_(h.takes), updated_(pages) {
    HF_CHECK(h.cores == 1, "the logs are simulated for one core");
    for (const log_config& l : logs) logs_.emplace_back(l, h.takes);
}

bool log_machine::load(unsigned core, u64 address, unsigned bytes) {
    for (u64 at = address; at < address + bytes; at = align_down(at, line_size) + line_size) {
        ++common_.loads;
        access(core, at, false);
    }
    return true;
}

bool log_machine::store(unsigned core, u64 address, unsigned bytes) {
    for (u64 at = address; at < address + bytes; at = align_down(at, line_size) + line_size) {
        ++common_.stores;
        core_state& c = cores_[core];
        if (c.is_running && is_persistent(at)) {
            ++common_.transactional_stores;
            const u64 v = at / shadow::page_size;
            HF_CHECK(v < pages_, "an access beyond the simulated memory");
            const shadow::line_set bit =
                shadow::only(static_cast<unsigned>(at / line_size % shadow::lines_per_page));
            const bool is_first = (updated_[v] & bit) == 0;
            if (updated_[v] == 0) c.pages.push_back(v);
            updated_[v] |= bit;
            c.lines += is_first ? 1 : 0;
            record(core, is_first);
        } else if (is_persistent(at)) {
            ++common_.unprotected_stores;
        }
        access(core, at, true);
    }
    return true;
}

void log_machine::access(unsigned core, u64 address, bool is_store) {
    const bool persistent = is_persistent(address);
    translate(core, page_of(address), !is_store);
    clock_.accessed(caches_.access(core, address / line_size, is_store), persistent);
}

void log_machine::translate(unsigned core, u64 page, bool is_load) {
    const tlbs::found where = tlbs_.touch(core, page, [](u64) { return false; });
    clock_.translated(where);
    if (where == tlbs::found::first) return;
    ++common_.l1_tlb_misses;
    if (where != tlbs::found::nowhere) return;
    ++common_.tlb_misses;
    if (is_load) ++common_.tlb_load_misses;
}

/// Before a transactional store.
void log_machine::record(unsigned /*core*/, bool is_first_of_line) {
    for (log_state& l : logs_) {
        const bool of_line = l.how.of == log_config::granularity::line;
        if (of_line && !is_first_of_line) continue;
        append(l, l.how.head_bytes + (of_line ? line_size : word_bytes));
    }
}

void log_machine::append(log_state& l, u64 bytes) {
    if (l.how.is_redo || l.how.how == log_config::packing::batched) {
        l.pending += bytes;
        return;
    }
    u64 lines = lines_for(bytes);
    if (l.how.how == log_config::packing::packed) {
        // The line that the last record ended in is flushed again.
        lines = (l.at + bytes - 1) / line_size - l.at / line_size + 1;
        l.at += bytes;
    }
    flush_log(l, lines, source::log);
    l.clock.fence();
}

void log_machine::flush_log(log_state& l, u64 lines, source s) {
    l.flushes[static_cast<std::size_t>(s)] += lines;
    for (u64 i = 0; i < lines; ++i) {
        l.clock.flush();
        if (&l == &logs_.front()) {
            wear_.write((pages_ + 1) * shadow::lines_per_page + ring_at_++ % ring_lines);
        }
    }
}

void log_machine::begin(unsigned core) {
    HF_CHECK(!cores_[core].is_running, "a core begins a transaction within another");
    cores_[core].is_running = true;
}

void log_machine::flush_data(core_state& c) {
    for (const u64 v : c.pages) {
        for (shadow::line_set left = updated_[v]; left != 0; left &= left - 1) {
            const u64 line = v * shadow::lines_per_page + static_cast<u64>(std::countr_zero(left));
            caches_.clean(line);
            wear_.write(line);
        }
        updated_[v] = 0;
    }
    c.pages.clear();
    c.lines = 0;
}

void log_machine::commit(unsigned core) {
    core_state& c = cores_[core];
    HF_CHECK(c.is_running, "a core commits without a transaction");
    c.is_running = false;
    ++common_.transactions;
    if (c.lines == 0) return;
    for (log_state& l : logs_) commit_one(l, c.lines);
    flush_data(c);
}

void log_machine::commit_one(log_state& l, u64 data_lines) {
    if (l.how.markers == 2) {
        flush_log(l, 1, source::marker);  // of the begin; its place in time does not matter here
        l.clock.fence();
    }
    if (l.pending != 0) {
        flush_log(l, lines_for(l.pending), source::log);
        l.clock.fence();
        l.pending = 0;
    }
    if (l.how.is_redo && l.how.markers != 0) {
        flush_log(l, 1, source::marker);
        l.clock.fence();
    }
    l.flushes[static_cast<std::size_t>(source::data)] += data_lines;
    if (l.how.is_redo) {
        l.clock.in_background(0, data_lines);
        return;
    }
    for (u64 i = 0; i < data_lines; ++i) l.clock.flush();
    l.clock.fence();
    if (l.how.markers != 0) {
        flush_log(l, 1, source::marker);
        l.clock.fence();
    }
}

void log_machine::abort(unsigned core) {
    core_state& c = cores_[core];
    HF_CHECK(c.is_running, "a core aborts without a transaction");
    c.is_running = false;
    ++common_.aborts;
    common_.rolled_back_lines += c.lines;
    for (log_state& l : logs_) {
        l.pending = 0;
        if (l.how.is_redo || c.lines == 0) continue;
        l.flushes[static_cast<std::size_t>(source::data)] += c.lines;
        for (u64 i = 0; i < c.lines; ++i) l.clock.flush();
        l.clock.fence();
    }
    flush_data(c);
}

counters log_machine::numbers(std::size_t log) const {
    counters n = common_;
    n.flushes = logs_[log].flushes;
    n.write_backs = caches_.write_backs() - write_backs_before_;
    clock_.add_to(n);
    logs_[log].clock.add_to(n);
    return n;
}

void log_machine::reset_numbers() {
    common_ = {};
    clock_.reset();
    for (log_state& l : logs_) {
        l.flushes = {};
        l.clock.reset();
    }
    wear_.clear();
    write_backs_before_ = caches_.write_backs();
}

}  // namespace hf::sim
