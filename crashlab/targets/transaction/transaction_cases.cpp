#include "crashlab/targets/transaction/transaction_cases.hpp"

#include "alloc/committed/audit_view.hpp"
#include "base/random.hpp"
#include "crashlab/runtime/file.hpp"
#include "crashlab/targets/transaction/shadow_points.hpp"
#include "crashlab/targets/want.hpp"
#include "epoch/epoch_area.hpp"
#include "transaction/opening.hpp"
#include "transaction/transaction_area.hpp"

#include <array>
#include <set>

namespace hf::lab {
namespace {

using std::to_string;
using namespace shadow_points;

constexpr unsigned slots = 5;
constexpr u64 most_listed = 96;
// Words of a ledger: the length of the list, the list, and a line for each slot.
constexpr u64 list_at = 8;
constexpr u64 slots_at = list_at + most_listed;
constexpr u64 ledger_words = slots_at + 8 * slots;
// After both ledgers: pages of their own, of which a transaction changes a group.
constexpr u64 group_pages = 10;
constexpr u64 most_pages = 4 * group_pages;
constexpr u64 pages_at = 2 * ledger_words;
constexpr u64 all_words = pages_at + most_pages;
constexpr u64 page_bytes = 4096;
/// Transactions with numbers from here on change pages, too: the group of the last digit.
constexpr u64 of_pages = 10'000'000;
/// Calls f(page) for each page that the transaction changes.
template <class F>
void each_page_of(u64 number, F&& f) {
    if (number < of_pages) return;
    for (u64 i = 0; i < group_pages; ++i) f(number % 10 * group_pages + i);
}
/// Transactions before the trace have numbers from here on.
constexpr u64 before_trace = 1'000'000;

struct slot_value {
    u64 size = 0;  ///< 0: no block
    u64 tag = 0;   ///< the first and last word of the block
};
using ledger_state = std::array<slot_value, slots>;

enum class ending : u8 { commits, aborts };

/// A transaction's actions, derived from its number.
struct plan_of_number {
    unsigned put;
    unsigned read;
    unsigned free;  ///< slots: none
    u64 size;
    ending end;

    explicit plan_of_number(u64 number) {
        splitmix64 r(number);
        constexpr u64 sizes[] = {16, 48, 64, 136, 264, 3'000, 70'000};
        put = static_cast<unsigned>(r() % slots);
        read = static_cast<unsigned>(r() % slots);
        free = r() % 3 == 0 ? static_cast<unsigned>((put + 1 + r() % (slots - 1)) % slots) : slots;
        size = sizes[r() % std::size(sizes)];
        end = number < before_trace && r() % 6 == 0 ? ending::aborts : ending::commits;
    }
    [[nodiscard]] static u64 tag(u64 number, u64 read_tag) noexcept {
        return number * 1'000 + read_tag % 1'000 + 1;
    }
    void apply(u64 number, ledger_state& s) const {
        const u64 t = tag(number, s[read].tag);
        s[put] = {size, t};
        if (free != slots) s[free] = {};
    }
};

struct setting {
    engine_kind engine = engine_kind::redo;
    unsigned threads = 1;
    bool shared = false;  ///< all threads use one ledger
    detail::isolation kept = detail::isolation::threads;
    u64 max_size = u64{60} << 20;
    u64 bytes = u64{2} << 20;
};

class transaction_session {
   public:
    explicit transaction_session(const setting& s) : setting_(s) {}

    void open() {
        static constexpr layout::room_format rooms[] = {epoch_format, alloc_format,
                                                        transaction_format};
        opening_options o;
        o.file.kind = discipline::transaction;
        o.file.initial_size = setting_.bytes;
        o.file.max_size = setting_.max_size;
        o.file.flush = flush_policy::always;
        o.rooms = rooms;
        up_ = std::make_unique<transactional_region>(want(open_region(file_path, o)));
        transaction_options t;
        t.epoch = no_clock;
        t.engine = setting_.engine;
        t.kept = setting_.kept;
        transaction_opening steps(*up_, t);
        steps.add(recovery_phase::discipline, "words", [this] { return find_words(); });
        want(steps.run());
    }
    void crash() { up_.reset(); }
    void close() { want(up_->close()); }
    void end_epoch() { up_->epochs().end_epoch(); }

    void run(unsigned thread, u64 number);
    void run_before(unsigned thread, u64 number) { transact(thread, before_trace + number); }
    /// Allocates the pages, before the trace.
    void own_pages();
    /// One transaction that changes all of a group.
    void change_pages(u64 group) { run(0, of_pages + 10 * next_number() + group); }
    void change_pages_before(u64 group) { run_before(0, of_pages + 10 * next_number() + group); }
    /// Determines which transactions have committed.
    void adopt(const promised& all);
    void check(unsigned ledger, unsigned slot) const;
    void check_pages() const;
    void inspect() const;

    [[nodiscard]] unsigned ledgers() const noexcept {
        return setting_.shared ? 1 : setting_.threads;
    }
    [[nodiscard]] u64 next_number() noexcept { return ++numbers_; }
    [[nodiscard]] transaction_session next() const {
        transaction_session s(setting_);
        s.numbers_ = numbers_ + 1'000;
        return s;
    }
    [[nodiscard]] unsigned threads() const noexcept { return setting_.threads; }

   private:
    [[nodiscard]] result<void> find_words();
    void transact(unsigned thread, u64 number);
    [[nodiscard]] u64* word(unsigned ledger, u64 i) const {
        return up_->file().at<u64>(words_ + 8 * (ledger * ledger_words + i));
    }
    [[nodiscard]] u64 page(u64 i) const {
        return __atomic_load_n(word(0, pages_at + i), __ATOMIC_ACQUIRE);
    }
    void store_to_pages(transaction& t, u64 number);
    [[nodiscard]] u64 now(unsigned ledger, u64 i) const {
        return __atomic_load_n(word(ledger, i), __ATOMIC_ACQUIRE);
    }

    setting setting_;
    std::unique_ptr<transactional_region> up_;
    u64 words_ = 0;
    u64 numbers_ = 0;
    std::array<ledger_state, 2> model_{};
    std::array<u64, most_pages> page_values_{};
};

result<void> transaction_session::find_words() {
    if (auto found = up_->file().find_root("words")) {
        words_ = (*found)->value.load(std::memory_order_acquire);
        return {};
    }
    auto made = up_->all().atomic([&](transaction& t) {
        std::byte* p = t.allocate(8 * all_words);
        for (u64 i = 0; i < all_words; ++i) t.store(reinterpret_cast<u64*>(p) + i, 0);
        words_ = up_->file().offset_of(p);
    });
    if (!made) return made;
    auto root = up_->file().publish_root("words", 1, 1, words_);
    return root ? result<void>{} : tl::unexpected(root.error());
}

void transaction_session::transact(unsigned thread, u64 number) {
    const unsigned ledger = setting_.shared ? 0 : thread;
    const plan_of_number plan(number);
    const auto done = up_->all().atomic([&](transaction& t) {
        const u64 listed = t.load(word(ledger, 0));
        if (listed == most_listed) throw violation("the target lists too many transactions");
        u64* const put = word(ledger, slots_at + 8 * plan.put);
        const u64 tag =
            plan_of_number::tag(number, t.load(word(ledger, slots_at + 8 * plan.read) + 2));
        const auto clear = [&](u64* s) {
            if (const u64 old = t.load(s); old != 0) t.release(t.base() + old, t.load(s + 1));
        };
        clear(put);
        auto* const block = reinterpret_cast<u64*>(t.allocate(plan.size));
        t.store(block, tag);
        t.store(block + plan.size / 8 - 1, tag);
        t.store(put, up_->file().offset_of(block));
        t.store(put + 1, plan.size);
        t.store(put + 2, tag);
        if (plan.free != slots) {
            u64* const freed = word(ledger, slots_at + 8 * plan.free);
            clear(freed);
            for (u64 i = 0; i < 3; ++i) t.store(freed + i, 0);
        }
        store_to_pages(t, number);
        t.store(word(ledger, list_at + listed), number);
        t.store(word(ledger, 0), listed + 1);
        if (plan.end == ending::aborts) transaction::abort();
    });
    if (plan.end == ending::commits && !done) throw violation(done.error().to_string());
}

void transaction_session::own_pages() {
    want(up_->all().atomic([&](transaction& t) {
        for (u64 i = 0; i < most_pages; ++i) {
            std::byte* const p = t.allocate(page_bytes);
            for (u64 b = 0; b < page_bytes; b += 8) t.store(reinterpret_cast<u64*>(p + b), 0);
            t.store(word(0, pages_at + i), up_->file().offset_of(p));
        }
    }));
    end_epoch();
}

// Two lines of each: one whole, and a word of the other.
void transaction_session::store_to_pages(transaction& t, u64 number) {
    each_page_of(number, [&](u64 i) {
        auto* const p = up_->file().at<u64>(page(i));
        for (u64 w = 0; w < 8; ++w) t.store(p + w, number);
        t.store(p + 100, number);
    });
}

void transaction_session::check_pages() const {
    for (u64 i = 0; i < most_pages && page(i) != 0; ++i) {
        const auto* p = up_->file().at<u64>(page(i));
        for (const u64 w : {u64{0}, u64{7}, u64{100}}) {
            if (__atomic_load_n(p + w, __ATOMIC_ACQUIRE) == page_values_[i]) continue;
            throw violation("page " + to_string(i) + " is not as its transactions left it");
        }
    }
}

void transaction_session::run(unsigned thread, u64 number) {
    begin_operation(number);
    transact(thread, number);
    end_operation(number);
}

void transaction_session::adopt(const promised& all) {
    std::set<u64> found;
    for (unsigned l = 0; l < ledgers(); ++l) {
        const u64 listed = now(l, 0);
        require(listed <= most_listed, "the list of transactions is not what anybody has stored");
        for (u64 i = 0; i < listed; ++i) {
            const u64 number = now(l, list_at + i);
            require(found.insert(number).second, "a transaction has committed twice");
            const bool is_older = number % of_pages >= before_trace;
            require(is_older || all.has_begun(number),
                    "a transaction that never began has committed");
            require(plan_of_number(number).end == ending::commits,
                    "a transaction that aborted has committed");
            plan_of_number(number).apply(number, model_[l]);
            each_page_of(number, [&](u64 p) { page_values_[p] = number; });
        }
    }
    for (const auto& [number, told] : all.operations) {
        if (!told.has_returned() || plan_of_number(number).end == ending::aborts) continue;
        if (!found.contains(number)) {
            throw violation("transaction " + to_string(number) + " had returned, and is lost");
        }
    }
}

void transaction_session::check(unsigned ledger, unsigned slot) const {
    const slot_value& wanted = model_[ledger][slot];
    const u64 at = slots_at + 8 * u64{slot};
    const u64 offset = now(ledger, at);
    if (now(ledger, at + 1) != wanted.size || now(ledger, at + 2) != wanted.tag ||
        (offset != 0) != (wanted.size != 0)) {
        throw violation("slot " + to_string(slot) + " of ledger " + to_string(ledger) +
                        " is not as its transactions left it");
    }
    if (offset == 0) return;
    const auto* block = up_->file().at<u64>(offset);
    for (u64 i : {u64{0}, wanted.size / 8 - 1}) {
        if (__atomic_load_n(block + i, __ATOMIC_ACQUIRE) == wanted.tag) continue;
        throw violation("the bytes of slot " + to_string(slot) + " of ledger " + to_string(ledger) +
                        " are not its own");
    }
}

void transaction_session::inspect() const {
    audit_report report;
    committed::view books(up_->file());
    heap_audit audit(up_->file(), books, report);
    audit.read_runs();
    audit.read_free();
    const auto claim = [&](u64 offset, u64 size) {
        const auto place = audit.locate(offset, 0);
        require(place && audit.fits(*place, size, 0), "what is owned is no block");
        audit.claim(*place, "what the words own", 0);
    };
    claim(words_, 8 * all_words);
    for (u64 i = 0; i < most_pages && page(i) != 0; ++i) claim(page(i), page_bytes);
    check_pages();
    for (unsigned l = 0; l < ledgers(); ++l) {
        for (unsigned i = 0; i < slots; ++i) {
            check(l, i);
            const u64 offset = now(l, slots_at + 8 * u64{i});
            if (offset != 0) claim(offset, model_[l][i].size);
        }
    }
    audit.finish();
    if (!report.ok()) throw violation("the audit says: " + report.to_string());
}

class transaction_survivor final : public survivor {
   public:
    transaction_survivor(transaction_session s, const promised& all) : session_(std::move(s)) {
        session_.open();
        session_.adopt(all);
    }
    void crash() override { session_.crash(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<transaction_survivor>(session_.next(), all);
    }
    [[nodiscard]] unsigned questions() const override { return slots * session_.ledgers(); }
    void ask(unsigned number) override {
        session_.check_pages();
        session_.check(number / slots, number % slots);
    }
    void inspect() override { session_.inspect(); }
    void work_on() override {
        for (unsigned t = 0; t < session_.ledgers(); ++t) {
            for (int i = 0; i < 3; ++i) session_.run(t, session_.next_number());
            session_.end_epoch();
            session_.run(t, session_.next_number());
        }
    }

   private:
    transaction_session session_;
};

struct transaction_case {
    std::string_view name;
    std::string_view what;
    setting how;
    void (*prepare)(transaction_session&);
    void (*run)(transaction_session&);
    bool opens_in_run = false;
    std::vector<std::string_view> points;
};

class transaction_target final : public target {
   public:
    transaction_target(const transaction_case& c, u64 seed)
        : case_(c), session_(c.how), seed_(seed % 997) {}

    void prepare() override {
        session_.open();
        if (case_.prepare) case_.prepare(session_);
        if (case_.opens_in_run) session_.crash();
        for (u64 i = 0; i < 10 * seed_; ++i) static_cast<void>(session_.next_number());
    }
    void run() override {
        if (case_.opens_in_run) session_.open();
        if (case_.run) case_.run(session_);
    }
    [[nodiscard]] unsigned threads() const override { return case_.how.threads; }
    void run_thread(unsigned number) override {
        if (case_.how.threads == 1) return;
        for (u64 i = 0; i < 3; ++i) {
            session_.run(number, 100'000 * (number + 1) + 10 * seed_ + i);
        }
    }
    void crash() override { session_.crash(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<transaction_survivor>(session_.next(), all);
    }

   private:
    const transaction_case& case_;
    transaction_session session_;
    u64 seed_;
};

// --------------------------------------------------------------------------------------- workloads

void run_some(transaction_session& s) {
    for (int i = 0; i < 4; ++i) s.run(0, s.next_number());
}
void fill(transaction_session& s) {
    for (unsigned t = 0; t < s.ledgers(); ++t) {
        for (u64 i = 0; i < 6; ++i) s.run_before(t, 100 * t + i);
    }
    s.end_epoch();
}
void fill_and_leave(transaction_session& s) {
    fill(s);
    for (u64 i = 0; i < 4; ++i) s.run_before(0, 50 + i);
}
void over_epochs(transaction_session& s) {
    for (int i = 0; i < 3; ++i) {
        s.run(0, s.next_number());
        s.end_epoch();
        s.run(0, s.next_number());
    }
}
/// More pages than the lab lets there be second slots (shadow_slots.cpp).
void fill_pages(transaction_session& s) {
    s.own_pages();
    for (u64 group = 0; group < 3; ++group) s.change_pages_before(group);
}
void change_pages(transaction_session& s) {
    s.change_pages(3);
    s.run(0, s.next_number());
    s.change_pages(0);
    s.change_pages(2);
    s.end_epoch();  // no record says any more which slots were given up
    // Those of the first change are consolidated: their homes are no older than this run.
    s.change_pages(1);
    s.change_pages(0);
}
/// The same ones, so that lines go to their slots by turns.
void change_again(transaction_session& s) {
    s.change_pages(1);
    s.change_pages(1);
    s.end_epoch();
    s.change_pages(1);
}
void open_and_close(transaction_session& s) {
    s.run(0, s.next_number());
    s.end_epoch();  // no record of the last epoch names its lines
    s.run(0, s.next_number());
    s.close();
    s.crash();
    s.open();
    s.run(0, s.next_number());
}

constexpr std::string_view point_t0 =
    "transaction T0: what was allocated is durable before its record";
constexpr std::string_view point_t1 =
    "transaction T1: a redo record is durable before its words are in place";
constexpr std::string_view point_t3 =
    "transaction T3: applied records are durable before the session begins";
constexpr std::string_view point_t4 =
    "transaction T4: records that were found are durable before they are applied";
constexpr std::string_view point_u1 =
    "transaction U1: an undo record is durable before a word changes";
constexpr std::string_view point_u2 =
    "transaction U2: the places are durable before their record is done";
constexpr std::string_view point_u3 =
    "transaction U3: a record is done before others see its places";

setting with(engine_kind e, unsigned threads = 1, bool shared = false) {
    setting s;
    s.engine = e;
    s.threads = threads;
    s.shared = shared;
    return s;
}
setting alone(engine_kind e) {
    setting s = with(e);
    s.kept = detail::isolation::alone;
    return s;
}
setting small(engine_kind e) {
    setting s = with(e);
    s.bytes = u64{1} << 20;
    s.max_size = u64{3} << 20;
    return s;
}

const std::vector<transaction_case>& cases() {
    constexpr auto redo = engine_kind::redo;
    constexpr auto undo = engine_kind::undo;
    constexpr auto shadow = engine_kind::shadow;
    static const std::vector<transaction_case> all{
        {"transaction.redo",
         "some transactions, logged by redo",
         with(redo),
         fill,
         run_some,
         false,
         {point_t0, point_t1}},
        {"transaction.undo",
         "some transactions, logged by undo",
         with(undo),
         fill,
         run_some,
         false,
         {point_u1, point_u2, point_u3}},
        {"transaction.epochs",
         "epochs end between them",
         with(redo),
         nullptr,
         over_epochs,
         false,
         {point_t1}},
        {"transaction.undo.epochs",
         "the same, undo",
         with(undo),
         nullptr,
         over_epochs,
         false,
         {point_u3}},
        {"transaction.reapply",
         "an opening applies records",
         with(redo),
         fill_and_leave,
         run_some,
         true,
         {point_t3, point_t4,
          "alloc C5: page words that were found are durable before pages are taken"}},
        {"transaction.undo.reapply",
         "the same, undo",
         with(undo),
         fill_and_leave,
         run_some,
         true,
         {point_t3}},
        {"transaction.close",
         "closed in order and opened again",
         with(redo),
         fill,
         open_and_close,
         false,
         {point_t1}},
        {"transaction.grow",
         "heap and log grow",
         small(redo),
         nullptr,
         run_some,
         false,
         {point_t1}},
        {"transaction.alone",
         "a heap of one thread, whose lines nobody owns",
         alone(redo),
         fill,
         over_epochs,
         false,
         {point_t1}},
        {"transaction.undo.alone",
         "the same, undo",
         alone(undo),
         fill,
         over_epochs,
         false,
         {point_u3}},
        {"transaction.threads",
         "two threads on one ledger",
         with(redo, 2, true),
         fill,
         nullptr,
         false,
         {point_t1}},
        {"transaction.threads.apart",
         "two threads, a ledger each",
         with(redo, 2),
         fill,
         nullptr,
         false,
         {point_t1}},
        {"transaction.undo.threads",
         "two threads on one ledger, undo",
         with(undo, 2, true),
         fill,
         nullptr,
         false,
         {point_u3}},
        {"shadow.first",
         "first stores: pages get their second slots",
         with(shadow),
         nullptr,
         run_some,
         false,
         {point_s2}},
        {"shadow.commit",
         "some transactions, lines by turns in both slots",
         with(shadow),
         fill,
         run_some,
         false,
         {point_s1, point_s2}},
        {"shadow.pages",
         "transactions of several pages",
         small(shadow),
         fill_pages,
         change_again,
         false,
         {point_s1, point_s2}},
        {"shadow.consolidation",
         "more pages than slots: pages are consolidated, entries go and come",
         small(shadow),
         fill_pages,
         change_pages,
         false,
         {point_s2, point_s3, point_s4}},
        {"shadow.epochs",
         "epochs end between transactions: records give way to the table",
         with(shadow),
         nullptr,
         over_epochs,
         false,
         {point_s2}},
        {"shadow.reapply",
         "an opening brings lines home",
         with(shadow),
         fill_and_leave,
         run_some,
         true,
         {point_sr1, point_sr2, point_sr3}},
        {"shadow.close",
         "closed in order and opened again",
         with(shadow),
         fill,
         open_and_close,
         false,
         {point_s2, point_s5}},
        {"shadow.alone",
         "a heap of one thread, whose lines nobody owns",
         alone(shadow),
         fill,
         over_epochs,
         false,
         {point_s2}},
        {"shadow.threads",
         "two threads on one ledger",
         with(shadow, 2, true),
         fill,
         nullptr,
         false,
         {point_s2}},
        {"shadow.threads.apart",
         "two threads, a ledger each",
         with(shadow, 2),
         fill,
         nullptr,
         false,
         {point_s2}},
    };
    return all;
}

}  // namespace

const std::vector<target_description>& transaction_cases() {
    static const std::vector<target_description> all = [] {
        std::vector<target_description> found;
        for (const transaction_case& c : cases()) {
            target_description d{
                c.name, "transaction", c.what,
                [&c](u64 seed) { return std::make_unique<transaction_target>(c, seed); }, c.points};
            d.has_threads = c.how.threads > 1;
            found.push_back(std::move(d));
        }
        return found;
    }();
    return all;
}

}  // namespace hf::lab
