#include "loader.hpp"

#include "base/clock.hpp"
#include "client.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>

namespace hf::demo {

namespace {

constexpr std::size_t largest_batch = 32;
constexpr auto between_questions = std::chrono::milliseconds(3);

}  // namespace

loader::loader(const package_index& index, std::vector<std::uint32_t> to_do, std::uint16_t port,
               unsigned connections, std::uint64_t rate)
    : index_(index),
      to_do_(std::move(to_do)),
      port_(port),
      rate_(rate),
      started_ns_(now_ns()),
      at_work_(connections) {
    for (unsigned i = 0; i < connections; ++i) tracks_.push_back(std::make_unique<track>());
    for (const auto& mine : tracks_) {
        threads_.emplace_back([this, &mine] {
            load(*mine);
            --at_work_;
        });
    }
    threads_.emplace_back([this] { watch(); });
}

void loader::join() {
    for (std::thread& t : threads_) {
        if (t.joinable()) t.join();
    }
}

std::size_t loader::acknowledged() const noexcept {
    std::size_t sum = 0;
    for (const auto& t : tracks_) sum += t->acknowledged;
    return sum;
}

void loader::load(track& mine) {
    auto connection = client::connect(port_);
    if (!connection) return;
    // Slow loads use small batches, so that few records are in flight when the server dies.
    const std::size_t batch =
        rate_ == 0 ? largest_batch : std::clamp<std::size_t>(rate_ / 500, 1, largest_batch);
    for (;;) {
        const std::size_t first = std::min(next_.fetch_add(batch), to_do_.size());
        const std::size_t end = std::min(first + batch, to_do_.size());
        if (first == end) return;
        wait_for_turn(first);
        for (std::size_t i = first; i < end; ++i) {
            const package& p = index_.packages[to_do_[i]];
            connection->set(p.name, p.stanza);
            mine.sent.push_back(to_do_[i]);
        }
        if (!connection->flush()) return;
        for (std::size_t i = first; i < end; ++i) {
            const auto answer = connection->read_line();
            if (!answer) return;
            if (*answer != "STORED") {
                refused_ = true;
                return;
            }
            ++mine.acknowledged;
        }
    }
}

void loader::wait_for_turn(std::size_t record) const {
    if (rate_ == 0) return;
    const std::uint64_t due = started_ns_ + record * 1'000'000'000 / rate_;
    const std::uint64_t now = now_ns();
    if (now < due) std::this_thread::sleep_for(std::chrono::nanoseconds(due - now));
}

void loader::watch() {
    auto connection = client::connect(port_);
    if (!connection) return;
    struct mark {
        std::uint64_t epoch;
        std::vector<std::size_t> acknowledged;
    };
    std::deque<mark> marks;
    while (!is_over()) {
        mark now{0, {}};
        for (const auto& t : tracks_) now.acknowledged.push_back(t->acknowledged);
        const auto stats = connection->stats();
        if (!stats) return;
        now.epoch = number(*stats, "epoch");
        marks.push_back(std::move(now));
        const std::uint64_t durable = number(*stats, "durable_epoch");
        while (!marks.empty() && marks.front().epoch <= durable) {
            for (std::size_t i = 0; i < tracks_.size(); ++i) {
                tracks_[i]->durable = marks.front().acknowledged[i];
            }
            marks.pop_front();
        }
        std::this_thread::sleep_for(between_questions);
    }
}

}  // namespace hf::demo
