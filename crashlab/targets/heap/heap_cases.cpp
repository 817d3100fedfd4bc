#include "crashlab/targets/heap/heap_cases.hpp"

#include <holdfast/heap.hpp>

#include "base/random.hpp"
#include "crashlab/runtime/file.hpp"
#include "crashlab/targets/heap/heap_change_cases.hpp"
#include "heap/testing.hpp"

#include <array>
#include <memory>
#include <set>

namespace hf::lab {
namespace {

using std::to_string;

template <class T>
T given(tl::expected<T, error> r) {
    if (!r) throw violation(r.error().to_string());
    if constexpr (!std::is_void_v<T>) return std::move(*r);
}

constexpr unsigned slots = 4;

struct item {
    static constexpr std::string_view nv_name = "item";
    nv::p<u64> tag;
    nv::ptr<item> next;
    nv::weak<item> seen;
};
struct entry {
    static constexpr std::string_view nv_name = "entry";
    nv::p<u64> number;
    nv::ptr<entry> before;
};
struct desk {
    static constexpr std::string_view nv_name = "desk";
    nv::array<nv::ptr<item>, slots> slot;
    nv::ptr<nv::ptr<item>[]> many;
    nv::ptr<entry> newest;
};

/// The same object in plain C++.
struct model_item {
    u64 tag = 0;
    std::shared_ptr<model_item> next;
    std::weak_ptr<model_item> seen;
};
struct model {
    std::array<std::shared_ptr<model_item>, slots> slot;
    std::vector<std::shared_ptr<model_item>> many;
    std::vector<std::shared_ptr<model_item>> kept;  ///< of the volatile references
    u64 listed = 0;
};

enum class deed : u8 {
    put,
    share,
    clear,
    look,
    keep,
    let_go,
    fill_many,
    drop_many,
    go_back,
    give_up
};

/// The action of a transaction, derived from its number.
struct plan_of_item {
    deed what;
    unsigned a;
    unsigned b;
    unsigned length;

    explicit plan_of_item(u64 number) {
        splitmix64 r(number);
        constexpr deed deeds[] = {deed::put,    deed::put,       deed::share,     deed::clear,
                                  deed::look,   deed::keep,      deed::let_go,    deed::put,
                                  deed::put,    deed::fill_many, deed::drop_many, deed::give_up,
                                  deed::go_back};
        what = deeds[r() % std::size(deeds)];
        a = static_cast<unsigned>(r() % slots);
        b = static_cast<unsigned>(r() % slots);
        length = static_cast<unsigned>(1 + r() % 6);
    }
    void apply(u64 number, model& m) const {
        switch (what) {
            case deed::put: {
                std::shared_ptr<model_item> chain = m.slot[b];
                for (unsigned i = 0; i < length; ++i) {
                    auto head = std::make_shared<model_item>();
                    head->tag = number * 10 + i;
                    head->next = chain;
                    chain = head;
                }
                m.slot[a] = chain;
                break;
            }
            case deed::share:
                m.slot[a] = m.slot[b];
                break;
            case deed::clear:
                m.slot[a] = nullptr;
                break;
            case deed::look:
                if (m.slot[a]) m.slot[a]->seen = m.slot[b];
                break;
            case deed::keep:
                if (m.slot[a]) m.kept.push_back(m.slot[a]);
                m.slot[a] = nullptr;
                break;
            case deed::let_go:
                m.kept.clear();
                break;
            case deed::fill_many:
                m.many.assign(2 * length, nullptr);
                for (unsigned i = 0; i < length; ++i) m.many[2 * i] = m.slot[i % slots];
                break;
            case deed::drop_many:
                m.many.clear();
                break;
            case deed::go_back: {
                auto older = std::make_shared<model_item>();
                older->tag = number * 10 + 2;
                m.slot[a] = std::make_shared<model_item>();
                m.slot[a]->tag = number * 10 + 1;
                m.slot[a]->next = older;
                break;
            }
            case deed::give_up:
                return;
        }
        ++m.listed;
    }
};

class heap_session {
   public:
    explicit heap_session(nv::engine e) : engine_(e) {}

    void open() {
        nv::heap_options o;
        o.region.initial_size = u64{2} << 20;
        o.region.max_size = u64{60} << 20;
        o.region.flush = flush_policy::always;
        o.engine = engine_;
        o.epoch = std::chrono::microseconds(0);
        heap_ = std::make_unique<nv::heap<>>(given(nv::heap<>::open(file_path, o)));
        desk_ = std::make_unique<nv::root<desk>>(given(heap_->root<desk>("desk")));
        given(heap_->atomic([&](nv::tx<>& tx) {
            if (!*desk_) desk_->set(tx, tx.make<desk>());
        }));
    }
    void crash() {
        // Destroying the references normally would change the heap.
        if (heap_) nv::heap_testing::abandon(*heap_);
        kept_.clear();
        desk_.reset();
        heap_.reset();
        model_.kept.clear();
    }
    void end_epoch() { nv::heap_testing::inner(*heap_).lower().epochs().end_epoch(); }

    void run(u64 number) {
        begin_operation(number);
        transact(number);
        end_operation(number);
    }
    void run_before(u64 number) {
        transact(number);
        before_.insert(number);
    }
    void collect() { static_cast<void>(given(heap_->collect())); }
    void close_in_order() {
        kept_.clear();
        model_.kept.clear();
        given(heap_->close());
        desk_.reset();
        heap_.reset();
    }
    void adopt(const promised& all);
    void check(unsigned slot);
    void inspect();

    [[nodiscard]] u64 next_number() noexcept { return ++numbers_; }
    void skip(u64 numbers) noexcept { numbers_ += numbers; }
    [[nodiscard]] heap_session next() const {
        heap_session s(engine_);
        s.numbers_ = numbers_ + 1'000;
        s.before_ = before_;
        return s;
    }

   private:
    void transact(u64 number);
    void apply(nv::tx<>& tx, u64 number, const plan_of_item& plan);
    [[nodiscard]] static u64 count(const model& m);

    nv::engine engine_;
    std::unique_ptr<nv::heap<>> heap_;
    std::unique_ptr<nv::root<desk>> desk_;
    std::vector<nv::ref<item>> kept_;
    u64 numbers_ = 0;
    std::set<u64> before_;  ///< committed before the trace
    model model_;
};

void heap_session::apply(nv::tx<>& tx, u64 number, const plan_of_item& plan) {
    desk& d = *desk_->get();
    switch (plan.what) {
        case deed::put: {
            auto chain = d.slot[plan.b].get();
            for (unsigned i = 0; i < plan.length; ++i) {
                chain = tx.make<item>(number * 10 + i, chain);
            }
            d.slot[plan.a].set(tx, chain);
            break;
        }
        case deed::share:
            d.slot[plan.a].set(tx, d.slot[plan.b]);
            break;
        case deed::clear:
            d.slot[plan.a].set(tx, nullptr);
            break;
        case deed::look:
            if (d.slot[plan.a]) d.slot[plan.a]->seen.set(tx, d.slot[plan.b]);
            break;
        case deed::keep:
            if (d.slot[plan.a]) kept_.emplace_back(d.slot[plan.a].get());
            d.slot[plan.a].set(tx, nullptr);
            break;
        case deed::let_go:
            kept_.clear();
            break;
        case deed::fill_many: {
            auto many = tx.make_array<nv::ptr<item>[]>(2 * plan.length);
            for (unsigned i = 0; i < plan.length; ++i) many[2 * i].set(tx, d.slot[i % slots]);
            d.many.set(tx, many);
            break;
        }
        case deed::drop_many:
            d.many.set(tx, nullptr);
            break;
        case deed::go_back: {
            // Transaction R3: the older object, made as an argument, must be stored before the
            // object that refers to it.
            auto older = tx.make<item>(number * 10);
            d.slot[plan.a].set(tx, tx.make<item>(number * 10 + 1, older));
            older->tag.set(tx, number * 10 + 2);
            break;
        }
        case deed::give_up:
            d.slot[plan.a].set(tx, tx.make<item>(number, d.slot[plan.b]));
            break;
    }
    d.newest.set(tx, tx.make<entry>(number, d.newest));
    if (plan.what == deed::give_up) tx.abort();
}

void heap_session::transact(u64 number) {
    const plan_of_item plan(number);
    const auto done = heap_->atomic([&](nv::tx<>& tx) { apply(tx, number, plan); });
    if (plan.what != deed::give_up && !done) throw violation(done.error().to_string());
    plan.apply(number, model_);
}

void heap_session::adopt(const promised& all) {
    std::vector<u64> numbers;
    given(heap_->read([&](nv::tx<>&) {
        numbers.clear();
        for (auto e = (*desk_)->newest.get(); e; e = e->before) {
            numbers.push_back(e->number);
            require(numbers.size() < 1'000, "the list of transactions has no end");
        }
    }));
    const std::set<u64> found(numbers.begin(), numbers.end());
    require(found.size() == numbers.size(), "a transaction has committed twice");
    model_ = {};
    for (auto n = numbers.rbegin(); n != numbers.rend(); ++n) {
        const plan_of_item plan(*n);
        require(before_.contains(*n) || all.has_begun(*n),
                "a transaction that never began has committed");
        require(plan.what != deed::give_up, "a transaction that aborted has committed");
        plan.apply(*n, model_);
    }
    model_.kept.clear();  // the process's volatile references ended with it
    for (const auto& [number, told] : all.operations) {
        if (!told.has_returned() || plan_of_item(number).what == deed::give_up) continue;
        if (!found.contains(number)) {
            throw violation("transaction " + to_string(number) + " had returned, and is lost");
        }
    }
    before_.insert(numbers.begin(), numbers.end());
}

void heap_session::check(unsigned slot) {
    given(heap_->read([&](nv::tx<>&) {
        auto here = (*desk_)->slot[slot].get();
        const model_item* wanted = model_.slot[slot].get();
        while (here && wanted != nullptr) {
            require(here->tag == wanted->tag, "an object holds what nobody has stored there");
            const auto seen = here->seen.get();
            const auto wanted_seen = wanted->seen.lock();
            require(static_cast<bool>(seen) == (wanted_seen != nullptr),
                    "a weak pointer is null where its object lives, or is not where it has died");
            if (seen) require(seen->tag == wanted_seen->tag, "a weak pointer leads elsewhere");
            here = here->next;
            wanted = wanted->next.get();
        }
        require(!here && wanted == nullptr, "a chain of objects is shorter or longer than it was");
    }));
}

u64 heap_session::count(const model& m) {
    std::set<const model_item*> met;
    std::vector<const model_item*> open;
    const auto meet = [&](const std::shared_ptr<model_item>& i) {
        if (i && met.insert(i.get()).second) open.push_back(i.get());
    };
    for (const auto& i : m.slot) meet(i);
    for (const auto& i : m.many) meet(i);
    for (const auto& i : m.kept) meet(i);
    while (!open.empty()) {
        const model_item* const i = open.back();
        open.pop_back();
        meet(i->next);
    }
    return met.size() + m.listed + 1 + (m.many.empty() ? 0 : 1);
}

void heap_session::inspect() {
    const nv::heap_report report = given(heap_->check());
    if (!report.ok()) throw violation("check says: " + report.violations.front());
    require(report.unreachable == 0, "objects are alive that nothing leads to");
    require(report.doomed == 0, "what was to be destroyed is there yet");
    const u64 wanted = count(model_);
    if (report.objects - report.proxies != wanted) {
        throw violation("there are " + to_string(report.objects - report.proxies) +
                        " objects instead of " + to_string(wanted));
    }
    for (unsigned i = 0; i < slots; ++i) check(i);
}

class heap_survivor final : public survivor {
   public:
    heap_survivor(heap_session s, const promised& all) : session_(std::move(s)) {
        session_.open();
        session_.adopt(all);
    }
    void crash() override { session_.crash(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<heap_survivor>(session_.next(), all);
    }
    [[nodiscard]] unsigned questions() const override { return slots; }
    void ask(unsigned number) override { session_.check(number); }
    void inspect() override { session_.inspect(); }
    void work_on() override {
        for (int i = 0; i < 6; ++i) session_.run(session_.next_number());
        session_.inspect();
        session_.end_epoch();
        session_.run(session_.next_number());
    }

   private:
    heap_session session_;
};

struct heap_case {
    std::string_view name;
    std::string_view what;
    nv::engine engine;
    void (*prepare)(heap_session&);
    void (*run)(heap_session&);
    bool opens_in_run = false;
    std::vector<std::string_view> points;
};

class heap_target final : public target {
   public:
    heap_target(const heap_case& c, u64 seed) : case_(c), session_(c.engine), seed_(seed % 9'973) {}

    void prepare() override {
        session_.open();
        session_.skip(50 * seed_);
        if (case_.prepare) case_.prepare(session_);
        if (case_.opens_in_run) session_.crash();
    }
    void run() override {
        if (case_.opens_in_run) {
            session_ = session_.next();
            session_.open();
            session_.adopt({});
        }
        case_.run(session_);
    }
    void crash() override { session_.crash(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<heap_survivor>(session_.next(), all);
    }

   private:
    const heap_case& case_;
    heap_session session_;
    u64 seed_;
};

// --------------------------------------------------------------------------------------- workloads

void run_items(heap_session& s) {
    for (int i = 0; i < 6; ++i) s.run(s.next_number());
}
void fill_slots(heap_session& s) {
    for (int i = 0; i < 12; ++i) s.run_before(s.next_number());
    s.end_epoch();
}
/// Chains longer than one transaction destroys.
u64 number_of(heap_session& s, deed what, unsigned least) {
    for (;;) {
        const u64 n = s.next_number();
        const plan_of_item p(n);
        if (p.what == what && p.length >= least) return n;
    }
}
void build_chains(heap_session& s) {
    for (int i = 0; i < 6; ++i) s.run_before(number_of(s, deed::put, 4));
    s.end_epoch();
}
void destroy_chains(heap_session& s) {
    for (int i = 0; i < 4; ++i) s.run(number_of(s, deed::clear, 1));
}
void arrays(heap_session& s) {
    s.run(number_of(s, deed::fill_many, 6));
    s.run(number_of(s, deed::clear, 1));
    s.run(number_of(s, deed::drop_many, 1));
}
void references(heap_session& s) {
    s.run(number_of(s, deed::keep, 1));
    s.run(number_of(s, deed::put, 2));
    s.run(number_of(s, deed::keep, 1));
    s.run(number_of(s, deed::let_go, 1));
    s.run(number_of(s, deed::clear, 1));
}
void keep_some(heap_session& s) {
    build_chains(s);
    for (int i = 0; i < 3; ++i) s.run_before(number_of(s, deed::keep, 1));
}
void go_back(heap_session& s) {
    for (int i = 0; i < 3; ++i) s.run(number_of(s, deed::go_back, 1));
    s.run(number_of(s, deed::clear, 1));
}
void weak_pointers(heap_session& s) {
    for (int i = 0; i < 3; ++i) s.run(number_of(s, deed::look, 1));
    s.run(number_of(s, deed::clear, 1));
    s.run(number_of(s, deed::share, 1));
}
void close_and_open(heap_session& s) {
    s.run(number_of(s, deed::keep, 1));
    s.close_in_order();
    s.open();
    s.run(s.next_number());
}

constexpr std::string_view point_of_redo =
    "transaction T1: a redo record is durable before its words are in place";
constexpr std::string_view point_of_undo =
    "transaction U3: a record is done before others see its places";

const std::vector<heap_case>& heap_workloads() {
    constexpr auto redo = nv::engine::redo;
    constexpr auto undo = nv::engine::undo;
    static const std::vector<heap_case> all{
        {"transaction.heap.mixed",
         "objects are made, shared, and die",
         redo,
         fill_slots,
         run_items,
         false,
         {point_of_redo}},
        {"transaction.heap.undo",
         "the same, undo",
         undo,
         fill_slots,
         run_items,
         false,
         {point_of_undo}},
        {"transaction.heap.first",
         "the first objects of a heap",
         redo,
         nullptr,
         run_items,
         false,
         {point_of_redo}},
        {"transaction.heap.destroy",
         "chains die in several transactions",
         redo,
         build_chains,
         destroy_chains,
         false,
         {point_of_redo}},
        {"transaction.heap.arrays",
         "arrays of pointers die piece by piece",
         redo,
         build_chains,
         arrays,
         false,
         {point_of_redo}},
        {"transaction.heap.references",
         "volatile references hold what nothing leads to",
         redo,
         build_chains,
         references,
         false,
         {point_of_redo}},
        {"transaction.heap.reclaim",
         "an opening reclaims what only references held",
         redo,
         keep_some,
         destroy_chains,
         true,
         {point_of_redo}},
        {"transaction.heap.fresh",
         "a new object is changed behind another one",
         redo,
         fill_slots,
         go_back,
         false,
         {point_of_redo}},
        {"transaction.heap.undo.fresh",
         "the same, undo",
         undo,
         fill_slots,
         go_back,
         false,
         {point_of_undo}},
        {"transaction.heap.weak",
         "weak pointers, whose objects die",
         redo,
         build_chains,
         weak_pointers,
         false,
         {point_of_redo}},
        {"transaction.heap.close",
         "closed in order and opened again",
         redo,
         build_chains,
         close_and_open,
         false,
         {point_of_redo}},
    };
    return all;
}

}  // namespace

const std::vector<target_description>& heap_cases() {
    static const std::vector<target_description> all = [] {
        std::vector<target_description> found;
        for (const heap_case& c : heap_workloads()) {
            found.push_back({c.name, "objects", c.what,
                             [&c](u64 seed) { return std::make_unique<heap_target>(c, seed); },
                             c.points});
        }
        found.push_back(heap_upgrade_case());
        found.push_back(heap_repair_case());
        return found;
    }();
    return all;
}

}  // namespace hf::lab
