#include "crowd.hpp"

#include "base/random.hpp"
#include "tools/demo/client.hpp"

#include <algorithm>
#include <deque>

namespace hf::power_test {

namespace {

using demo::client;

constexpr u64 largest_batch = 24;
constexpr u32 keys_of_a_get = 48;

bool is_answer_to(const write& one, std::string_view answer) {
    if (!one.removes) return answer == "STORED";
    return answer == "DELETED" || answer == "NOT_FOUND";
}

}  // namespace

const char* to_string(acknowledgement a) noexcept {
    return a == acknowledgement::durable ? "durable" : "buffered";
}

crowd::crowd(u64 seed, u32 connections) : seed_(seed), histories_(connections) {
    for (u32 i = 0; i < connections; ++i) {
        acknowledged_.push_back(std::make_unique<std::atomic<std::size_t>>(0));
    }
    durable_.resize(connections);
}

void crowd::begin(std::uint16_t port, acknowledgement ack, std::function<u64()> position) {
    port_ = port;
    ack_ = ack;
    position_ = std::move(position);
    answered_ = 0;
    promises_.clear();
    ++rounds_;
    at_work_ = static_cast<u32>(histories_.size());
    for (u32 i = 0; i < histories_.size(); ++i) {
        *acknowledged_[i] = 0;
        durable_[i] = 0;
        threads_.emplace_back([this, i] {
            write_records(i);
            --at_work_;
            answered_.notify_all();
        });
    }
    if (ack == acknowledgement::buffered) threads_.emplace_back([this] { watch_statistics(); });
}

void crowd::end() {
    for (std::thread& t : threads_) t.join();
    if (!threads_.empty()) {
        for (u32 i = 0; i < histories_.size(); ++i) histories_[i].set_durable(durable_[i]);
    }
    threads_.clear();
}

bool crowd::await_answers(u64 writes) const {
    for (u64 now = answered_; now < writes; now = answered_) {
        if (at_work_ == 0) return false;
        answered_.wait(now);
    }
    return true;
}

std::string crowd::refusal() const {
    const std::lock_guard lock(mutex_);
    return refusal_;
}

void crowd::refuse(const std::string& answer) {
    const std::lock_guard lock(mutex_);
    refusal_ = answer;
}

void crowd::promise_to(u32 connection, std::size_t durable) {
    const u64 position = position_ ? position_() : 0;
    const std::lock_guard lock(mutex_);
    durable_[connection] = durable;
    if (position_) promises_.push_back({position, connection, durable});
}

void crowd::write_records(u32 connection) {
    history& mine = histories_[connection];
    std::atomic<std::size_t>& acknowledged = *acknowledged_[connection];
    const author who{seed_, connection};
    xoshiro256ss random(seed_ ^ (rounds_ << 8) ^ connection);
    auto line = client::connect(port_);
    if (!line) return;
    for (;;) {
        std::vector<write> batch(1 + random.below(largest_batch));
        for (write& one : batch) {
            one = mine.next(random());
            const std::string key = key_text(who, one.key);
            if (one.removes) {
                line->remove(key);
            } else {
                line->set(key, value_text(who, one.key, one.version));
            }
            mine.sent(one);
        }
        if (!line->flush()) return;
        for (const write& one : batch) {
            const auto answer = line->read_line();
            if (!answer) return;
            if (!is_answer_to(one, *answer)) return refuse(std::string(*answer));
            ++acknowledged;
            if (ack_ == acknowledgement::durable) promise_to(connection, acknowledged);
            ++answered_;
            answered_.notify_all();
        }
    }
}

void crowd::watch_statistics() {
    struct mark {
        u64 epoch;
        std::vector<std::size_t> acknowledged;
    };
    std::deque<mark> marks;
    auto line = client::connect(port_);
    while (line && at_work_ != 0) {
        mark now{0, {}};
        for (const auto& one : acknowledged_) now.acknowledged.push_back(*one);
        const auto all = line->stats();
        if (!all) return;
        now.epoch = demo::number(*all, "epoch");
        marks.push_back(std::move(now));
        const u64 durable = demo::number(*all, "durable_epoch");
        for (; !marks.empty() && marks.front().epoch <= durable; marks.pop_front()) {
            for (u32 i = 0; i < histories_.size(); ++i) {
                promise_to(i, marks.front().acknowledged[i]);
            }
        }
    }
}

result<crowd::findings> crowd::look(std::uint16_t port, u32 connection) const {
    const author who{seed_, connection};
    const u32 keys = histories_[connection].keys();
    findings found(keys);
    auto line = client::connect(port);
    bool well = line.has_value();
    for (u32 first = 0; well && first < keys; first += keys_of_a_get) {
        const u32 end = std::min(first + keys_of_a_get, keys);
        std::string question;
        for (u32 k = first; k < end; ++k) question += " " + key_text(who, k);
        line->get(question);
        u32 at = first;
        const auto visit = [&](std::string_view key, std::string_view value) {
            // Values are in the order of the request.
            while (at < end && key_text(who, at) != key) ++at;
            if (at == end) return;
            const auto version = version_of(who, at, value);
            using kind = found_record::kind;
            found[at] = {version ? kind::exact : kind::altered, version.value_or(0)};
        };
        well = line->flush() && line->read_values(visit);
    }
    if (well) return found;
    return failure({errc::io, "read everything back", "connection " + std::to_string(connection),
                    "the server is gone", "look at what it said"});
}

result<verdict> crowd::compare(std::uint16_t port, bool settle) {
    verdict sum;
    for (u32 i = 0; i < histories_.size(); ++i) {
        const auto found = look(port, i);
        if (!found) return tl::unexpected(found.error());
        sum += histories_[i].judge(*found);
        if (settle) histories_[i].settle(*found);
    }
    return sum;
}

/// Restores the promises that were made when the write log had this length.
void crowd::go_back_to(u64 position) {
    std::vector<std::size_t> durable(histories_.size());
    for (const promise& one : promises_) {
        if (one.position > position) continue;
        durable[one.connection] = std::max(durable[one.connection], one.durable);
    }
    for (u32 i = 0; i < histories_.size(); ++i) histories_[i].set_durable(durable[i]);
}

result<verdict> crowd::compare_at(std::uint16_t port, u64 position) {
    go_back_to(position);
    return compare(port, false);
}

u64 crowd::durable_records_at(u64 position) {
    go_back_to(position);
    return durable_records();
}

u64 crowd::durable_records() const {
    u64 sum = 0;
    for (const history& one : histories_) sum += one.durable_keys();
    return sum;
}

}  // namespace hf::power_test
