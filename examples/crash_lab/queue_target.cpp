// Step by step: a workload, what must be found after a crash, and the questions that find it out.
//
// This file and the structure itself must be instrumented (hf_instrument in CMakeLists.txt): the
// lab sees only loads and stores of instrumented code.
#include "queue_target.hpp"

#include "base/random.hpp"
#include "queue.hpp"

#include <deque>
#include <map>

namespace example {
namespace {

using namespace hf::lab;
using std::to_string;

// Step 1. The structure beside a plain one that says what is right. After a crash the queue must be
// as it was at the end of an epoch, so the model is kept for the end of each one.
class session {
   public:
    void open() {
        hf::region_options o;
        o.initial_size = hf::u64{1} << 20;  // the lab's memory has room for 64 MiB
        o.flush = hf::flush_policy::always;
        auto opened = queue::open(file_path, o);  // the one file that exists in the lab
        if (!opened) throw violation(opened.error().to_string());
        queue_ = std::make_unique<queue>(std::move(*opened));
    }
    void crash() { queue_.reset(); }  // without a word: nothing is closed

    void push(hf::u64 value) {
        if (queue_->push(value)) now_.push_back(value);
    }
    void pop() {
        if (queue_->pop()) now_.pop_front();
    }
    void end_epoch() {
        ends_[queue_->epochs().current_epoch()] = now_;
        queue_->epochs().end_epoch();
    }

    // Step 2. Which epoch did recovery come back to, and may it? An epoch that crashed counts as
    // over, with all that it did undone.
    void adopt(hf::u64 announced) {
        const hf::u64 durable = queue_->epochs().durable_epoch();
        const hf::u64 end = durable - (queue_->was_undone() ? 1 : 0);
        require(end >= announced, "an epoch that was announced as durable is lost");
        const auto after = ends_.upper_bound(end);
        now_ = after == ends_.begin() ? std::deque<hf::u64>{} : std::prev(after)->second;
        ends_.erase(after, ends_.end());
    }

    // Step 3. Questions.
    void check_size() {
        const auto size = queue_->size();
        if (size == now_.size()) return;
        throw violation(to_string(size) + " items instead of " + to_string(now_.size()));
    }
    void check_item(hf::u64 n) {
        if (n >= now_.size() || queue_->peek(n) == now_[n]) return;
        throw violation("item " + to_string(n) + " is not " + to_string(now_[n]));
    }
    // Questions are asked one after the other on the same survivor, and the lab puts only the
    // region's memory back: what a question left in ordinary memory must go, too.
    void forget() { queue_->epochs().my_lane().reset_lists(); }
    [[nodiscard]] session next() const {
        session s;
        s.ends_ = ends_;
        return s;
    }

   private:
    std::unique_ptr<queue> queue_;
    std::deque<hf::u64> now_;
    std::map<hf::u64, std::deque<hf::u64>> ends_;
};

// Step 4. What recovery made of one image. Making it is the recovery.
class queue_survivor final : public survivor {
   public:
    queue_survivor(session s, hf::u64 announced) : session_(std::move(s)) {
        session_.open();
        session_.adopt(announced);
    }
    void crash() override { session_.crash(); }
    std::unique_ptr<survivor> recover(hf::u64 announced) override {
        return std::make_unique<queue_survivor>(session_.next(), announced);
    }

    // Each is explored by itself, with all contents of just the lines that it reads.
    [[nodiscard]] unsigned questions() const override { return 1 + queue::capacity; }
    void ask(unsigned number) override {
        number == 0 ? session_.check_size() : session_.check_item(number - 1);
        session_.forget();
    }
    // Everything at once, on whole images.
    void inspect() override {
        session_.check_size();
        for (hf::u64 n = 0; n < queue::capacity; ++n) session_.check_item(n);
    }
    // More work: it uses what recovery left, and is itself cut short by crashes.
    void work_on() override {
        session_.push(1001);
        session_.pop();
        session_.end_epoch();
        session_.push(1002);
    }

   private:
    session session_;
};

// Step 5. The workload. All of it must follow from the seed.
class queue_target final : public target {
   public:
    explicit queue_target(hf::u64 seed) : random_(seed) {}

    void prepare() override {  // durable before the trace begins
        session_.open();
        session_.push(1);
        session_.end_epoch();
    }
    void run() override {  // recorded; it ends in the middle of an epoch
        for (hf::u64 turn = 1; turn <= 20; ++turn) {
            random_() % 3 == 0 ? session_.pop() : session_.push(100 + turn);
            if (turn % 6 == 0) session_.end_epoch();
        }
    }
    void crash() override { session_.crash(); }
    std::unique_ptr<survivor> recover(hf::u64 announced) override {
        return std::make_unique<queue_survivor>(session_.next(), announced);
    }

   private:
    session session_;
    hf::splitmix64 random_;
};

}  // namespace

target_description queue_case() {
    return {"queue",
            "examples",
            "pushes and pops of a queue of one's own",
            [](hf::u64 seed) { return std::make_unique<queue_target>(seed); },
            {}};
}

}  // namespace example
