#include "crashlab/targets/plain/plain_cases.hpp"

#include "base/random.hpp"
#include "crashlab/runtime/file.hpp"
#include "crashlab/targets/transaction/shadow_points.hpp"
#include "crashlab/targets/want.hpp"
#include "plain/machine.hpp"

#include <algorithm>
#include <string>

namespace hf::lab {
namespace {

using std::to_string;
using namespace shadow_points;

// Words: how many are listed, the list, and what the transactions store to.
constexpr u64 most_listed = 120;
constexpr u64 first_word = 128;
constexpr u64 page_words = 512;
constexpr u64 memory_unit = u64{64} << 10;
/// Transactions with numbers from here on change a group of pages: with three groups there are more
/// pages than the lab lets there be second slots (shadow_slots.cpp).
constexpr u64 of_pages = 10'000'000;
constexpr u64 group_pages = 16;
/// Transactions before the trace have numbers from here on.
constexpr u64 before_trace = 1'000'000;

constexpr bool aborts(u64 number) { return number < before_trace && number % 5 == 2; }

/// Calls store(word) for each word, besides the list, to which transaction `number` stores its
/// number.
template <class F>
void each_store(u64 number, F&& store) {
    splitmix64 random(number);
    for (u64 n = 0; n < 4; ++n) store(first_word + random() % 48);
    for (u64 n = 0; n < 2; ++n) store(page_words * (1 + random() % 3) + random() % 16);
    if (number < of_pages) return;
    for (u64 i = 0; i < group_pages; ++i) {
        store((1 + number % 10 * group_pages + i) * page_words + 8 * (random() % 2));
    }
}

struct setting {
    u64 memory = 1;  ///< of 64 KiB
    u64 max_size = u64{60} << 20;
};

class plain_session {
   public:
    explicit plain_session(const setting& s) : setting_(s) {}

    void open() {
        plain::machine_options o;
        o.bytes = setting_.memory * memory_unit;
        o.file.max_size = setting_.max_size;
        o.file.flush = flush_policy::always;
        o.tracking =
            plain::working_image::way::all;  // what the kernel sees is not the lab's memory
        machine_ = want(plain::machine::open(file_path, o));
    }
    void crash() { machine_.reset(); }
    void close() { want(machine_->close()); }
    void grow_by_one() noexcept { ++setting_.memory; }

    void run(u64 number);
    void run_before(u64 number) { transact(before_trace + number); }
    [[nodiscard]] u64 next_number() noexcept { return ++numbers_; }
    /// The number of a transaction that changes the group's pages.
    [[nodiscard]] u64 next_of(u64 group) noexcept { return of_pages + 10 * next_number() + group; }
    /// Stores of a transaction that is never to commit.
    void store_and_leave() { store(next_number()); }

    /// Determines which transactions have committed.
    void adopt(const promised& all);
    void check() const;
    [[nodiscard]] plain_session next() const {
        plain_session s(setting_);
        s.numbers_ = numbers_ + 1'000;
        return s;
    }

   private:
    void transact(u64 number);
    void store(u64 number);
    [[nodiscard]] u64& word(u64 i) const {
        return reinterpret_cast<u64*>(machine_->memory().data())[i];
    }
    [[nodiscard]] u64 words() const { return machine_->memory().size() / 8; }

    setting setting_;
    std::unique_ptr<plain::machine> machine_;
    u64 numbers_ = 0;
    std::vector<u64> model_;
};

void plain_session::store(u64 number) {
    require(word(0) < most_listed, "the target lists too many transactions");
    word(1 + word(0)++) = number;
    each_store(number, [&](u64 i) {
        if (i < words()) word(i) = number;
    });
}

void plain_session::transact(u64 number) {
    store(number);
    if (aborts(number)) {
        want(machine_->abort());
    } else {
        want(machine_->commit());
    }
}

void plain_session::run(u64 number) {
    begin_operation(number);
    transact(number);
    end_operation(number);
}

void plain_session::adopt(const promised& all) {
    const u64 listed = word(0);
    require(listed <= most_listed, "the list of transactions is not what anybody has stored");
    model_.assign(words(), 0);
    model_[0] = listed;
    for (u64 i = 0; i < listed; ++i) {
        const u64 number = word(1 + i);
        const bool is_older = number % of_pages >= before_trace;
        require(is_older || all.has_begun(number), "a transaction that never began has committed");
        require(!aborts(number), "a transaction that aborted has committed");
        model_[1 + i] = number;
        each_store(number, [&](u64 w) {
            if (w < words()) model_[w] = number;
        });
    }
    for (const auto& [number, told] : all.operations) {
        if (!told.has_returned() || aborts(number)) continue;
        const auto end = model_.begin() + 1 + static_cast<std::ptrdiff_t>(listed);
        if (std::find(model_.begin() + 1, end, number) == end) {
            throw violation("transaction " + to_string(number) + " had returned, and is lost");
        }
    }
}

void plain_session::check() const {
    for (u64 i = 0; i < words(); ++i) {
        const bool is_of_list = i > model_[0] && i < first_word;
        if (word(i) == (is_of_list ? 0 : model_[i])) continue;
        throw violation("word " + to_string(i) + " is not as the transactions left it");
    }
}

class plain_survivor final : public survivor {
   public:
    plain_survivor(plain_session s, const promised& all) : session_(std::move(s)) {
        session_.open();
        session_.adopt(all);
    }
    void crash() override { session_.crash(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<plain_survivor>(session_.next(), all);
    }
    [[nodiscard]] unsigned questions() const override { return 1; }
    void ask(unsigned) override { session_.check(); }
    void inspect() override { session_.check(); }
    void work_on() override {
        for (int i = 0; i < 3; ++i) session_.run(session_.next_number());
    }

   private:
    plain_session session_;
};

struct plain_case {
    std::string_view name;
    std::string_view what;
    setting how;
    void (*prepare)(plain_session&);
    void (*run)(plain_session&);
    bool opens_in_run;
    std::vector<std::string_view> points;
};

class plain_target final : public target {
   public:
    plain_target(const plain_case& c, u64 seed) : case_(c), session_(c.how) {
        for (u64 i = 0; i < seed % 997; ++i) static_cast<void>(session_.next_number());
    }

    void prepare() override {
        session_.open();
        if (case_.prepare != nullptr) case_.prepare(session_);
        if (case_.opens_in_run) session_.crash();
    }
    void run() override {
        if (case_.opens_in_run) session_.open();
        case_.run(session_);
    }
    void crash() override { session_.crash(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<plain_survivor>(session_.next(), all);
    }

   private:
    const plain_case& case_;
    plain_session session_;
};

// --------------------------------------------------------------------------------------- workloads

void run_some(plain_session& s) {
    for (int i = 0; i < 5; ++i) s.run(s.next_number());
    s.store_and_leave();
}
void fill(plain_session& s) {
    for (u64 i = 0; i < 4; ++i) s.run_before(i);
}
void fill_pages(plain_session& s) {
    fill(s);
    for (u64 group = 0; group < 2; ++group) s.run_before(of_pages + 10 * (group + 5) + group);
}
void change_pages(plain_session& s) {
    s.run(s.next_of(2));
    s.run(s.next_number());
    s.run(s.next_of(0));
}
void grow_and_go_on(plain_session& s) {
    s.run(s.next_number());
    s.close();
    s.crash();
    s.grow_by_one();
    s.open();
    s.run(s.next_of(0));
    s.run(s.next_of(1));
}

const std::vector<plain_case>& cases() {
    static const std::vector<plain_case> all{
        {"plain.first",
         "first stores: pages get their second slots",
         {},
         nullptr,
         run_some,
         false,
         {point_s2}},
        {"plain.commit",
         "commits and aborts, lines by turns in both slots",
         {},
         fill,
         run_some,
         false,
         {point_s2}},
        {"plain.reapply",
         "an opening brings lines home",
         {},
         fill,
         run_some,
         true,
         {point_sr1, point_sr2, point_sr3}},
        {"plain.consolidation",
         "more pages than slots",
         {4, u64{3} << 20},
         fill_pages,
         change_pages,
         false,
         {point_s2, point_s3, point_s4}},
        {"plain.growth",
         "closed in order, and opened for more bytes",
         {},
         fill,
         grow_and_go_on,
         false,
         {point_s2, point_s5}},
    };
    return all;
}

}  // namespace

const std::vector<target_description>& plain_cases() {
    static const std::vector<target_description> all = [] {
        std::vector<target_description> found;
        for (const plain_case& c : cases()) {
            found.push_back({c.name, "plain", c.what,
                             [&c](u64 seed) { return std::make_unique<plain_target>(c, seed); },
                             c.points});
        }
        return found;
    }();
    return all;
}

}  // namespace hf::lab
