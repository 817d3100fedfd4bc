#include "crashlab/seeded/twins.hpp"

#include "crashlab/seeded/small_region.hpp"

#include <atomic>
#include <optional>

namespace hf::lab::seeded {
namespace {

constexpr u64 most = 6;

class twins {
   public:
    explicit twins(twins_bug b)
        : bug_(b),
          counts_(open_small_region(file_paths[0])),
          numbers_(open_small_region(file_paths[1])),
          count_(first_segment<item>(*counts_)),
          all_(first_segment<items>(*numbers_)) {}

    [[nodiscard]] u64 count() const { return count_->value.load(std::memory_order_acquire); }
    [[nodiscard]] u64 at(u64 n) const { return all_->of[n].value.load(std::memory_order_acquire); }
    void add() {
        const u64 n = count();
        if (bug_ == twins_bug::count_first) persist(*counts_, *count_, n + 1);
        persist(*numbers_, all_->of[n], n + 1);
        if (bug_ != twins_bug::count_first) persist(*counts_, *count_, n + 1);
    }

   private:
    struct alignas(line_size) item {
        std::atomic<u64> value;
    };
    struct items {
        item of[most];
    };
    static void persist(region& r, item& i, u64 value) {
        i.value.store(value, std::memory_order_release);
        r.med().persist(&i, sizeof(i));
    }

    twins_bug bug_;
    std::unique_ptr<region> counts_;
    std::unique_ptr<region> numbers_;
    item* count_;
    items* all_;
};

class twins_survivor final : public survivor {
   public:
    twins_survivor(twins_bug b, const promised& all) : bug_(b), promised_(all) {
        twins_.emplace(b);
    }
    void crash() override { twins_.reset(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<twins_survivor>(bug_, all);
    }
    [[nodiscard]] unsigned questions() const override { return most; }
    void ask(unsigned number) override {
        if (promised_.has_returned(number + 1)) {
            require(number < twins_->count(), "a number that was added is not counted");
        }
        if (number >= twins_->count()) return;
        require(promised_.has_begun(number + 1), "a number is counted that nobody has added");
        require(twins_->at(number) == number + 1, "a number is counted that is not there");
    }
    void inspect() override {
        for (unsigned q = 0; q < most; ++q) ask(q);
    }

   private:
    twins_bug bug_;
    promised promised_;
    std::optional<twins> twins_;
};

class twins_target final : public target {
   public:
    explicit twins_target(twins_bug b) : bug_(b) {}
    void prepare() override { twins_.emplace(bug_); }
    void run() override {
        for (u64 n = 1; n <= most; ++n) {
            begin_operation(n);
            twins_->add();
            end_operation(n);
        }
    }
    void crash() override { twins_.reset(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<twins_survivor>(bug_, all);
    }

   private:
    twins_bug bug_;
    std::optional<twins> twins_;
};

}  // namespace

target_description twins_case(twins_bug b) {
    target_description d{"twins",
                         "tests",
                         "two regions that refer to each other",
                         [b](u64) { return std::make_unique<twins_target>(b); },
                         {}};
    d.files = 2;
    return d;
}

}  // namespace hf::lab::seeded
