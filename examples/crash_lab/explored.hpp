// explored.hpp: a structure under checkpointing as a target of the crash lab: a workload, the
// expected state after a crash, and the questions that check it.
//
// S is the structure together with a model:
//
//     struct S {
//         explicit S(hf::checkpointed& file);
//         using model = ...;                          // a plain structure that says what is right
//         void act(model&, std::uint64_t dice);       // does the same to both
//         static constexpr unsigned questions = ...;
//         void check(const model&, unsigned question);  // throws violation
//     };
#pragma once

#include <holdfast/checkpoint.hpp>
#include <holdfast/crashlab/target.hpp>

#include "checkpoint/inspect.hpp"

#include <cstdint>
#include <map>
#include <memory>

namespace example {

using hf::lab::require;
using hf::lab::violation;

// Step 1. The structure and its model. After a crash the structure must have the state of the end
// of an epoch, so the model's state is kept for each one.
template <class S>
class session {
   public:
    void open() {
        hf::checkpointed_options o;
        o.epoch = std::chrono::microseconds(0);  // no clock: only end_epoch() ends epochs
        o.recovery_threads = 1;
        o.region.initial_size = std::uint64_t{16} << 20;  // the lab's memory has room for 64 MiB
        o.region.flush = hf::flush_policy::always;
        auto opened = hf::checkpointed::open(hf::lab::file_path, o);
        if (!opened) throw violation(opened.error().to_string());
        file_ = std::make_unique<hf::checkpointed>(std::move(*opened));
        structure_ = std::make_unique<S>(*file_);
    }
    void crash() {  // the file is not closed
        structure_.reset();
        hf::checkpointed_inspection::abandon(*file_);
        file_.reset();
    }
    void act(std::uint64_t dice) { structure_->act(now_, dice); }
    void end_epoch() {
        ends_[file_->current_epoch()] = now_;
        file_->end_epoch();
    }
    void mend() {  // it also ends an epoch
        ends_[file_->current_epoch()] = now_;
        structure_->mend();
    }

    // Step 2. Determines the epoch that recovery has restored, and whether it is allowed. A crashed
    // epoch has a number, but its changes are undone.
    void adopt(std::uint64_t announced) {
        const bool undone = region().checkpoint().needs_recovery();
        const std::uint64_t end = file_->durable_epoch() - (undone ? 1 : 0);
        require(end >= announced, "an epoch that was announced as durable is lost");
        const auto after = ends_.upper_bound(end);
        now_ = after == ends_.begin() ? typename S::model{} : std::prev(after)->second;
        ends_.erase(after, ends_.end());
    }

    // Step 3. Questions.
    void check(unsigned question) { structure_->check(now_, question); }
    // Questions run one after the other on the same survivor, and the lab restores only the
    // region's memory: volatile state of a question must be reset, too.
    void forget() { region().epochs().my_lane().reset_lists(); }
    [[nodiscard]] session next() const {
        session s;
        s.ends_ = ends_;
        return s;
    }

   private:
    hf::checkpointed_region& region() { return hf::checkpointed_inspection::region_of(*file_); }

    std::unique_ptr<hf::checkpointed> file_;
    std::unique_ptr<S> structure_;
    typename S::model now_;
    std::map<std::uint64_t, typename S::model> ends_;
};

// Step 4. A region recovered from one image. The constructor runs recovery.
template <class S>
class structure_survivor final : public hf::lab::survivor {
   public:
    structure_survivor(session<S> s, std::uint64_t announced) : session_(std::move(s)) {
        session_.open();
        session_.adopt(announced);
    }
    void crash() override { session_.crash(); }
    std::unique_ptr<hf::lab::survivor> recover(std::uint64_t announced) override {
        return std::make_unique<structure_survivor>(session_.next(), announced);
    }
    // Each question is explored separately, with all possible contents of the lines that it reads.
    [[nodiscard]] unsigned questions() const override { return S::questions; }
    void ask(unsigned number) override { session_.check(number); }
    void forget() override { session_.forget(); }
    // All questions, on whole images.
    void inspect() override {
        for (unsigned q = 0; q < S::questions; ++q) session_.check(q);
    }
    // More work, which uses the recovered state, and is interrupted by crashes, too.
    void work_on() override {
        session_.act(1);
        session_.act(5);
        session_.mend();
        session_.act(2);
        session_.end_epoch();
        session_.act(3);
    }

   private:
    session<S> session_;
};

// Step 5. The workload. It must be determined by the seed. `is_new`: the creation of the file is
// explored, too.
template <class S, bool is_new = false>
class structure_target final : public hf::lab::target {
   public:
    explicit structure_target(std::uint64_t seed) : random_(seed) {}

    void prepare() override {  // durable before the trace begins: the state left by a crash
        if (is_new) return;
        session_.open();
        for (int i = 0; i < 6; ++i) session_.act(draw());
        session_.end_epoch();
        for (int i = 0; i < 3; ++i) session_.act(draw());
        session_.crash();
    }
    void run() override {  // recorded; it ends in the middle of an epoch
        session_.open();
        session_.adopt(0);
        for (unsigned turn = 1; turn <= 14; ++turn) {
            session_.act(draw());
            if (turn % 6 == 0) session_.end_epoch();
            if (turn == 3) session_.mend();
        }
    }
    void crash() override { session_.crash(); }
    std::unique_ptr<hf::lab::survivor> recover(std::uint64_t announced) override {
        return std::make_unique<structure_survivor<S>>(session_.next(), announced);
    }

   private:
    /// A linear congruential generator; its upper bits are random enough.
    std::uint64_t draw() {
        random_ = random_ * 6364136223846793005U + 1442695040888963407U;
        return random_ >> 33;
    }

    session<S> session_;
    std::uint64_t random_;
};

}  // namespace example
