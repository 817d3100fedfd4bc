// Each line of the answers to `stats` and `stats settings` shows the counter that it names.
#include "server/stats_report.hpp"

#include "base/clock.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <map>
#include <sstream>
#include <string>

namespace hf::detail {
namespace {

using lines = std::map<std::string, std::string>;

lines lines_of(const std::string& report) {
    EXPECT_TRUE(report.ends_with("\r\nEND\r\n"));
    lines all;
    std::istringstream in(report);
    std::string line;
    while (std::getline(in, line) && line != "END\r") {
        EXPECT_TRUE(line.starts_with("STAT ") && line.ends_with("\r")) << line;
        const auto name = line.substr(5, line.find(' ', 5) - 5);
        const auto value = line.substr(6 + name.size(), line.size() - 7 - name.size());
        EXPECT_TRUE(all.emplace(name, value).second) << name << " comes twice";
    }
    EXPECT_FALSE(std::getline(in, line)) << "something follows";
    return all;
}

server_options options() {
    server_options o;
    o.address = "127.0.0.9";
    o.port = 4711;
    o.threads = 5;
    o.max_item_size = 12345;
    o.max_connections = 77;
    o.max_pending_output = 54321;
    o.max_total_output = 98765432;
    o.purge_rate = 88;
    return o;
}

lines report_of(const statistics& s, const server_options& o = options()) {
    const server_facts facts{1'700'000'001, now_ns() - 7'500'000'000, 3, 4, 6, "1.2.3"};
    tallies counted{};
    for (std::size_t i = 0; i < counted.size(); ++i) counted[i] = 9000 + i;
    return lines_of(general_report(facts, o, counted, s));
}

statistics some() {
    statistics s;
    s.epoch = 101;
    s.durable_epoch = 102;
    s.failed_epochs = 103;
    s.generation = 104;
    s.recovered = true;
    s.recovery_ns = 105'999;
    s.recovered_entries = 106;
    s.recovered_records = 107;
    s.flushes = 108;
    s.fences = 109;
    s.flushed_bytes = 110;
    s.fence_latency_ns = 134;
    s.log_entries = 111;
    s.log_bytes = 112;
    s.pause = {113, 114'999, 115'999, 116'999, 117'999};
    s.region_bytes = 118;
    s.most_bytes = 132;
    s.allocated_bytes = 119;
    s.free_bytes = 120;
    s.hint_bytes = 131;
    s.records = 133;
    s.discipline = "incll";
    s.index = "masstree";
    s.medium = "file";
    s.image = "journalled";
    s.flush_instruction = "clwb";
    s.path = "path";
    s.journal = {121, 122, 123, 124, 125'999, 126'999'999, 127, 128, 129, 130, ""};
    return s;
}

TEST(stats_report, has_every_line_and_no_other) {
    rusage used{};
    while (used.ru_utime.tv_sec == 0 && used.ru_utime.tv_usec == 0) {
        ::getrusage(RUSAGE_SELF, &used);
    }
    lines all = report_of(some());
    EXPECT_GT(std::stod(all.at("rusage_user")), 0.0);
    EXPECT_EQ(all.at("pid"), std::to_string(::getpid()));
    for (const auto* name : {"rusage_user", "rusage_system"}) {
        const std::string seconds = all.at(name);
        EXPECT_EQ(seconds.size() - seconds.find('.'), 7U) << seconds;
        EXPECT_EQ(seconds.find_first_not_of("0123456789."), seconds.npos);
        all.erase(name);
    }
    EXPECT_GE(std::stoi(all.at("uptime")), 7);
    EXPECT_LT(std::stoi(all.at("uptime")), 1000);
    all.erase("pid");
    all.erase("uptime");
    EXPECT_EQ(all, (lines{{"time", "1700000001"},
                          {"version", "1.6.18"},
                          {"holdfast_version", "1.2.3"},
                          {"pointer_size", "64"},
                          {"max_connections", "77"},
                          {"curr_connections", "3"},
                          {"total_connections", "4"},
                          {"rejected_connections", "6"},
                          {"cmd_get", "9000"},
                          {"cmd_set", "9001"},
                          {"cmd_flush", "9002"},
                          {"cmd_touch", "9003"},
                          {"get_hits", "9004"},
                          {"get_misses", "9005"},
                          {"get_expired", "9006"},
                          {"get_flushed", "9007"},
                          {"delete_misses", "9008"},
                          {"delete_hits", "9009"},
                          {"incr_misses", "9010"},
                          {"incr_hits", "9011"},
                          {"decr_misses", "9012"},
                          {"decr_hits", "9013"},
                          {"cas_misses", "9014"},
                          {"cas_hits", "9015"},
                          {"cas_badval", "9016"},
                          {"touch_hits", "9017"},
                          {"touch_misses", "9018"},
                          {"store_too_large", "9019"},
                          {"store_no_memory", "9020"},
                          {"total_items", "9021"},
                          {"bytes_read", "9022"},
                          {"bytes_written", "9023"},
                          {"conn_yields", "9024"},
                          {"crawler_reclaimed", "9025"},
                          {"bytes", "119"},
                          {"limit_maxbytes", "132"},
                          {"evictions", "0"},
                          {"curr_items", "133"},
                          {"accepting_conns", "1"},
                          {"listen_disabled_num", "0"},
                          {"threads", "5"},
                          {"ack", "buffered"},
                          {"epoch", "101"},
                          {"durable_epoch", "102"},
                          {"failed_epochs", "103"},
                          {"generation", "104"},
                          {"recovered", "1"},
                          {"recovery_us", "105"},
                          {"recovered_entries", "106"},
                          {"recovered_records", "107"},
                          {"flushes", "108"},
                          {"fences", "109"},
                          {"flushed_bytes", "110"},
                          {"fence_latency_ns", "134"},
                          {"log_entries", "111"},
                          {"log_bytes", "112"},
                          {"pauses", "113"},
                          {"last_pause_us", "114"},
                          {"pause_p50_us", "115"},
                          {"pause_p99_us", "116"},
                          {"pause_max_us", "117"},
                          {"region_bytes", "118"},
                          {"allocated_bytes", "119"},
                          {"free_bytes", "120"},
                          {"hint_bytes", "131"},
                          {"discipline", "incll"},
                          {"index", "masstree"},
                          {"medium", "file"},
                          {"image", "journalled"},
                          {"flush_instruction", "clwb"},
                          {"journal_records", "121"},
                          {"journal_bytes_written", "122"},
                          {"journal_base_bytes_written", "123"},
                          {"journal_syncs", "124"},
                          {"journal_last_commit_us", "125"},
                          {"journal_late_ms", "126"},
                          {"journal_size", "127"},
                          {"journal_used", "128"},
                          {"journal_private_bytes", "129"},
                          {"journal_given_back_bytes", "130"},
                          {"journal_refuses", "no"}}));
}

TEST(stats_report, tells_of_a_journal_where_there_is_one) {
    statistics s = some();
    s.recovered = false;
    s.journal.refusal = "the disk is full";
    EXPECT_EQ(report_of(s).at("journal_refuses"), "the disk is full");
    EXPECT_EQ(report_of(s).at("recovered"), "0");
    s.journal = {};
    for (const auto& [name, value] : report_of(s))
        EXPECT_FALSE(name.starts_with("journal")) << name;
}

TEST(stats_report, settings_are_those_of_the_server) {
    server_options o = options();
    const lines expected{{"maxconns", "77"},
                         {"tcpport", "4711"},
                         {"inter", "127.0.0.9"},
                         {"num_threads", "5"},
                         {"item_size_max", "12345"},
                         {"max_pending_output", "54321"},
                         {"max_total_output", "98765432"},
                         {"purge_rate", "88"},
                         {"cas_enabled", "yes"},
                         {"flush_enabled", "yes"},
                         {"ack", "buffered"}};
    EXPECT_EQ(lines_of(settings_report(o)), expected);
    o.ack = ack_mode::durable;
    EXPECT_EQ(lines_of(settings_report(o)).at("ack"), "durable");
    EXPECT_EQ(report_of(some(), o).at("ack"), "durable");
}

}  // namespace
}  // namespace hf::detail
