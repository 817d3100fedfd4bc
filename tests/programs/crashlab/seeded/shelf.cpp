#include "crashlab/seeded/shelf.hpp"

#include "crashlab/seeded/small_region.hpp"
#include "persist/ordered.hpp"
#include "persist/trace.hpp"

#include <algorithm>
#include <optional>

namespace hf::lab::seeded {
std::string_view to_string(shelf_bug b) noexcept {
    switch (b) {
        case shelf_bug::none:
            return "none";
        case shelf_bug::early_unlock:
            return "early_unlock";
        case shelf_bug::early_unlock_helped:
            return "early_unlock_helped";
    }
    return "unknown";
}

shelf::shelf(shelf_bug b)
    : bug_(b), region_(open_small_region()), on_medium_(first_segment<contents>(*region_)) {}

void shelf::persist(item& i, u64 value) const {
    ordered_store(i.value, value);
    region_->med().persist(&i, sizeof(i));
}

bool shelf::contains(u64 key) const {
    const auto& table = on_medium_->tables[on_medium_->in_use.value];
    return std::any_of(table, table + capacity, [&](const item& i) { return i.value == key; });
}

void shelf::insert(u64 key) {
    const std::lock_guard guard(mutex_);
    item& in_use = on_medium_->in_use;
    auto& table = on_medium_->tables[in_use.value];
    if (bug_ == shelf_bug::early_unlock_helped) region_->med().persist(&in_use, sizeof(in_use));
    persist(*std::find_if(table, table + capacity, [](const item& i) { return i.value == 0; }),
            key);
}

void shelf::move() {
    std::unique_lock guard(mutex_);
    item& in_use = on_medium_->in_use;
    const u64 other = 1 - in_use.value;
    for (unsigned i = 0; i < capacity; ++i) {
        const u64 key = on_medium_->tables[1 - other][i].value;
        if (key != 0) persist(on_medium_->tables[other][i], key);
    }
    ordered_store(in_use.value, other);
    if (bug_ != shelf_bug::none) guard.unlock();
    region_->med().persist(&in_use, sizeof(in_use));
}

namespace {

/// Keys that are there before the trace begins.
constexpr u64 first_keys = 2;
constexpr u64 all_keys = 5;

class shelf_survivor final : public survivor {
   public:
    shelf_survivor(shelf_bug b, u64 announced)
        : bug_(b), announced_(std::max(announced, first_keys)) {
        shelf_.emplace(b);
    }

    void crash() override { shelf_.reset(); }
    std::unique_ptr<survivor> recover(u64 announced) override {
        return std::make_unique<shelf_survivor>(bug_, announced);
    }
    [[nodiscard]] unsigned questions() const override { return all_keys; }
    void ask(unsigned number) override {
        const u64 key = number + 1;
        require(key > announced_ || shelf_->contains(key), "an announced key is lost");
    }
    void inspect() override {
        for (unsigned q = 0; q < all_keys; ++q) ask(q);
    }

   private:
    shelf_bug bug_;
    u64 announced_;
    std::optional<shelf> shelf_;
};

class shelf_target final : public target {
   public:
    explicit shelf_target(shelf_bug b) : bug_(b) {}

    void prepare() override {
        shelf_.emplace(bug_);
        for (u64 key = 1; key <= first_keys; ++key) shelf_->insert(key);
    }
    void run() override {}
    [[nodiscard]] unsigned threads() const override { return 2; }
    [[nodiscard]] u64 about_steps() const override { return 300; }
    void run_thread(unsigned number) override {
        if (number == 0) {
            for (unsigned turn = 0; turn < 6; ++turn) shelf_->move();
            return;
        }
        for (u64 key = first_keys + 1; key <= all_keys; ++key) {
            shelf_->insert(key);
            trace::announced(key);
        }
    }
    void crash() override { shelf_.reset(); }
    std::unique_ptr<survivor> recover(u64 announced) override {
        return std::make_unique<shelf_survivor>(bug_, announced);
    }

   private:
    shelf_bug bug_;
    std::optional<shelf> shelf_;
};

}  // namespace

target_description shelf_case(shelf_bug b) {
    return {to_string(b),
            "tests",
            "a shelf with a seeded bug",
            [b](u64) { return std::make_unique<shelf_target>(b); },
            {}};
}

}  // namespace hf::lab::seeded
