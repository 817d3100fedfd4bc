// tests/campaigns/power/crowd.hpp: clients outside of the machine, which write, record the answers,
// and later check that the promised records are there.
//
// With `--ack durable` an answer is the promise. With `--ack buffered` writes that were answered
// before a `stats` request are promised once a later `stats` reports the epoch of the first one as
// durable.
#pragma once

#include <holdfast/result.hpp>

#include "history.hpp"
#include "records.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace hf::power_test {

enum class acknowledgement { durable, buffered };

[[nodiscard]] const char* to_string(acknowledgement a) noexcept;

/// The length of the write log when `connection` had been promised its first `durable` writes.
struct promise {
    u64 position = 0;
    u32 connection = 0;
    std::size_t durable = 0;
};

class crowd {
   public:
    crowd(u64 seed, u32 connections);
    ~crowd() { end(); }
    crowd(const crowd&) = delete;
    crowd& operator=(const crowd&) = delete;

    /// Starts to write to the server at this port. `position`, if set, is called after each promise
    /// and returns the length of the write log.
    void begin(std::uint16_t port, acknowledgement ack, std::function<u64()> position = {});
    /// Call when the server has ended. Keeps all data.
    void end();
    /// Waits until this many writes were answered since begin(); false: no writer is left.
    [[nodiscard]] bool await_answers(u64 writes) const;
    [[nodiscard]] u64 answered() const noexcept { return answered_; }
    /// An invalid answer of the server; empty: there was none.
    [[nodiscard]] std::string refusal() const;

    /// Reads all records and compares them with the histories; `settle` updates these.
    [[nodiscard]] result<verdict> compare(std::uint16_t port, bool settle);
    /// As compare(), for a power cut when the write log had this length.
    [[nodiscard]] result<verdict> compare_at(std::uint16_t port, u64 position);
    /// Number of records that must be there.
    [[nodiscard]] u64 durable_records() const;
    [[nodiscard]] u64 durable_records_at(u64 position);
    [[nodiscard]] std::size_t promise_count() const noexcept { return promises_.size(); }
    /// A copy of the histories, for restoring them.
    [[nodiscard]] std::vector<history> histories() const { return histories_; }
    void set_histories(std::vector<history> all) { histories_ = std::move(all); }

   private:
    void go_back_to(u64 position);
    using findings = std::vector<found_record>;
    void write_records(u32 connection);
    void watch_statistics();
    void promise_to(u32 connection, std::size_t durable);
    void refuse(const std::string& answer);
    [[nodiscard]] result<findings> look(std::uint16_t port, u32 connection) const;

    u64 seed_;
    std::vector<history> histories_;
    std::vector<std::unique_ptr<std::atomic<std::size_t>>> acknowledged_;  ///< of each connection
    std::vector<std::thread> threads_;
    std::uint16_t port_ = 0;
    acknowledgement ack_ = acknowledgement::durable;
    std::function<u64()> position_;
    std::atomic<u64> answered_{0};
    std::atomic<u32> at_work_{0};
    u64 rounds_ = 0;
    mutable std::mutex mutex_;  ///< guards the following members while threads run
    std::vector<promise> promises_;
    std::vector<std::size_t> durable_;
    std::string refusal_;
};

}  // namespace hf::power_test
