#include "bench/options.hpp"

#include <holdfast/eager.hpp>

#include <gtest/gtest.h>

namespace hf::bench {
namespace {

using arguments = std::vector<std::string>;

options good(const arguments& a) {
    std::string help;
    auto o = parse_options(a, help);
    EXPECT_TRUE(o.has_value() && o->has_value()) << (o ? help : o.error().to_string());
    return o && *o ? **o : options{};
}

std::string refused(const arguments& a) {
    std::string help;
    auto o = parse_options(a, help);
    EXPECT_FALSE(o.has_value()) << a.back();
    if (o) return {};
    EXPECT_EQ(o.error().exit_code(), 2);
    return o.error().to_string();
}

TEST(options, default_to_the_paper) {
    const options o = good({"ycsb"});
    EXPECT_EQ(o.what, measurement_kind::ycsb);
    EXPECT_EQ(o.records, std::vector<u64>{1'000'000});
    EXPECT_EQ(o.operations, 1'000'000U);
    EXPECT_EQ(o.value_size, 8U);
    EXPECT_EQ(o.repetitions, 5U);
    EXPECT_EQ(o.epochs.front(), std::chrono::milliseconds(64));
    EXPECT_EQ(o.disciplines, (arguments{"transient", "incll"}));
    ASSERT_EQ(o.threads.size(), 1U);
    EXPECT_GE(o.threads[0], 1U);
    EXPECT_EQ(o.fence_latencies_ns, std::vector<u32>{0});
}

TEST(options, take_what_is_said) {
    const options o =
        good({"ycsb",          "--workloads", "A,load",       "--distributions=zipfian",
              "--records",     "20M",         "--operations", "5K",
              "--threads",     "3",           "--compare",    "incll,malloc",
              "--repetitions", "7",           "--epoch",      "500ms",
              "--latency",     "pcm",         "--value-size", "100",
              "--seed",        "9",           "--dir",        "/somewhere",
              "--huge-pages",  "off",         "--json",       "-"});
    EXPECT_EQ(o.workloads, (std::vector<workload>{workload::a, workload::load}));
    EXPECT_EQ(o.distributions, std::vector<distribution>{distribution::zipfian});
    EXPECT_EQ(o.records.front(), 20'000'000U);
    EXPECT_EQ(o.operations, 5'000U);
    EXPECT_EQ(o.threads, std::vector<unsigned>{3});
    EXPECT_EQ(o.disciplines, (arguments{"incll", "malloc"}));
    EXPECT_EQ(o.repetitions, 7U);
    EXPECT_EQ(o.epochs.front(), std::chrono::milliseconds(500));
    EXPECT_EQ(o.fence_latencies_ns, std::vector<u32>{180});
    EXPECT_EQ(o.value_size, 100U);
    EXPECT_EQ(o.seed, 9U);
    EXPECT_EQ(o.directory, "/somewhere");
    EXPECT_EQ(o.huge, huge_pages::off);
    EXPECT_EQ(o.json, "-");
}

TEST(options, of_recovery_and_pause_take_lists) {
    EXPECT_EQ(good({"recovery", "--records", "1M,2M"}).records,
              (std::vector<u64>{1'000'000, 2'000'000}));
    EXPECT_GE(good({"recovery"}).records.size(), 2U);
    EXPECT_EQ(good({"recovery", "--log-entries", "5"}).log_entries, 5U);
    EXPECT_EQ(good({"pause", "--epoch", "16,1s"}).epochs,
              (std::vector<std::chrono::microseconds>{std::chrono::milliseconds(16),
                                                      std::chrono::seconds(1)}));
}

TEST(options, that_make_no_sense_are_refused) {
    refused({});
    EXPECT_NE(refused({"bench-press"}).find("there is no 'bench-press'"), std::string::npos);
    refused({"ycsb", "--no-such"});
    refused({"ycsb", "surplus"});
    refused({"ycsb", "--workloads", "D"});
    refused({"ycsb", "--workloads", "A,,B"});
    refused({"ycsb", "--workloads", "A,A"});
    refused({"ycsb", "--distributions", "pareto"});
    refused({"ycsb", "--compare", "incll,eager"});
    refused({"ycsb", "--discipline", "incll,logged"});
    refused({"ycsb", "--records", "0"});
    refused({"ycsb", "--records", "10Q"});
    refused({"ycsb", "--records", "-5"});
    refused({"ycsb", "--records", "1M,2M"});
    refused({"ycsb", "--records", "99999999999999999999"});
    refused({"ycsb", "--records", "18446744073709551615G"});
    refused({"ycsb", "--operations", "1.5M"});
    refused({"ycsb", "--threads", "0"});
    refused({"ycsb", "--threads", "201"});
    refused({"ycsb", "--threads", "1,1"});
    refused({"ycsb", "--latency", "0,1001"});
    refused({"recovery", "--threads", "1,2"});
    refused({"pause", "--latency", "0,pcm"});
    refused({"ycsb", "--threads", "many"});
    refused({"ycsb", "--repetitions", "0"});
    refused({"ycsb", "--epoch", "0"});
    refused({"ycsb", "--epoch", "11s"});
    refused({"ycsb", "--epoch", "500us"});
    refused({"ycsb", "--epoch", "64min"});
    refused({"ycsb", "--latency", "1001"});
    refused({"ycsb", "--latency", "flash"});
    refused({"ycsb", "--value-size", "65536"});
    refused({"ycsb", "--huge-pages", "maybe"});
    refused({"ycsb", "--log-entries", "5"});
    refused({"recovery", "--workloads", "A"});
    refused({"recovery", "--discipline", "transient"});
}

TEST(options, of_compare_default_to_what_the_docs_say) {
    const options o = good({"compare"});
    EXPECT_EQ(o.what, measurement_kind::compare);
    const compare_options& c = o.compare;
    EXPECT_EQ(c.peers, (arguments{"rocksdb", "lmdb"}));
    EXPECT_EQ(c.workloads, (std::vector<workload>{workload::a, workload::b}));
    EXPECT_EQ(c.distributions, std::vector<distribution>{distribution::zipfian});
    EXPECT_EQ(c.acks, (std::vector<acknowledge>{acknowledge::behind, acknowledge::durable}));
    EXPECT_EQ(c.records, 10'000'000U);
    EXPECT_EQ(c.value_size, 100U);
    EXPECT_EQ(c.clients, 64U);
    EXPECT_EQ(c.window, std::chrono::milliseconds(64));
    EXPECT_EQ(c.operations, 0U);
    EXPECT_GE(c.threads, 1U);
    EXPECT_FALSE(c.check);
    EXPECT_FALSE(o.json);
}

TEST(options, of_compare_take_what_is_said) {
    const options o = good({"compare",
                            "--peers",
                            "lmdb",
                            "--workloads",
                            "C",
                            "--ack",
                            "durable",
                            "--dir",
                            "/somewhere",
                            "--check",
                            "--records",
                            "200K",
                            "--seconds",
                            "3",
                            "--clients",
                            "7",
                            "--threads",
                            "5",
                            "--window",
                            "9ms",
                            "--json",
                            "-",
                            "--seed",
                            "4",
                            "--repetitions",
                            "9",
                            "--distributions",
                            "uniform,zipfian",
                            "--value-size",
                            "16"});
    const compare_options& c = o.compare;
    EXPECT_EQ(c.peers, arguments{"lmdb"});
    EXPECT_EQ(c.workloads, std::vector<workload>{workload::c});
    EXPECT_EQ(c.acks, std::vector<acknowledge>{acknowledge::durable});
    EXPECT_EQ(c.directory, "/somewhere");
    EXPECT_TRUE(c.check);
    EXPECT_EQ(c.records, 200'000U);
    EXPECT_EQ(c.round, std::chrono::seconds(3));
    EXPECT_EQ(c.clients, 7U);
    EXPECT_EQ(c.threads, 5U);
    EXPECT_EQ(c.window, std::chrono::milliseconds(9));
    EXPECT_EQ(o.json, "-");
    EXPECT_EQ(c.seed, 4U);
    EXPECT_EQ(c.repetitions, 9U);
    EXPECT_EQ(c.distributions.size(), 2U);
    EXPECT_EQ(c.value_size, 16U);
    EXPECT_TRUE(good({"compare", "--peers", "none"}).compare.peers.empty());
    EXPECT_EQ(good({"compare", "--operations", "5K"}).compare.operations, 5'000U);
}

TEST(options, of_compare_that_make_no_sense_are_refused) {
    refused({"compare", "--peers", "clay-tablets"});
    refused({"compare", "--peers", "lmdb,lmdb"});
    refused({"compare", "--peers", "none,lmdb"});
    refused({"compare", "--peers", ","});
    refused({"compare", "--workloads", "E"});
    refused({"compare", "--workloads", "load"});
    refused({"compare", "--distributions", "pareto"});
    refused({"compare", "--ack", "later"});
    refused({"compare", "--window", "0"});
    refused({"compare", "--records", "10"});
    refused({"compare", "--records", "99G"});
    refused({"compare", "--value-size", "15"});
    refused({"compare", "--value-size", "4097"});
    refused({"compare", "--threads", "0"});
    refused({"compare", "--clients", "201"});
    refused({"compare", "--seconds", "0"});
    refused({"compare", "--operations", "99"});
    refused({"compare", "--operations", "1K", "--seconds", "1"});
    refused({"compare", "--repetitions", "0"});
    refused({"compare", "--epoch", "64"});
    refused({"compare", "surplus"});
    const std::string text = refused({"compare", "--peers", "clay-tablets"});
    EXPECT_NE(text.find("rocksdb, lmdb"), std::string::npos) << text;
}

TEST(options, say_what_was_wrong_and_what_may_be_chosen) {
    const std::string text = refused({"ycsb", "--workloads", "Z"});
    EXPECT_NE(text.find("--workloads"), std::string::npos) << text;
    EXPECT_NE(text.find("'Z'"), std::string::npos) << text;
    EXPECT_NE(text.find("A, B, C, E, load"), std::string::npos) << text;
}

TEST(options, of_the_server_are_its_own) {
    const options o =
        good({"server",     "--program",    "p",  "--peer",        "q",   "--errands",
              "mix,change", "--depths",     "4",  "--connections", "6,3", "--clients",
              "3",          "--threads",    "5",  "--records",     "2K",  "--value-size",
              "7-9",        "--operations", "1K", "--repetitions", "2",   "--seed",
              "3",          "--dir",        "/d", "--json",        "j"});
    EXPECT_EQ(o.what, measurement_kind::server);
    EXPECT_EQ(o.server.program, "p");
    EXPECT_EQ(o.server.peer, "q");
    EXPECT_EQ(o.server.errands, (std::vector<errand>{errand::mix, errand::change}));
    EXPECT_EQ(o.server.depths, std::vector<unsigned>{4});
    EXPECT_EQ(o.server.connections, (std::vector<unsigned>{6, 3}));
    EXPECT_EQ(o.server.clients, 3U);
    EXPECT_EQ(o.server.threads, 5U);
    EXPECT_EQ(o.server.records, 2'000U);
    EXPECT_EQ(o.server.least_value, 7U);
    EXPECT_EQ(o.server.most_value, 9U);
    EXPECT_EQ(o.server.operations, 1'000U);
    EXPECT_EQ(o.server.repetitions, 2U);
    EXPECT_EQ(o.server.seed, 3U);
    EXPECT_EQ(o.server.directory, "/d");
    EXPECT_EQ(o.json, "j");
    EXPECT_EQ(good({"server", "--value-size", "12"}).server.most_value, 12U);
    refused({"server", "--errands", "scan"});
    refused({"server", "--depths", "0"});
    refused({"server", "--connections", "3"});  // of 2 clients
    refused({"server", "--value-size", "9-8"});
    refused({"server", "--value-size", "9-"});
    refused({"server", "--operations", "1K", "--round", "100"});
}

TEST(options, help_is_no_error) {
    std::string help;
    auto o = parse_options({"ycsb", "--help"}, help);
    ASSERT_TRUE(o.has_value());
    EXPECT_FALSE(o->has_value());
    EXPECT_NE(help.find("--workloads"), std::string::npos) << help;
    const std::vector<arguments> all = {
        {"--help"}, {"ycsb", "--help"}, {"recovery", "-h"}, {"pause", "-h"}, {"compare", "-h"}};
    for (const arguments& each : all) {
        ASSERT_TRUE(parse_options(each, help).has_value());
        EXPECT_NE(help.find("Examples:\n  holdfast bench "), std::string::npos) << help;
    }
}

TEST(options, each_index_can_be_compared_and_is_named_by_the_help) {
    for (const std::string& index : eager_index_names()) {
        for (const char* verb : {"ycsb", "recovery"}) {
            std::string help;
            ASSERT_TRUE(parse_options({verb, "--help"}, help).has_value());
            EXPECT_NE(help.find(index), std::string::npos) << verb << " " << index;
        }
        for (const char* in : {"-eager", "-transient", "-many"}) {
            const std::vector<std::string> both = {index + in};
            EXPECT_EQ(good({"ycsb", "--compare", both.front()}).disciplines, both);
        }
        const std::vector<std::string> by_index = {index + "-transient", index + "-eager"};
        EXPECT_EQ(good({"ycsb", "--index", index}).disciplines, by_index);
    }
}

}  // namespace
}  // namespace hf::bench
