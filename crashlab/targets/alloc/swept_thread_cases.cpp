// Memory that one thread passes to another in a swept heap. A fence covers only the stores of its
// own thread, so everything that the other thread relies on must be durable before the memory is
// passed.
//
// The structure has a few cells, each in its own line, which refer to blocks or extents. The first
// word of such a block is the number of the operation that stored the reference.
#include "alloc/swept/audit_view.hpp"
#include "crashlab/runtime/file.hpp"
#include "crashlab/targets/alloc/swept_cases.hpp"
#include "crashlab/targets/eager/eager_cases.hpp"
#include "index/common/root.hpp"

#include <sched.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <string>

namespace hf::lab {
namespace {

constexpr unsigned cells = 4;
constexpr u64 all_bytes = cells * line_size;
constexpr u64 small = 1024;  ///< a size class that nothing else uses
constexpr u64 page_bytes = layout::page_size;

/// An operation, by number.
struct plan {
    unsigned cell;
    bool puts;  ///< false: it empties the cell
};

class cell_session final : public traced {
   public:
    cell_session() = default;

    void open() {
        eager_options o;
        o.region.kind = discipline::eager;
        o.region.initial_size = u64{2} << 20;
        o.region.max_size = u64{60} << 20;
        o.region.flush = flush_policy::always;
        o.sweep = sweeping::by_hand;
        space_ = eager_must(
            eager_space::open(file_path, o, {}, [this](eager_space& s) { return find_cells(s); }));
    }
    void crash() {
        space_.reset();
        caches_ = {};
    }
    [[nodiscard]] std::unique_ptr<cell_session> next() const {
        auto s = std::make_unique<cell_session>();
        s->plans_ = plans_;
        return s;
    }

    // --- the structure ---
    void trace_roots(tracer& t) const override { t.visit(offset_, inner); }
    void trace(u64, u32, tracer& t) const override {
        for (unsigned i = 0; i < cells; ++i) t.visit(now(i), leaf);
    }

    // --- actions of a thread; `mine`: its number ---
    [[nodiscard]] u64 take(unsigned mine, u64 bytes) {
        return eager_must(space_->heap().allocate(caches_[mine], bytes));
    }
    void give_back(unsigned mine, u64 offset) { space_->heap().free(caches_[mine], offset); }
    /// Passes the thread's free memory on to the others.
    void end_thread(unsigned mine) { space_->heap().give_up(caches_[mine]); }
    /// Stores a reference to the thread's own memory in a cell.
    void put(unsigned cell, u64 offset) {
        const u64 number = begin({cell, true});
        auto* const value = space_->file().at<std::atomic<u64>>(offset);
        value->store(number, std::memory_order_release);
        space_->file().med().persist(value, sizeof *value);
        refer(cell, offset);
        end_operation(number);
    }
    /// The thread is killed after the store that empties a cell.
    void die_emptying(unsigned cell) {
        begin({cell, false});
        at(cell)->store(0, std::memory_order_release);
        crash();
    }
    void sweep() { eager_must(space_->sweep()); }
    [[nodiscard]] bool is_swept() const { return !space_->heap().is_tracing(); }
    [[nodiscard]] u64 now(unsigned cell) const { return at(cell)->load(std::memory_order_acquire); }

    // --- judging the recovered state ---
    void judge(const promised& all, unsigned cell) const {
        u64 last = 0;
        for (const auto& [number, told] : all.operations) {
            if (told.has_returned() && plans_.at(number).cell == cell) last = number;
        }
        const u64 offset = now(cell);
        if (offset == 0) {
            require(last == 0 || may_be_empty(all, cell, last), "what was put into a cell is lost");
            return;
        }
        const auto* const run = space_->heap().run_of(offset);
        require(run != nullptr && run->begins_at(offset), "what a cell refers to is no block");
        const u64 found = space_->file().at<std::atomic<u64>>(offset)->load();
        const auto by = plans_.find(found);
        require(by != plans_.end() && by->second.puts && by->second.cell == cell,
                "a cell refers to what was not put into it");
        require(found >= last, "a cell refers to what is there no more");
    }
    void inspect(const promised& all) {
        for (unsigned i = 0; i < cells; ++i) judge(all, i);
        if (!is_swept()) sweep();
        const swept_heap::cache* const caches[] = {&caches_[0], &caches_[1]};
        audit_report report;
        swept::view books(space_->heap(), caches);
        heap_audit audit(space_->file(), books, report);
        audit.read_runs();
        audit.read_free();
        claim(audit, offset_, all_bytes);
        for (unsigned i = 0; i < cells; ++i) {
            if (now(i) != 0) claim(audit, now(i), line_size);
        }
        audit.finish();
        if (!report.ok()) throw violation("the audit says: " + report.to_string());
    }

    /// For the cases: pages that will be covered, and a value that thread 0 passes to thread 1.
    u64 front = 0;
    u64 covered = 0;
    std::atomic<bool> is_told{false};

   private:
    static constexpr u32 inner = 1;

    [[nodiscard]] result<void> find_cells(eager_space& s) {
        constexpr index_root mine{"open the cells", 1, 1};
        auto found =
            find_or_create_root(s, "cells", mine, [this](eager_space& space) -> result<u64> {
                auto offset = space.heap().allocate(caches_[0], all_bytes);
                if (!offset) return offset;
                auto* const first = space.file().at<std::atomic<u64>>(*offset);
                for (u64 i = 0; i < all_bytes / 8; ++i)
                    first[i].store(0, std::memory_order_release);
                space.file().med().persist(first, all_bytes);
                return offset;
            });
        if (!found) return tl::unexpected(found.error());
        offset_ = *found;
        s.add_structure(*this);
        return {};
    }
    [[nodiscard]] std::atomic<u64>* at(unsigned cell) const {
        return space_->file().at<std::atomic<u64>>(offset_ + cell * line_size);
    }
    void refer(unsigned cell, u64 offset) {
        at(cell)->store(offset, std::memory_order_release);
        space_->file().med().persist(at(cell), sizeof(u64));
    }
    u64 begin(plan p) {
        const u64 number = plans_.empty() ? 1 : plans_.rbegin()->first + 1;
        plans_.emplace(number, p);
        begin_operation(number);
        return number;
    }
    [[nodiscard]] bool may_be_empty(const promised& all, unsigned cell, u64 from) const {
        for (auto p = plans_.lower_bound(from); p != plans_.end(); ++p) {
            if (p->second.cell == cell && !p->second.puts && all.has_begun(p->first)) return true;
        }
        return false;
    }
    static void claim(heap_audit& audit, u64 offset, u64 bytes) {
        const auto place = audit.locate(offset, 0);
        require(place && place->room >= bytes, "what a cell refers to is no block");
        audit.claim(*place, "what a cell refers to", 0);
    }

    std::unique_ptr<eager_space> space_;
    std::array<swept_heap::cache, 2> caches_;
    std::map<u64, plan> plans_;
    u64 offset_ = 0;
};

class cell_survivor final : public survivor {
   public:
    cell_survivor(std::unique_ptr<cell_session> s, promised all)
        : session_(std::move(s)), promised_(std::move(all)) {
        session_->open();
    }
    void crash() override { session_->crash(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<cell_survivor>(session_->next(), all);
    }
    [[nodiscard]] unsigned questions() const override { return cells; }
    void ask(unsigned cell) override { session_->judge(promised_, cell); }
    void inspect() override { session_->inspect(promised_); }
    void work_on() override {
        session_->sweep();
        session_->put(3, session_->take(0, small));
        session_->put(2, session_->take(0, 2 * page_bytes));
    }

   private:
    std::unique_ptr<cell_session> session_;
    promised promised_;
};

struct cell_case {
    std::string_view name;
    std::string_view what;
    void (*prepare)(cell_session&);
    /// prepare() ends with a crash; opens the region again.
    void (*open)(cell_session&);
    void (*thread_0)(cell_session&);
    void (*thread_1)(cell_session&);
    std::vector<std::string_view> points;
};

class cell_target final : public target {
   public:
    explicit cell_target(const cell_case& c)
        : case_(c), session_(std::make_unique<cell_session>()) {}

    void prepare() override {
        session_->open();
        case_.prepare(*session_);
        if (case_.open != nullptr) session_->crash();
    }
    void run() override {
        if (case_.open != nullptr) case_.open(*session_);
    }
    [[nodiscard]] unsigned threads() const override { return 2; }
    void run_thread(unsigned number) override {
        if (number == 0) {
            case_.thread_0(*session_);
            session_->is_told.store(true, std::memory_order_release);
            return;
        }
        while (!session_->is_told.load(std::memory_order_acquire)) sched_yield();
        case_.thread_1(*session_);
    }
    void crash() override { session_->crash(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<cell_survivor>(session_->next(), all);
    }

   private:
    const cell_case& case_;
    std::unique_ptr<cell_session> session_;
};

// ------------------------------------------------------------------------------------------- cases

// Freed pages whose old word comes back with a crash. That is harmful if the page is free and the
// pages after it were allocated by words in other lines (of eight pages each):
//
//   pages     | front | covered             | ...
//   thread 0  | free  | freed               |
//   thread 1  | covering, freed  | a value  |
constexpr u64 front_pages = 64;
constexpr u64 covered_pages = 128;
constexpr u64 covering_pages = front_pages + 9;

void have_a_run(cell_session& s) {
    s.front = s.take(0, front_pages * page_bytes);
    s.covered = s.take(0, covered_pages * page_bytes);
    require(s.covered == s.front + front_pages * page_bytes, "two runs are not neighbours");
    s.give_back(0, s.front);
}
void free_the_run(cell_session& s) { s.give_back(0, s.covered); }
void open_again(cell_session& s) { s.open(); }
void sweep_all(cell_session& s) { s.sweep(); }
void cover_the_run(cell_session& s) {
    const u64 cover = s.take(1, covering_pages * page_bytes);
    require(cover == s.front, "the covering run does not begin in front of the freed one");
    const u64 behind = cover + covering_pages * page_bytes;
    u64 value = s.take(1, 2 * page_bytes);
    // Other free runs are allocated first, and stay unused.
    for (unsigned n = 0; value != behind; ++n) {
        require(n < 64, "no value comes to lie behind the covering run");
        value = s.take(1, 2 * page_bytes);
    }
    s.put(0, value);
    s.give_back(1, cover);
}

void leave_a_slab(cell_session& s) {
    s.give_back(0, s.take(0, small));
    s.end_thread(0);
}
void put_a_block(cell_session& s) { s.put(0, s.take(1, small)); }

// Memory that a killed process unlinked only in the cache is free after the sweep.
void fill_two_cells(cell_session& s) {
    s.put(0, s.take(0, small));
    s.put(1, s.take(0, small));  // in the same slab, which so does not become empty
    s.covered = s.now(0);
}
void open_behind_a_kill(cell_session& s) {
    s.open();
    s.die_emptying(0);
    s.open();
}
void put_what_was_swept(cell_session& s) {
    u64 value = s.take(1, small);
    for (unsigned n = 0; value != s.covered; ++n) {
        require(n < 4 * page_bytes / small, "the swept block is not handed out");
        value = s.take(1, small);
    }
    s.put(2, value);
}

constexpr std::string_view point_s1 =
    "swept S1: a run's word is durable before its memory is handed out";
constexpr std::string_view point_s2 =
    "swept S2: freed runs' words are durably 0 before their pages are used";
constexpr std::string_view point_s3 =
    "swept S3: what was traced is durable before anything is freed";

const std::vector<cell_case>& cases() {
    static const std::vector<cell_case> all{
        {"swept.handed_over",
         "a slab is another thread's who made it",
         [](cell_session&) {},
         nullptr,
         leave_a_slab,
         put_a_block,
         {point_s1}},
        {"swept.freed",
         "pages that a thread has freed are covered by another's",
         have_a_run,
         nullptr,
         free_the_run,
         cover_the_run,
         {point_s2}},
        {"swept.swept",
         "pages that the sweep has freed are covered by a thread's",
         have_a_run,
         open_again,
         sweep_all,
         cover_the_run,
         {point_s2}},
        {"swept.traced",
         "what a killed process was unlinking is freed, and used by a thread",
         fill_two_cells,
         open_behind_a_kill,
         sweep_all,
         put_what_was_swept,
         {point_s3}},
    };
    return all;
}

const lint_rules& cell_rules() {
    static const lint_rules rules = [] {
        lint_rules r = eager_rules();
        // after a kill no thread knows which lines are clean
        r.silent.push_back(rule::flush_of_clean_line);
        r.silent.push_back(rule::released_early);  // reported for unrelated locks
        return r;
    }();
    return rules;
}

}  // namespace

const std::vector<target_description>& swept_thread_cases() {
    static const std::vector<target_description> all = [] {
        std::vector<target_description> found;
        for (const cell_case& c : cases()) {
            target_description d{c.name, "alloc", c.what,
                                 [&c](u64) { return std::make_unique<cell_target>(c); }, c.points};
            d.rules = &cell_rules();
            d.has_threads = true;
            found.push_back(std::move(d));
        }
        return found;
    }();
    return all;
}

}  // namespace hf::lab
