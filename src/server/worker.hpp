// server/worker.hpp: a server thread with its event loop and its connections.
//
// Concurrency. adopt(), release(), shut_down() and abandon() may be called from any thread: they
// post the work to the worker's thread. Everything else runs on that thread.
#pragma once

#include "server/durability_waiter.hpp"
#include "server/session.hpp"
#include "server/total_output.hpp"

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include <atomic>
#include <memory>
#include <thread>
#include <unordered_set>
#include <vector>

namespace hf::detail {

class connection;

/// The state that all workers share.
struct shared_state {
    std::atomic<u64> open_connections{0};
    total_output output;
    durability_waiter* waiter = nullptr;  ///< with --ack durable
};

class worker {
   public:
    worker(store& records, shared_state& shared) : shared_(shared), context_(records) {}
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;
    ~worker();

    void start();
    void join();

    /// Takes over a connection. The caller has counted it in open_connections.
    void adopt(asio::ip::tcp::socket socket);
    /// More epochs are durable: sends answers that waited for them.
    void release();
    /// Ends reading; the loop ends after everything is sent, or after a grace time.
    void shut_down();
    /// Ends at once, without sending anything more.
    void abandon();

    [[nodiscard]] asio::io_context& loop() noexcept { return loop_; }
    [[nodiscard]] session_context& context() noexcept { return context_; }

   private:
    friend class connection;

    /// Called by connections on the worker's thread.
    void forget(const std::shared_ptr<connection>& one);
    void wait_for(const std::shared_ptr<connection>& one, ticket t);
    void close_all();
    void end_when_idle();

    static constexpr std::size_t input_size = 65536;

    shared_state& shared_;
    session_context context_;
    asio::io_context loop_{1};
    asio::executor_work_guard<asio::io_context::executor_type> keep_running_{loop_.get_executor()};
    asio::steady_timer grace_{loop_};
    std::unordered_set<std::shared_ptr<connection>> connections_;
    std::vector<std::shared_ptr<connection>> waiting_;
    std::vector<char> input_ = std::vector<char>(input_size);
    bool shutting_down_ = false;
    std::thread thread_;
};

}  // namespace hf::detail
