#include "performance.hpp"

#include "base/clock.hpp"
#include "client.hpp"
#include "loader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

namespace hf::demo {

namespace {

constexpr auto tick_length = std::chrono::milliseconds(2);
constexpr unsigned ticks_of_a_frame = 25;

std::string many(std::uint64_t n, const char* what) {
    return fmt::format("{} {}{}", count_text(n), what, n == 1 ? "" : "s");
}

}  // namespace

performance::performance(demo_options options, server& on)
    : options_(std::move(options)), server_(on), random_(options_.seed) {}

bool performance::run() {
    const bool well = perform();
    sum_up();
    return well && durable_lost_ == 0 && altered_ == 0;
}

bool performance::perform() {
    show_.title("Holdfast: a store that comes back after a " + server_.by_force());
    if (!read_input()) return false;
    introduce();
    if (!server_.start()) return give_up("the server does not start:\n" + server_.output());
    bool well = true;
    for (unsigned i = 1; i <= options_.kills; ++i) {
        if (!load_and_kill(i)) return false;
        well = well && restarts_.back().seen.promise_kept();
    }
    if (!load_the_rest() || !close_and_reopen()) return false;
    return well && check_region();
}

bool performance::read_input() {
    auto index = read_index(options_.input);
    if (!index) return give_up("no package index was found; --input FILE names one");
    index_ = std::move(*index);
    if (options_.records != 0 && options_.records < index_.packages.size()) {
        index_.packages.resize(options_.records);
        index_.bytes = 0;
        for (const package& p : index_.packages) index_.bytes += p.name.size() + p.stanza.size();
    }
    ledger_.emplace(index_);
    return true;
}

void performance::introduce() const {
    show_.say(fmt::format("input    {}: {}, {} of names and stanzas", index_.source,
                          many(index_.packages.size(), "package"), size_text(index_.bytes)));
    if (options_.input.empty() && index_.source != "apt-cache dumpavail") {
        show_.say("         (apt-cache dumpavail is empty here: only what is installed, then)");
    }
    show_.say("server   " + server_.place() + ", epochs of " + options_.epoch);
    show_.say(fmt::format("clients  {} in memcached's text protocol, and one more to ask for stats",
                          many(options_.connections, "connection")));
    show_.say(
        rate() == 0
            ? "         as fast as it goes"
            : fmt::format(
                  "         held back to {} records a second, so that there is something to see",
                  count_text(rate())));
}

std::uint64_t performance::rate() const {
    if (options_.seconds <= 0) return 0;
    const double rate = static_cast<double>(index_.packages.size()) / options_.seconds;
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(rate));
}

/// Draws the progress bar until `until` records are acknowledged, or the load has ended.
void performance::watch(const loader& load, std::size_t until) {
    const std::uint64_t before = ledger_->durable();
    for (unsigned tick = 0; !load.is_over() && load.acknowledged() < until; ++tick) {
        if (tick % ticks_of_a_frame == 0) {
            show_.bar(before + load.acknowledged(), index_.packages.size());
        }
        std::this_thread::sleep_for(tick_length);
    }
    show_.end_bar();
}

std::optional<std::uint64_t> performance::load_until_killed(unsigned number) {
    const std::uint64_t before = ledger_->durable();
    const std::uint64_t total = index_.packages.size();
    // A random point in the middle of this load's share.
    const double share =
        (number - 0.7 + 0.6 * std::uniform_real_distribution<>()(random_)) / options_.kills * 0.95;
    const auto target = static_cast<std::uint64_t>(share * static_cast<double>(total));
    const std::uint64_t start = now_ns();
    loader load(index_, ledger_->to_do(), server_.port(), options_.connections, rate());
    watch(load, target > before ? target - before : 1);
    const std::uint64_t took = now_ns() - start;
    server_.kill();
    load.join();
    if (load.was_refused()) {
        (void)give_up("the server refused a record");
        return std::nullopt;
    }
    ledger_->add(load, true);
    const std::uint64_t stored = load.acknowledged();
    show_.say(fmt::format("{} after {}, {}", server_.by_force(),
                          many(stored, "acknowledged record"), time_text(took)));
    return before + stored;
}

bool performance::load_and_kill(unsigned number) {
    show_.act(fmt::format("Load {}", number));
    const auto acknowledged = load_until_killed(number);
    if (!acknowledged) return false;
    restart r;
    r.how = fmt::format("{}, {}", server_.by_force(), number);
    r.acknowledged = *acknowledged;
    return resume(r);
}

bool performance::run_control() {
    show_.act("The control: the same, with a server whose syncs do nothing");
    if (!read_input()) return false;
    if (!server_.start()) return give_up("the server does not start:\n" + server_.output());
    if (!load_until_killed(1)) return false;
    const std::uint64_t promised = ledger_->durable();
    std::uint64_t lost = promised;
    std::string how = "the region does not open again";
    if (!server_.start()) {
        show_.say(server_.output());
    } else {
        const auto seen = ledger_->compare(server_.port());
        if (!seen) return give_up("the server ended while everything was read back");
        lost = seen->durable_lost + seen->altered + seen->holes;
        how = "the region opens, on an old state";
        server_.kill();
    }
    const std::string text = fmt::format("{} of {} that it called durable lost; {}",
                                         count_text(lost), many(promised, "record"), how);
    if (lost == 0) return give_up(text + ": this demo shows nothing");
    show_.good(text);
    return true;
}

bool performance::resume(restart& r) {
    if (!server_.start()) return give_up("the server does not start again:\n" + server_.output());
    auto connection = client::connect(server_.port());
    if (!connection) return give_up("the server does not accept a connection");
    connection->get(" " + index_.packages.front().name);
    const bool answers = connection->flush() && connection->read_values([](auto, auto) {});
    r.outside_ns = now_ns() - server_.started_ns();
    const auto stats = connection->stats();
    if (!answers || !stats) return give_up("the server does not answer");
    r.recovery_ns = number(*stats, "recovery_us") * 1000;
    r.log_entries = number(*stats, "recovered_entries");
    r.recovered = number(*stats, "recovered") != 0;
    show_.say(fmt::format("started again: {} in {}, {} from exec to the first answer",
                          r.recovered ? "recovered" : "opened", time_text(r.recovery_ns),
                          time_text(r.outside_ns)));
    const auto seen = ledger_->compare(server_.port());
    if (!seen) return give_up("the server ended while everything was read back");
    r.seen = *seen;
    (void)judge(*seen);
    restarts_.push_back(std::move(r));
    return true;
}

/// Prints the result of a comparison.
bool performance::judge(const comparison& c) {
    durable_lost_ += c.durable_lost;
    altered_ += c.altered;
    if (c.durable_lost + c.altered == 0) {
        show_.good(fmt::format("{}: all there, byte for byte", many(c.durable, "durable record")));
    }
    if (c.durable_lost != 0) show_.bad(many(c.durable_lost, "durable record") + " LOST");
    if (c.altered != 0) show_.bad(many(c.altered, "record") + " ALTERED");
    if (c.holes != 0) {
        show_.bad(many(c.holes, "record") +
                  " there, though an older one of its connection is lost");
        altered_ += c.holes;
    }
    if (c.strangers != 0) {
        show_.bad(many(c.strangers, "record") + " there, though never sent");
        altered_ += c.strangers;
    }
    if (c.lost + c.survived + c.in_flight != 0) {
        show_.say(fmt::format("lost of the last epoch, as promised: {}, {}; {} of it survived",
                              many(c.lost, "acknowledged record"), size_text(c.lost_bytes),
                              count_text(c.survived)));
        show_.say(fmt::format("in flight, promised nothing: {}, {} of them stored",
                              many(c.in_flight, "record"), count_text(c.in_flight_kept)));
    }
    return c.promise_kept();
}

bool performance::load_the_rest() {
    show_.act("The rest");
    loader load(index_, ledger_->to_do(), server_.port(), options_.connections, rate());
    watch(load, index_.packages.size());
    load.join();
    if (load.was_refused()) return give_up("the server refused a record");
    ledger_->add(load, false);
    show_.say(many(load.acknowledged(), "acknowledged record"));
    const auto seen = ledger_->compare(server_.port());
    if (!seen) return give_up("the server ended while everything was read back");
    const bool all = seen->durable == index_.packages.size();
    if (!all) show_.bad("not all packages were acknowledged");
    return judge(*seen) && all;
}

bool performance::close_and_reopen() {
    show_.act("An orderly end");
    const auto status = server_.stop();
    if (status != 0) {
        return give_up("SIGTERM did not end the server in order:\n" + server_.output());
    }
    show_.say("SIGTERM: closed cleanly");
    restart r;
    r.how = "SIGTERM";
    r.acknowledged = ledger_->durable();
    if (!resume(r)) return false;
    if (restarts_.back().recovered) return give_up("a recovery was needed after an orderly end");
    if (server_.stop() != 0) return give_up("SIGTERM did not end the server in order");
    return restarts_.back().seen.promise_kept();
}

bool performance::check_region() {
    std::string output;
    const int status = server_.check(output);
    if (status != 0) return give_up("holdfast check finds fault:\n" + output);
    show_.good("holdfast check: tree and allocator are sound");
    return true;
}

bool performance::give_up(const std::string& why) {
    show_.bad(why);
    return false;
}

void performance::explain() const {
    show_.say("A record counts as durable once `stats` has shown its epoch as durable. What was");
    show_.say(
        "acknowledged after that may be lost: the work of an epoch or two. Who cannot afford");
    show_.say("that has answers wait for it: holdfast serve --ack durable.");
    show_.say("");
    if (server_.by_force() == "kill -9") {
        show_.say("kill -9 takes the process and not the memory: the region, in tmpfs, stayed as");
        show_.say("the last instruction left it. `./dev demo --power-cut` takes the memory, too.");
    } else {
        show_.say("The power cut is a SIGKILL of the virtual machine: what its kernel had not yet");
        show_.say("handed to the disk is gone. docs/power_test.md tells what that shows.");
    }
}

void performance::sum_up() const {
    if (!restarts_.empty()) {
        show_.act("What happened");
        std::vector<std::vector<std::string>> rows{{"ended by", "acknowledged", "durable", "lost",
                                                    "altered", "lost, not durable", "recovery",
                                                    "first answer"}};
        for (const restart& r : restarts_) {
            rows.push_back(
                {r.how, count_text(r.acknowledged), count_text(r.seen.durable),
                 count_text(r.seen.durable_lost), count_text(r.seen.altered),
                 fmt::format("{} ({})", count_text(r.seen.lost), size_text(r.seen.lost_bytes)),
                 time_text(r.recovery_ns), time_text(r.outside_ns)});
        }
        show_.table(rows);
        show_.say("");
        explain();
    }
    fmt::print("\ndemo: {} durable records lost, {} altered\n", durable_lost_, altered_);
}

}  // namespace hf::demo
