// transaction/opening.hpp: the one way to bring up a region of transactions, below what lies in it.
//
//     transactional_region up(std::move(opened));
//     transaction_opening steps(up, options);          epochs:      the epochs are read
//                                                      logs:        commit records are applied (T3)
//                                                      allocator:   the committed heap is opened
//                                                      discipline:  the session begins (O1, O2)
//     steps.add(recovery_phase::discipline, ...);      roots: transactions may run
//     auto ok = steps.run();                           service:     the clock
//
// Recovery. Each step can be cut short by another crash and is run again by the next open.
#pragma once

#include "recovery/driver.hpp"
#include "transaction/recovery.hpp"
#include "transaction/transactions.hpp"

#include <functional>
#include <memory>
#include <string>

namespace hf {

struct transaction_options : epoch_options {
    engine_kind engine = engine_kind::redo;  ///< of a region that is made; others have theirs
    detail::isolation kept = detail::isolation::threads;
};

class transactional_region {
   public:
    transactional_region() = default;
    explicit transactional_region(opened_region opened) : opened_(std::move(opened)) {}
    transactional_region(const transactional_region&) = delete;
    transactional_region& operator=(const transactional_region&) = delete;
    ~transactional_region() = default;

    /// Ends the session in order: all is durable, and the region clean. No transaction is running.
    [[nodiscard]] result<void> close();

    [[nodiscard]] bool is_open() const noexcept { return transactions_ != nullptr; }
    [[nodiscard]] region& file() const noexcept { return *opened_.file; }
    [[nodiscard]] epoch_manager& epochs() const noexcept { return *epochs_; }
    [[nodiscard]] committed_heap& heap() const noexcept { return *heap_; }
    [[nodiscard]] transactions& all() const noexcept { return *transactions_; }
    [[nodiscard]] engine_kind engine() const noexcept { return kind_; }
    [[nodiscard]] engine_numbers engine_numbers_now() const noexcept { return engine_->numbers(); }
    /// Commit records that recovery found.
    [[nodiscard]] const applied_records& recovered() const noexcept { return recovered_; }
    /// Epochs that it took from a journal.
    [[nodiscard]] u64 recovered_epochs() const noexcept { return opened_.recovered_records; }

   private:
    friend class transaction_opening;

    opened_region opened_;
    engine_kind kind_ = engine_kind::redo;
    applied_records recovered_;
    std::unique_ptr<epoch_manager> epochs_;  // each ends before what it stands on
    std::unique_ptr<committed_heap> heap_;
    std::unique_ptr<commit_engine> engine_;
    std::unique_ptr<transactions> transactions_;
};

class transaction_opening {
   public:
    using step = std::function<result<void>()>;

    /// Brings `up` up, which has a file and nothing else yet. Both outlive this object.
    transaction_opening(transactional_region& up, const transaction_options& options);

    /// Of phase `discipline` or later; may run transactions.
    void add(recovery_phase phase, std::string name, step what);
    [[nodiscard]] result<void> run();
    [[nodiscard]] std::vector<step_time> report() const { return driver_.report(); }

   private:
    [[nodiscard]] result<void> read_epochs();
    [[nodiscard]] result<void> apply_logs();
    [[nodiscard]] result<void> open_heap();
    [[nodiscard]] result<void> begin_session();

    transactional_region& up_;
    const transaction_options options_;
    recovery_driver& driver_;
};

}  // namespace hf
