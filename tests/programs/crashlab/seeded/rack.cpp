#include "crashlab/seeded/rack.hpp"

#include <holdfast/crashlab/key_history.hpp>

#include "crashlab/seeded/small_region.hpp"

#include <optional>

namespace hf::lab::seeded {

std::string_view to_string(rack_bug b) noexcept {
    switch (b) {
        case rack_bug::none:
            return "none";
        case rack_bug::early_return:
            return "early_return";
        case rack_bug::early_unlock:
            return "early_unlock";
        case rack_bug::early_publication:
            return "early_publication";
        case rack_bug::unvalidated_read:
            return "unvalidated_read";
    }
    return "unknown";
}

rack::rack(rack_bug b)
    : bug_(b), region_(open_small_region()), there_(first_segment<contents>(*region_)) {}

void rack::persist(item& i, u64 value) const {
    i.value.store(value, std::memory_order_release);
    region_->med().persist(&i, sizeof(i));
}

bool rack::contains(u64 key) const {
    for (;;) {
        const u64 turn = there_->turns.value.load(std::memory_order_acquire);
        bool found = false;
        for (item& i : there_->tables[turn % 2]) {
            found = found || i.value.load(std::memory_order_acquire) == key;
            region_->med().flush(&i, sizeof(i));
        }
        if (bug_ != rack_bug::early_unlock) {
            region_->med().flush(&there_->turns, sizeof(item));
            region_->med().fence();
        }
        if (bug_ == rack_bug::unvalidated_read) return found;
        if (there_->turns.value.load(std::memory_order_acquire) == turn) return found;
    }
}

void rack::insert(u64 key) {
    const std::lock_guard guard(mutex_);
    for (item& i : there_->tables[there_->turns.value.load(std::memory_order_relaxed) % 2]) {
        if (i.value.load(std::memory_order_relaxed) != 0) continue;
        if (bug_ != rack_bug::early_return) return persist(i, key);
        i.value.store(key, std::memory_order_release);
        return region_->med().flush(&i, sizeof(i));
    }
    throw violation("the rack is full");
}

void rack::move() {
    std::unique_lock guard(mutex_);
    const u64 turn = there_->turns.value.load(std::memory_order_relaxed);
    auto& from = there_->tables[turn % 2];
    auto& to = there_->tables[(turn + 1) % 2];
    for (unsigned i = 0; i < capacity; ++i) {
        to[i].value.store(from[i].value.load(std::memory_order_relaxed), std::memory_order_relaxed);
        region_->med().flush(&to[i], sizeof(item));
    }
    if (bug_ != rack_bug::early_publication) region_->med().fence();
    there_->turns.value.store(turn + 1, std::memory_order_release);
    if (bug_ == rack_bug::early_unlock) {
        guard.unlock();
        region_->med().persist(&there_->turns, sizeof(item));
        return;
    }
    region_->med().persist(&there_->turns, sizeof(item));
    for (item& i : from) persist(i, 0);
}

namespace {

constexpr u64 keys = 5;
constexpr u64 in_the_beginning = 2;
/// The value as which a key in the set is read.
constexpr u64 there = 1;

std::string name_of(u64 key) { return "key" + std::to_string(key); }
/// A value for a key is written once: the key itself.
u64 value_of(u64 key, bool is_there) { return is_there ? key : key_history::nothing; }

class rack_survivor final : public survivor {
   public:
    rack_survivor(rack_bug b, const key_history& h, const promised& all)
        : bug_(b), history_(h), promised_(all) {
        rack_.emplace(b);
    }
    void crash() override { rack_.reset(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<rack_survivor>(bug_, history_, all);
    }
    [[nodiscard]] unsigned questions() const override { return keys; }
    void ask(unsigned number) override {
        const u64 key = number + 1;
        history_.judge_remains(promised_, name_of(key), value_of(key, rack_->contains(key)));
    }
    void inspect() override {
        for (unsigned q = 0; q < keys; ++q) ask(q);
    }

   private:
    rack_bug bug_;
    const key_history& history_;
    promised promised_;
    std::optional<rack> rack_;
};

class rack_target final : public target {
   public:
    explicit rack_target(rack_bug b) : bug_(b) {}

    void prepare() override {
        rack_.emplace(bug_);
        for (u64 key = 1; key <= in_the_beginning; ++key) {
            rack_->insert(key);
            history_.holds(name_of(key), key);
        }
        rack_->move();
    }
    void run() override {}
    [[nodiscard]] unsigned threads() const override { return 3; }
    [[nodiscard]] u64 about_steps() const override { return 400; }
    void run_thread(unsigned number) override {
        if (number == 0) return insert_all();
        number == 1 ? read_all() : move_often();
    }
    void crash() override { rack_.reset(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<rack_survivor>(bug_, history_, all);
    }
    void judge_run(const promised& all) const override { history_.judge_reads(all); }
    [[nodiscard]] std::string describe_operation(u64 number) const override {
        return number < 100   ? "insert " + std::to_string(number)
               : number < 200 ? "read " + std::to_string(number % 10 + 1)
                              : "move";
    }

   private:
    void insert_all() {
        for (u64 key = in_the_beginning + 1; key <= keys; ++key) {
            history_.writes(key, name_of(key), key);
            begin_operation(key);
            rack_->insert(key);
            end_operation(key, there);
        }
    }
    void read_all() {
        for (u64 turn = 0; turn < 10; ++turn) {
            const u64 key = turn % keys + 1;
            const u64 operation = 100 + turn / keys * 10 + turn % keys;
            history_.reads(operation, name_of(key));
            begin_operation(operation);
            end_operation(operation, value_of(key, rack_->contains(key)));
        }
    }
    void move_often() {
        for (u64 turn = 0; turn < 3; ++turn) {
            begin_operation(200 + turn);
            rack_->move();
            end_operation(200 + turn);
        }
    }

    rack_bug bug_;
    std::optional<rack> rack_;
    key_history history_;
};

}  // namespace

const lint_rules& rack_rules() {
    static const lint_rules rules = [] {
        lint_rules r;
        r.durable = promise::at_once;
        return r;
    }();
    return rules;
}

target_description rack_case(rack_bug b) {
    target_description d{to_string(b),
                         "tests",
                         "a rack with a seeded bug",
                         [b](u64) { return std::make_unique<rack_target>(b); },
                         {}};
    d.rules = &rack_rules();
    d.has_threads = true;
    return d;
}

}  // namespace hf::lab::seeded
