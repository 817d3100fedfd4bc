// The counter in the crash lab. Operation n makes the count n.
#include "made_up/lab_target.hpp"

#include "made_up/counter.hpp"

namespace made_up {
namespace {

using hf::lab::promised;
using hf::lab::require;
using hf::lab::survivor;

std::unique_ptr<counter> opened() {
    hf::region_options o;
    o.flush = hf::flush_policy::always;
    o.max_size = u64{4} << 20;
    auto made = counter::open(hf::lab::file_path, o);
    if (!made) throw hf::lab::violation(made.error().to_string());
    return std::move(*made);
}

void count(counter& c, u64 times) {
    for (; times != 0; --times) {
        const u64 n = c.value() + 1;
        hf::lab::begin_operation(n);
        c.add_one();
        hf::lab::end_operation(n);
    }
}

class recovered final : public survivor {
   public:
    explicit recovered(promised all) : promised_(std::move(all)), counter_(opened()) {}

    void crash() override { counter_.reset(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<recovered>(all);
    }
    [[nodiscard]] unsigned questions() const override { return 1; }
    void ask(unsigned) override {
        const u64 n = counter_->value();
        require(n == 0 || promised_.has_begun(n), "it has counted further than it was told to");
        require(!promised_.has_returned(n + 1), "a count that was durable is lost");
    }
    void inspect() override { ask(0); }
    void work_on() override { count(*counter_, 2); }

   private:
    promised promised_;
    std::unique_ptr<counter> counter_;
};

class counting final : public hf::lab::target {
   public:
    explicit counting(u64 seed) : times_(2 + seed % 3) {}

    void prepare() override { counter_ = opened(); }
    void run() override { count(*counter_, times_); }
    void crash() override { counter_.reset(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<recovered>(all);
    }

   private:
    u64 times_;
    std::unique_ptr<counter> counter_;
};

}  // namespace

hf::lab::target_description counter_case() {
    return {"made_up.counter",
            "made_up",
            "a counter of a discipline outside of Holdfast",
            [](u64 seed) { return std::make_unique<counting>(seed); },
            {"made_up M1: the counter's slot is durable before add_one() returns",
             "made_up M2: the slots that recovery read are durable before add_one()"}};
}

}  // namespace made_up
