#include "server/stats_report.hpp"

#include "base/clock.hpp"
#include "server/protocol.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <concepts>
#include <string_view>

namespace hf::detail {
namespace {

class report {
   public:
    void line(std::string_view name, std::string_view value) {
        text_ += "STAT ";
        text_ += name;
        text_ += ' ';
        text_ += value;
        text_ += "\r\n";
    }
    void line(std::string_view name, std::integral auto value) {
        line(name, std::to_string(value));
    }
    [[nodiscard]] std::string end() {
        text_ += "END\r\n";
        return std::move(text_);
    }

   private:
    std::string text_;
};

std::string seconds_of(const timeval& t) {
    std::string micros = std::to_string(t.tv_usec);
    micros.insert(0, 6 - micros.size(), '0');
    return std::to_string(t.tv_sec) + "." + micros;
}

std::string_view name_of(ack_mode mode) {
    return mode == ack_mode::durable ? "durable" : "buffered";
}

void journal_lines(report& r, const journal_statistics& j) {
    r.line("journal_records", j.records);
    r.line("journal_bytes_written", j.record_bytes);
    r.line("journal_base_bytes_written", j.base_bytes);
    r.line("journal_syncs", j.syncs);
    r.line("journal_last_commit_us", j.last_commit_ns / 1000);
    r.line("journal_late_ms", j.late_ns / 1'000'000);
    r.line("journal_private_bytes", j.private_bytes);
    r.line("journal_given_back_bytes", j.given_back_bytes);
    r.line("journal_size", j.bytes);
    r.line("journal_used", j.used_bytes);
    r.line("journal_refuses", j.refusal.empty() ? "no" : j.refusal);
}

void checkpoint_lines(report& r, const statistics& s) {
    constexpr u64 us = 1000;
    r.line("epoch", s.epoch);
    r.line("durable_epoch", s.durable_epoch);
    r.line("failed_epochs", s.failed_epochs);
    r.line("flushes", s.flushes);
    r.line("fences", s.fences);
    r.line("flushed_bytes", s.flushed_bytes);
    r.line("fence_latency_ns", s.fence_latency_ns);
    r.line("log_entries", s.log_entries);
    r.line("log_bytes", s.log_bytes);
    r.line("pauses", s.pause.count);
    r.line("last_pause_us", s.pause.last_ns / us);
    r.line("pause_p50_us", s.pause.p50_ns / us);
    r.line("pause_p99_us", s.pause.p99_ns / us);
    r.line("pause_max_us", s.pause.max_ns / us);
    r.line("recovered", s.recovered ? 1 : 0);
    r.line("recovery_us", s.recovery_ns / us);
    r.line("recovered_entries", s.recovered_entries);
    r.line("recovered_records", s.recovered_records);
    r.line("generation", s.generation);
    r.line("region_bytes", s.region_bytes);
    r.line("allocated_bytes", s.allocated_bytes);
    r.line("free_bytes", s.free_bytes);
    r.line("hint_bytes", s.hint_bytes);
    if (s.journal.records != 0) journal_lines(r, s.journal);
    r.line("discipline", s.discipline);
    r.line("index", s.index);
    r.line("medium", s.medium);
    r.line("image", s.image);
    r.line("flush_instruction", s.flush_instruction);
}

}  // namespace

std::string general_report(const server_facts& facts, const server_options& options,
                           const tallies& counted, const statistics& s) {
    report r;
    r.line("pid", ::getpid());
    r.line("uptime", (now_ns() - facts.started_ns) / 1'000'000'000U);
    r.line("time", facts.now);
    r.line("version", memcached_version);
    r.line("holdfast_version", facts.version);
    r.line("pointer_size", 8 * sizeof(void*));
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    r.line("rusage_user", seconds_of(used.ru_utime));
    r.line("rusage_system", seconds_of(used.ru_stime));
    r.line("max_connections", options.max_connections);
    r.line("curr_connections", facts.open_connections);
    r.line("total_connections", facts.total_connections);
    r.line("rejected_connections", facts.rejected_connections);
    for (std::size_t i = 0; i < counted.size(); ++i) {
        r.line(tally_names[i], counted[i]);
    }
    // Lines that memcached dashboards read.
    if (s.records) r.line("curr_items", *s.records);
    r.line("bytes", s.allocated_bytes);
    r.line("limit_maxbytes", s.most_bytes);
    r.line("evictions", 0);  // a full store refuses writes instead
    r.line("accepting_conns", 1);
    // excess connections are accepted, get an error, and are closed
    r.line("listen_disabled_num", 0);
    r.line("threads", options.threads);
    r.line("ack", name_of(options.ack));
    checkpoint_lines(r, s);
    return r.end();
}

std::string settings_report(const server_options& options) {
    report r;
    r.line("maxconns", options.max_connections);
    r.line("tcpport", options.port);
    r.line("inter", options.address);
    r.line("num_threads", options.threads);
    r.line("item_size_max", options.max_item_size);
    r.line("max_pending_output", options.max_pending_output);
    r.line("max_total_output", options.max_total_output);
    r.line("purge_rate", options.purge_rate);
    r.line("cas_enabled", "yes");
    r.line("flush_enabled", "yes");
    r.line("ack", name_of(options.ack));
    return r.end();
}

}  // namespace hf::detail
