#include "crashlab/seeded/clerk.hpp"

#include "crashlab/seeded/small_region.hpp"
#include "persist/ordered.hpp"
#include "persist/trace.hpp"

#include <optional>

namespace hf::lab::seeded {
namespace {

struct alignas(line_size) line_of_claim {
    u64 value;
};
struct claims {
    line_of_claim claim;
    line_of_claim answer;
};

/// A process that finds a claim answers it, and promises that.
class clerk {
   public:
    explicit clerk(next_one n)
        : region_(open_small_region()), at_(first_segment<claims>(*region_)) {
        if (n == next_one::makes_sure) region_->med().persist(&at_->claim, line_size);
    }
    void file_claim() { write(at_->claim); }
    void answer() {
        if (at_->claim.value == 0) return;
        write(at_->answer);
        trace::announced(1);
    }
    void judge(u64 announced) const {
        require(announced == 0 || at_->claim.value == 1, "what was answered is gone");
    }

   private:
    void write(line_of_claim& l) {
        ordered_store(l.value, 1);
        region_->med().persist(&l, sizeof l);
    }
    std::unique_ptr<region> region_;
    claims* at_;
};

class clerk_survivor final : public survivor {
   public:
    clerk_survivor(next_one n, u64 announced) : next_(n), announced_(announced), clerk_(n) {
        clerk_->judge(announced);
    }
    void crash() override { clerk_.reset(); }
    std::unique_ptr<survivor> recover(u64 announced) override {
        return std::make_unique<clerk_survivor>(next_, announced);
    }
    [[nodiscard]] unsigned questions() const override { return 0; }
    void ask(unsigned) override {}
    void inspect() override { clerk_->judge(announced_); }
    void work_on() override { clerk_->answer(); }

   private:
    next_one next_;
    u64 announced_;
    std::optional<clerk> clerk_;
};

class clerk_target final : public target {
   public:
    explicit clerk_target(next_one n) : next_(n) {}
    void prepare() override { clerk_.emplace(next_); }
    void run() override { clerk_->file_claim(); }
    void crash() override { clerk_.reset(); }
    std::unique_ptr<survivor> recover(u64 announced) override {
        return std::make_unique<clerk_survivor>(next_, announced);
    }

   private:
    next_one next_;
    std::optional<clerk> clerk_;
};

}  // namespace

target_description clerk_case(next_one n) {
    return {"clerk",
            "tests",
            "a claim that a killed process left in the caches",
            [n](u64) { return std::make_unique<clerk_target>(n); },
            {}};
}

}  // namespace hf::lab::seeded
