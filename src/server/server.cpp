#include "server/server.hpp"

#include "base/clock.hpp"
#include "server/purge_pace.hpp"
#include "server/stats_report.hpp"
#include "server/worker.hpp"

#include <asio/ip/address.hpp>
#include <asio/post.hpp>
#include <asio/signal_set.hpp>
#include <asio/write.hpp>

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace hf {
namespace {

using asio::ip::tcp;

/// Pause before accepting again after the process ran out of descriptors.
constexpr std::chrono::milliseconds accept_rest{50};
constexpr std::chrono::seconds watch_interval{1};
constexpr std::chrono::milliseconds purge_interval{1000 / detail::purge_pace::intervals};
/// Records checked at a time; the rest of the interval's share follows after other pending work.
constexpr std::size_t purge_step = 250;

/// As `nohup` leaves it: then it is to stay so.
bool is_ignored(int signal) {
    struct sigaction now{};
    return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

error bad_option(const char* which, std::string why) {
    return {errc::usage, "start the server", which, std::move(why), "choose another value"};
}

error listen_error(const server_options& options, const asio::error_code& status) {
    errc code = errc::io;
    std::string next = "see the reason";
    if (status == asio::error::address_in_use) {
        code = errc::busy;
        next = "choose another port, or stop the program that uses it";
    } else if (status == asio::error::access_denied) {
        code = errc::denied;
        next = "choose a port from 1024 on";
    } else if (status.value() == EADDRNOTAVAIL) {
        code = errc::usage;
        next = "choose an address of this machine";
    }
    return {code, "listen", options.address + " port " + std::to_string(options.port),
            status.message(), next};
}

/// Binds and listens, without accepting connections yet.
result<tcp::acceptor> bound(asio::io_context& loop, const server_options& options) {
    asio::error_code status;
    const auto address = asio::ip::make_address(options.address, status);
    if (status) {
        return failure(bad_option("address", "\"" + options.address + "\" is no numeric address"));
    }
    tcp::acceptor made(loop);
    const tcp::endpoint endpoint(address, options.port);
    made.open(endpoint.protocol(), status);
    if (!status) {
        made.set_option(tcp::acceptor::reuse_address(true), status);
    }
    if (!status) {
        made.bind(endpoint, status);
    }
    if (status) {
        return failure(listen_error(options, status));
    }
    return made;
}

}  // namespace

struct server::impl {
    impl(store& r, server_options o);
    ~impl();

    result<void> listen();
    void run();
    void accept();
    void accepted(tcp::socket socket, std::size_t to);
    void purge(std::size_t left);
    void purge_later();
    void watch_files();
    void stop();
    void fail(const error& e);
    void end_accepting(void (*then)(detail::worker&));
    void wait();
    std::optional<std::string> stats(std::string_view argument);
    detail::tallies counted() const;

    store& records;
    server_options options;
    const u64 started_ns = now_ns();
    detail::shared_state shared;
    std::vector<std::unique_ptr<detail::worker>> workers;
    std::optional<tcp::acceptor> acceptor;
    std::optional<asio::steady_timer> rest;
    std::optional<asio::steady_timer> purge_timer;
    std::optional<asio::steady_timer> watch_timer;
    detail::purge_pace pace;  ///< this and the next one are used by the first worker only
    std::size_t purged = 0;   ///< in the running interval
    std::optional<asio::signal_set> signals;
    std::unique_ptr<detail::durability_waiter> waiter;
    std::uint16_t port = 0;
    std::size_t next_worker = 0;
    std::atomic<u64> total_connections{0};
    std::atomic<u64> rejected_connections{0};
    std::atomic<bool> stopping{false};
    mutable std::mutex mutex;  ///< guards the members below
    std::optional<error> failed;
    detail::tallies baseline{};
    std::mutex wait_mutex;
};

server::impl::impl(store& r, server_options o)
    : records(r), options(std::move(o)), workers(options.threads), pace(options.purge_rate) {
    shared.output.bound = options.max_total_output;
    for (auto& one : workers) {
        one = std::make_unique<detail::worker>(records, shared);
        auto& context = one->context();
        context.max_item_size = options.max_item_size;
        context.output_bound = options.max_pending_output;
        context.total = &shared.output;
        context.ack_durable = options.ack == ack_mode::durable;
        context.version = detail::memcached_version;
        context.stats = [this](std::string_view argument) { return stats(argument); };
    }
}

server::impl::~impl() {
    stop();
    wait();
}

result<void> server::impl::listen() {
    auto& loop = workers.front()->loop();
    auto made = bound(loop, options);
    if (!made) {
        return tl::unexpected(made.error());
    }
    acceptor.emplace(std::move(*made));
    asio::error_code status;
    acceptor->listen(tcp::acceptor::max_listen_connections, status);
    if (!status) {
        port = acceptor->local_endpoint(status).port();
    }
    if (status) {
        return hf::failure(listen_error(options, status));
    }
    options.port = port;
    rest.emplace(loop);
    purge_timer.emplace(loop);
    watch_timer.emplace(loop);
    return {};
}

void server::impl::run() {
    if (options.ack == ack_mode::durable) {
        waiter = std::make_unique<detail::durability_waiter>(
            records,
            [this](ticket) {
                for (const auto& one : workers) {
                    one->release();
                }
            },
            [this](const error& e) { fail(e); });
        shared.waiter = waiter.get();
    }
    if (options.handle_signals) {
        signals.emplace(workers.front()->loop(), SIGINT, SIGTERM);
        if (!is_ignored(SIGHUP)) signals->add(SIGHUP);
        signals->async_wait([this](asio::error_code status, int) {
            if (!status) {
                stop();
            }
        });
    }
    accept();
    purge_later();
    watch_files();
    for (const auto& one : workers) {
        one->start();
    }
}

void server::impl::accept() {
    const std::size_t to = next_worker;
    next_worker = (next_worker + 1) % workers.size();
    acceptor->async_accept(workers[to]->loop(),
                           [this, to](asio::error_code status, tcp::socket socket) {
                               if (!acceptor->is_open()) {
                                   return;
                               }
                               if (!status) {
                                   accepted(std::move(socket), to);
                                   return accept();
                               }
                               // No descriptor or no memory: an immediate retry would fail again.
                               // Asio does not report clients that have already disconnected.
                               rest->expires_after(accept_rest);
                               rest->async_wait([this](asio::error_code stopped) {
                                   if (!stopped) {
                                       accept();
                                   }
                               });
                           });
}

void server::impl::accepted(tcp::socket socket, std::size_t to) {
    if (shared.open_connections.load(std::memory_order_relaxed) >= options.max_connections) {
        rejected_connections.fetch_add(1, std::memory_order_relaxed);
        asio::error_code ignored;
        socket.non_blocking(true, ignored);
        constexpr std::string_view refusal = "ERROR Too many open connections\r\n";
        socket.write_some(asio::buffer(refusal.data(), refusal.size()), ignored);
        socket.close(ignored);
        return;
    }
    total_connections.fetch_add(1, std::memory_order_relaxed);
    shared.open_connections.fetch_add(1, std::memory_order_relaxed);
    workers[to]->adopt(std::move(socket));
}

void server::impl::purge_later() {
    if (options.purge_rate == 0) {
        return;
    }
    purge_timer->expires_after(purge_interval);
    purge_timer->async_wait([this](asio::error_code status) {
        if (!status) {
            purged = 0;
            purge(pace.share());
        }
    });
}

void server::impl::purge(std::size_t left) {
    if (stopping.load(std::memory_order_relaxed)) {
        return;
    }
    const std::size_t step = std::min(left, purge_step);
    // A failure is reported by the client operation that encounters it.
    if (const auto freed = records.purge(step)) {
        workers.front()->context().count.add(detail::tally::crawler_reclaimed, *freed);
        purged += *freed;
    }
    if (left == step) {
        pace.interval_ended(pace.share(), purged, records.stats().records.value_or(0));
        return purge_later();
    }
    asio::post(workers.front()->loop(), [this, left, step] { purge(left - step); });
}

/// Until a file is missing.
void server::impl::watch_files() {
    if (!options.on_missing_file) return;
    watch_timer->expires_after(watch_interval);
    watch_timer->async_wait([this](asio::error_code status) {
        if (status) return;
        if (const auto ok = records.check_files(); !ok) {
            return options.on_missing_file(ok.error());
        }
        watch_files();
    });
}

void server::impl::stop() {
    stopping = true;
    end_accepting([](detail::worker& one) { one.shut_down(); });
}

void server::impl::fail(const error& e) {
    {
        const std::lock_guard lock(mutex);
        failed = e;
    }
    stopping = true;
    end_accepting([](detail::worker& one) { one.abandon(); });
}

void server::impl::end_accepting(void (*then)(detail::worker&)) {
    asio::post(workers.front()->loop(), [this, then] {
        asio::error_code ignored;
        acceptor->close(ignored);
        rest->cancel();
        purge_timer->cancel();
        watch_timer->cancel();
        if (signals) {
            signals->cancel(ignored);
        }
        // Posted from here, so that it runs after every connection that a worker was given.
        for (const auto& one : workers) {
            then(*one);
        }
    });
}

void server::impl::wait() {
    const std::lock_guard lock(wait_mutex);
    for (const auto& one : workers) {
        one->join();
    }
    if (waiter) {
        waiter->stop();
    }
}

detail::tallies server::impl::counted() const {
    detail::tallies sum{};
    for (const auto& one : workers) {
        one->context().count.add_to(sum);
    }
    return sum;
}

std::optional<std::string> server::impl::stats(std::string_view argument) {
    if (argument == "settings") {
        return detail::settings_report(options);
    }
    if (argument == "items" || argument == "slabs" || argument == "sizes" || argument == "conns") {
        return "END\r\n";
    }
    if (!argument.empty() && argument != "reset") {
        return std::nullopt;
    }
    // Counted with the lock held: a sum taken before a reset by another thread would be less than
    // that reset's baseline, and the differences would wrap.
    const std::lock_guard lock(mutex);
    auto sum = counted();
    if (argument == "reset") {
        baseline = sum;
        return "RESET\r\n";
    }
    std::ranges::transform(sum, baseline, sum.begin(), std::minus());
    const detail::server_facts facts{records.now(),
                                     started_ns,
                                     shared.open_connections.load(std::memory_order_relaxed),
                                     total_connections.load(std::memory_order_relaxed),
                                     rejected_connections.load(std::memory_order_relaxed),
                                     HF_VERSION};
    return detail::general_report(facts, options, sum, records.stats());
}

server::server(std::unique_ptr<impl> p) noexcept : impl_(std::move(p)) {}
server::~server() = default;

result<std::unique_ptr<server>> server::start(store& records, const server_options& options) {
    if (options.threads == 0 || options.threads > server_options::most_threads) {
        return hf::failure(bad_option(
            "threads", "there must be 1 to " + std::to_string(server_options::most_threads)));
    }
    if (options.max_item_size == 0 || options.max_item_size > max_value_size) {
        return hf::failure(bad_option("max_item_size", "it must be 1 byte to 64 MiB"));
    }
    if (options.max_connections == 0) {
        return hf::failure(
            bad_option("max_connections", "at least one connection must be possible"));
    }
    if (options.max_pending_output == 0) {
        return hf::failure(bad_option("max_pending_output", "an answer needs room"));
    }
    if (options.max_total_output < options.max_item_size) {
        return hf::failure(bad_option("max_total_output", "the longest value needs room"));
    }
    auto inside = std::make_unique<impl>(records, options);
    inside->options.max_item_size = std::min(options.max_item_size, store::max_data_size);
    if (auto listening = inside->listen(); !listening) {
        return hf::failure(std::move(listening.error()));
    }
    inside->run();
    return std::unique_ptr<server>(new server(std::move(inside)));
}

result<void> server::could_listen(const server_options& options) {
    asio::io_context loop;
    // A listening socket would accept clients, so this one is closed at once.
    const auto made = bound(loop, options);
    return made ? result<void>() : tl::unexpected(made.error());
}

std::uint16_t server::port() const noexcept { return impl_->port; }
void server::stop() { impl_->stop(); }
void server::wait() { impl_->wait(); }

std::optional<error> server::failure() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->failed;
}

}  // namespace hf
