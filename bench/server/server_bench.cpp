// `holdfast bench server`: `holdfast serve` and memcached with the same requests, interleaved.
#include "base/clock.hpp"
#include "bench/processor.hpp"
#include "bench/quantile.hpp"
#include "bench/run.hpp"
#include "bench/server/served.hpp"
#include "bench/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <array>
#include <optional>
#include <ostream>
#include <thread>

namespace hf::bench {

namespace {

/// A connection, and its position in its script.
struct talker {
    connected line;
    script text;
    std::size_t next = 0;

    result<void> send() const { return line.send(text.at(next).requests); }
    /// Returns the number of answered requests.
    result<u64> receive() {
        const script::batch b = text.at(next);
        next = next + 1 == text.size() ? 0 : next + 1;
        if (auto right = line.receive(b); !right) return tl::unexpected(right.error());
        return b.count;
    }
};

struct round {
    u64 requests = 0;
    double seconds = 0;
    double cpu_seconds = 0;  ///< of the server
    [[nodiscard]] double speed() const { return static_cast<double>(requests) / seconds; }
    [[nodiscard]] double cpu_speed() const { return static_cast<double>(requests) / cpu_seconds; }
};

/// A thread's loop: each of its connections has a batch in flight, until the time is over or each
/// has `operations` answers.
result<u64> drive(std::vector<talker>& all, u64 until, u64 operations) {
    for (const talker& t : all) {
        if (auto sent = t.send(); !sent) return tl::unexpected(sent.error());
    }
    u64 answered = 0;
    const u64 most = operations * all.size();
    for (bool last = false; !last;) {
        last = operations != 0 ? answered + 1 >= most : now_ns() >= until || interrupted();
        for (talker& t : all) {
            const auto n = t.receive();
            if (!n) return tl::unexpected(n.error());
            answered += *n;
            if (operations != 0 && answered >= most) last = true;
            if (last) continue;
            if (auto sent = t.send(); !sent) return tl::unexpected(sent.error());
        }
    }
    return answered;
}

using client_threads = std::vector<std::vector<talker>>;

result<round> one_round(const served& s, client_threads& clients, u64 duration_ns, u64 operations) {
    std::vector<result<u64>> answered(clients.size());
    const u64 cpu = s.cpu_ns();
    const u64 begin = now_ns();
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < clients.size(); ++i) {
            threads.emplace_back(
                [&, i] { answered[i] = drive(clients[i], begin + duration_ns, operations); });
        }
    }
    round r;
    r.seconds = static_cast<double>(now_ns() - begin) / 1e9;
    r.cpu_seconds = static_cast<double>(s.cpu_ns() - cpu) / 1e9;
    for (auto& one : answered) {
        if (!one) {
            error why = one.error();
            why.where = s.name();
            return failure(std::move(why));
        }
        r.requests += *one;
    }
    return r;
}

/// Makes the connections of all client threads; `text` returns each one's script.
template <class Text>
result<client_threads> connect(const served& s, const server_bench_options& o, unsigned connections,
                               Text text) {
    client_threads clients(o.clients);
    for (unsigned i = 0; i < connections; ++i) {
        auto line = connected::to(s.port());
        if (!line) return tl::unexpected(line.error());
        clients[i % o.clients].push_back({std::move(*line), text(i), 0});
    }
    return clients;
}

struct server_cell {
    errand what;
    unsigned depth;
    unsigned connections;
    std::array<std::vector<round>, 2> of_server;
};

class server_bench {
   public:
    server_bench(const server_bench_options& o, std::array<std::unique_ptr<served>, 2> servers)
        : o_(o), servers_(std::move(servers)) {}

    result<void> run() {
        for (const auto& s : servers_) {
            progress("loading " + s->name());
            if (auto done = load(*s); !done) return done;
        }
        for (const errand e : o_.errands) {
            for (const unsigned depth : o_.depths) {
                for (const unsigned connections : o_.connections) {
                    if (interrupted()) return {};
                    cells_.push_back({e, depth, connections, {}});
                    if (auto done = measure(cells_.back()); !done) return done;
                }
            }
        }
        return {};
    }

    void report(std::ostream& out, nlohmann::json& json) const;

   private:
    result<void> load(const served& s) {
        auto clients =
            connect(s, o_, o_.clients, [&](unsigned i) { return script::load(o_, i, o_.clients); });
        if (!clients) return tl::unexpected(clients.error());
        u64 share = 0;  // the largest share of a client
        for (const auto& c : *clients) {
            u64 requests = 0;
            for (std::size_t i = 0; i < c.front().text.size(); ++i) {
                requests += c.front().text.at(i).count;
            }
            share = std::max(share, requests);
        }
        auto loaded = one_round(s, *clients, 0, share);
        return loaded ? result<void>() : tl::unexpected(loaded.error());
    }

    result<void> measure(server_cell& c) {
        std::array<std::optional<client_threads>, 2> clients;
        for (std::size_t i = 0; i < servers_.size(); ++i) {
            auto made = connect(*servers_[i], o_, c.connections, [&](unsigned which) {
                return script::make(o_, c.what, c.depth, which);
            });
            if (!made) return tl::unexpected(made.error());
            clients[i].emplace(std::move(*made));
        }
        // A different order each time. Turn 0 is a warm-up and does not count.
        for (unsigned turn = 0; turn <= o_.repetitions && !interrupted(); ++turn) {
            progress(fmt::format("{}, {} deep, {} connections: repetition {} of {}",
                                 to_string(c.what), c.depth, c.connections, turn, o_.repetitions));
            for (std::size_t i = 0; i < servers_.size(); ++i) {
                const std::size_t which = (i + turn) % servers_.size();
                const auto ns = std::chrono::nanoseconds(o_.round);
                auto measured = one_round(*servers_[which], *clients[which],
                                          static_cast<u64>(ns.count()), o_.operations);
                if (!measured) return tl::unexpected(measured.error());
                if (turn != 0 && !interrupted()) c.of_server[which].push_back(*measured);
            }
        }
        return {};
    }

    const server_bench_options& o_;
    std::array<std::unique_ptr<served>, 2> servers_;
    std::vector<server_cell> cells_;
};

template <class F>
std::vector<double> each(const std::vector<round>& rounds, F figure) {
    std::vector<double> values;
    for (const round& r : rounds) values.push_back((r.*figure)());
    return values;
}

void server_bench::report(std::ostream& out, nlohmann::json& json) const {
    table rows({"errand", "depth", "connections", servers_[0]->name(), servers_[1]->name(), "ratio",
                "least", "greatest", "cpu-ratio"});
    json["results"] = nlohmann::json::array();
    for (const server_cell& c : cells_) {
        const auto& [ours, theirs] = c.of_server;
        const std::size_t whole = std::min(ours.size(), theirs.size());
        if (whole == 0) continue;
        const std::vector<round> a(ours.begin(), ours.begin() + static_cast<std::ptrdiff_t>(whole));
        const std::vector<round> b(theirs.begin(),
                                   theirs.begin() + static_cast<std::ptrdiff_t>(whole));
        const auto ratios = pairwise_ratios(each(a, &round::speed), each(b, &round::speed));
        const auto cpu = pairwise_ratios(each(a, &round::cpu_speed), each(b, &round::cpu_speed));
        const auto k = [](const std::vector<double>& speeds) {
            return fixed(median(speeds) / 1e3, 1) + "K/s";
        };
        rows.add(
            {std::string(to_string(c.what)), std::to_string(c.depth), std::to_string(c.connections),
             k(each(a, &round::speed)), k(each(b, &round::speed)), fixed(median(ratios), 2),
             fixed(quantile(ratios, 0), 2), fixed(quantile(ratios, 1), 2), fixed(median(cpu), 2)});
        nlohmann::json one{{"errand", to_string(c.what)},
                           {"depth", c.depth},
                           {"connections", c.connections},
                           {"ratio", median(ratios)},
                           {"cpu ratio", median(cpu)}};
        for (std::size_t i = 0; i < servers_.size(); ++i) {
            for (const round& r : c.of_server[i]) {
                one["rounds"][i == 0 ? "program" : "peer"].push_back(
                    {{"requests", r.requests},
                     {"seconds", r.seconds},
                     {"cpu seconds", r.cpu_seconds}});
            }
        }
        json["results"].push_back(std::move(one));
    }
    rows.print(out, 1);
}

void describe_servers(const server_bench_options& o,
                      const std::array<std::unique_ptr<served>, 2>& servers, std::ostream& out,
                      nlohmann::json& json) {
    describe_machine(out, json);
    const auto put = [&](const char* name, const std::string& value) {
        say(name, value, out, json);
    };
    put("program", servers[0]->command());
    put("peer", servers[1]->command());
    put("records", fmt::format("{}, keys of 16 bytes, values of {} to {}", o.records, o.least_value,
                               o.most_value));
    put("clients", fmt::format("{} threads, not pinned", o.clients));
    put("round", o.operations != 0 ? fmt::format("{} requests a connection", o.operations)
                                   : fmt::format("{} ms", o.round.count()));
    put("repetitions", std::to_string(o.repetitions));
    put("seed", std::to_string(o.seed));
    out << "#\n" << std::flush;
}

}  // namespace

result<void> run_server(const options& all, std::ostream& out, nlohmann::json& json) {
    const server_bench_options& o = all.server;
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    auto ours = served::start(o.program.empty() ? self : o.program, o, "program");
    if (!ours) return tl::unexpected(ours.error());
    auto theirs = served::start(o.peer, o, "peer");
    if (!theirs) return tl::unexpected(theirs.error());
    std::array<std::unique_ptr<served>, 2> servers{std::move(*ours), std::move(*theirs)};
    describe_servers(o, servers, out, json);
    server_bench b(o, std::move(servers));
    if (auto done = b.run(); !done) return done;
    end_progress();
    b.report(out, json);
    return {};
}

}  // namespace hf::bench
