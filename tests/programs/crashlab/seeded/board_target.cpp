#include "crashlab/seeded/board_target.hpp"

#include "base/random.hpp"
#include "crashlab/targets/history.hpp"

#include <mutex>
#include <optional>

namespace hf::lab::seeded {
namespace {

/// A board and what it must hold.
class session {
   public:
    explicit session(bug b) : bug_(b) {}

    void open() { board_.emplace(bug_); }
    void crash() { board_.reset(); }
    [[nodiscard]] session next() const {
        session s(bug_);
        s.model_ = model_;
        s.values_ = values_ + 100;
        return s;
    }

    void put(unsigned cell) {
        board_->put(cell, ++values_);
        model_.put(std::to_string(cell), std::to_string(values_));
    }
    void end_epoch() {
        model_.epoch_ended(board_->running_epoch());
        board_->end_epoch();
    }
    void adopt(u64 announced) {
        require(board_->came_back_to() >= announced, "an announced epoch is lost");
        model_.recovered_to(board_->came_back_to());
    }
    void compare(unsigned cell) const {
        const auto expected = model_.now.find(std::to_string(cell));
        const std::string wanted = expected == model_.now.end() ? "0" : expected->second;
        const std::string found = std::to_string(board_->get(cell));
        if (found == wanted) return;
        throw violation("cell " + std::to_string(cell) + " has " + found + ", but at the end of " +
                        "epoch " + std::to_string(board_->came_back_to()) + " it had " + wanted);
    }

   private:
    bug bug_;
    std::optional<board> board_;
    history model_;
    u64 values_ = 0;
};

class board_survivor final : public survivor {
   public:
    board_survivor(session s, u64 announced) : session_(std::move(s)) {
        session_.open();
        session_.adopt(announced);
    }

    void crash() override { session_.crash(); }
    std::unique_ptr<survivor> recover(u64 announced) override {
        return std::make_unique<board_survivor>(session_.next(), announced);
    }
    [[nodiscard]] unsigned questions() const override { return board::cell_count; }
    void ask(unsigned number) override { session_.compare(number); }
    [[nodiscard]] std::string describe(unsigned number) const override {
        return "get cell " + std::to_string(number);
    }
    void inspect() override {
        for (unsigned c = 0; c < board::cell_count; ++c) session_.compare(c);
    }
    void work_on() override {
        session_.put(0);
        session_.put(1);
        session_.put(0);
        session_.end_epoch();
        session_.put(1);
        session_.put(2);
    }

   private:
    session session_;
};

class board_target final : public target {
   public:
    board_target(bug b, u64 seed, unsigned threads = 1)
        : session_(b), random_(seed), threads_(threads) {}

    void prepare() override {
        session_.open();
        for (unsigned c = 0; c < board::cell_count; ++c) session_.put(c);
        session_.end_epoch();
    }
    void run() override {
        if (threads_ == 1) work();
    }
    [[nodiscard]] unsigned threads() const override { return threads_; }
    [[nodiscard]] u64 about_steps() const override { return 300; }
    void run_thread(unsigned) override { work(); }
    void crash() override { session_.crash(); }
    std::unique_ptr<survivor> recover(u64 announced) override {
        return std::make_unique<board_survivor>(session_.next(), announced);
    }

   private:
    void work() {
        for (unsigned turn = 1; turn <= 14; ++turn) {
            const std::lock_guard guard(mutex_);
            session_.put(static_cast<unsigned>(random_() % board::cell_count));
            if (turn % 5 == 0) session_.end_epoch();
        }
    }

    session session_;
    splitmix64 random_;
    unsigned threads_;
    std::mutex mutex_;
};

}  // namespace

target_description board_case(bug b) {
    return {to_string(b),
            "tests",
            "a board with a seeded bug",
            [b](u64 seed) { return std::make_unique<board_target>(b, seed); },
            {}};
}

target_description board_for_two(bug b) {
    return {to_string(b),
            "tests",
            "a board with a seeded bug, and two threads",
            [b](u64 seed) { return std::make_unique<board_target>(b, seed, 2); },
            {}};
}

}  // namespace hf::lab::seeded
