#include "server/worker.hpp"

#include "base/thread_name.hpp"
#include "server/connection.hpp"

#include <asio/post.hpp>

#include <chrono>
#include <utility>

namespace hf::detail {
namespace {

/// How long a shutdown waits for clients to read their answers.
constexpr std::chrono::seconds grace_time{3};

}  // namespace

worker::~worker() {
    join();
    connections_.clear();
}

void worker::start() {
    thread_ = std::thread([this] {
        name_this_thread("hf-worker");
        loop_.run();
    });
}

void worker::join() {
    if (thread_.joinable()) {
        thread_.join();
    }
}

void worker::adopt(asio::ip::tcp::socket socket) {
    asio::post(loop_, [this, socket = std::move(socket)]() mutable {
        auto one = std::make_shared<connection>(*this, std::move(socket));
        connections_.insert(one);
        if (shutting_down_) {
            return one->close();
        }
        one->begin();
    });
}

void worker::release() {
    asio::post(loop_, [this] {
        for (const auto& one : std::exchange(waiting_, {})) {
            one->release();
        }
    });
}

void worker::shut_down() {
    asio::post(loop_, [this] {
        if (std::exchange(shutting_down_, true)) {
            return;
        }
        const std::vector<std::shared_ptr<connection>> all(connections_.begin(),
                                                           connections_.end());
        for (const auto& one : all) {
            one->finish();
        }
        grace_.expires_after(grace_time);
        grace_.async_wait([this](asio::error_code status) {
            if (!status) {
                close_all();
            }
        });
        end_when_idle();
    });
}

void worker::abandon() {
    asio::post(loop_, [this] {
        shutting_down_ = true;
        close_all();
        end_when_idle();
    });
}

void worker::forget(const std::shared_ptr<connection>& one) {
    connections_.erase(one);
    shared_.open_connections.fetch_sub(1, std::memory_order_relaxed);
    end_when_idle();
}

void worker::wait_for(const std::shared_ptr<connection>& one, ticket t) {
    if (!std::exchange(one->in_waiting_list_, true)) {
        waiting_.push_back(one);
    }
    shared_.waiter->want(t);
}

void worker::close_all() {
    const std::vector<std::shared_ptr<connection>> all(connections_.begin(), connections_.end());
    for (const auto& one : all) {
        one->close();
    }
}

void worker::end_when_idle() {
    if (shutting_down_ && connections_.empty()) {
        grace_.cancel();
        keep_running_.reset();
    }
}

}  // namespace hf::detail
