#include "crashlab/targets/transaction/committed_cases.hpp"

#include "alloc/committed/audit_view.hpp"
#include "base/random.hpp"
#include "crashlab/runtime/file.hpp"
#include "crashlab/targets/transaction/commit_log.hpp"

#include <array>
#include <map>

namespace hf::lab {
namespace {

using std::to_string;

template <class T>
T must(tl::expected<T, error> r) {
    if (!r) throw violation(r.error().to_string());
    if constexpr (!std::is_void_v<T>) return std::move(*r);
}

constexpr unsigned slots = 8;
constexpr unsigned most_threads = 2;

struct slot {
    u64 offset = 0;  ///< 0: no block
    u64 size = 0;
    u64 tag = 0;  ///< content of its first and last word
};
using state = std::array<slot, slots>;

/// One transaction.
struct plan {
    std::map<unsigned, u64> take;  ///< slot -> bytes; the slot's previous block is freed
    std::vector<unsigned> free;
    u64 give_up = 0;  ///< number of bytes that are reserved and released again
    enum class end : u8 { whole, cancelled, committed } ended = end::whole;
};

/// A heap, its logs, and their expected contents. Errors are violations.
class session {
   public:
    session(u64 bytes, unsigned threads) : bytes_(bytes), threads_(threads) {
        for (auto& of_thread : history_) of_thread.resize(1);
    }

    void open() {
        region_options o;
        o.initial_size = bytes_;
        o.max_size = u64{60} << 20;
        o.flush = flush_policy::always;
        region_ = must(region::open(file_path, o));
        logs_.clear();
        for (u16 t = 0; t < threads_; ++t) {
            logs_.push_back(must(commit_log::open(*region_, t)));
            static_cast<void>(must(logs_.back().recover()));
        }
        heap_ = std::make_unique<committed_heap>(*region_);
        must(heap_->open());
        region_->med().fence();
    }
    void crash() {
        heap_.reset();
        logs_.clear();
        region_.reset();
    }

    void run(unsigned thread, const plan& p, u32 shard = 0);
    /// Determines for each thread which of its transactions it recovered to.
    void adopt(u64 announced);
    [[nodiscard]] session next() const {
        session s(bytes_, threads_);
        s.history_ = history_;
        s.order_ = order_;
        s.tags_ = tags_ + 1000;
        return s;
    }

    [[nodiscard]] unsigned threads() const noexcept { return threads_; }
    [[nodiscard]] const state& now(unsigned thread) const { return history_[thread].back(); }
    void check(unsigned thread, unsigned number) const;
    void inspect() const;

   private:
    [[nodiscard]] committed::word& at(u64 offset) const {
        return *region_->at<committed::word>(offset);
    }
    void fill(const slot& s) const;
    [[nodiscard]] slot read(unsigned thread, unsigned number) const;

    u64 bytes_;
    unsigned threads_;
    std::unique_ptr<region> region_;
    std::vector<commit_log> logs_;
    std::unique_ptr<committed_heap> heap_;
    std::array<std::vector<state>, most_threads> history_;  ///< of each thread, by transaction
    std::vector<u8> order_;                                 ///< the thread of each commit, in order
    unsigned under_way_ = 0;
    u64 tags_ = 0;
};

// Word 0 of a thread's words is the number of its last transaction; the slots follow.
constexpr u64 word_of(unsigned number) { return 8 + 8 * u64{number}; }

void session::fill(const slot& s) const {
    for (u64 offset : {s.offset, s.offset + s.size - 8}) {
        at(offset).store(s.tag, std::memory_order_relaxed);
        region_->med().flush_line(&at(offset));
    }
}

slot session::read(unsigned thread, unsigned number) const {
    const auto word = [&](u64 i) {
        return logs_[thread].word_at(word_of(number) + i).load(std::memory_order_acquire);
    };
    return {word(0), word(1), word(2)};
}

void session::run(unsigned thread, const plan& p, u32 shard) {
    ++under_way_;
    commit_log& log = logs_[thread];
    heap_batch b(*heap_, shard);
    state s = now(thread);
    const auto put = [&](unsigned number, const slot& value) {
        if (s[number].offset != 0) b.release(s[number].offset, s[number].size);
        s[number] = value;
        if (p.ended == plan::end::cancelled) return;
        u64 word = word_of(number);
        for (u64 v : {value.offset, value.size, value.tag}) log.set_word(word++, v);
    };
    for (unsigned number : p.free) put(number, {});
    if (p.give_up != 0) b.release(must(b.reserve(p.give_up)), p.give_up);
    for (const auto& [number, size] : p.take) {
        const slot taken{must(b.reserve(size)), size, ++tags_};
        fill(taken);
        put(number, taken);
    }
    if (p.ended == plan::end::cancelled) {
        static_cast<void>(b.changes());
        b.cancel();
        --under_way_;
        return;
    }
    log.set_word(0, history_[thread].size());
    log.commit(b.changes());
    history_[thread].push_back(s);
    order_.push_back(static_cast<u8>(thread));
    if (p.ended == plan::end::committed) return;  // and the process ends
    // While another thread works, the lint would require its stores, too.
    if (under_way_ == 1) trace::announced(order_.size());
    b.apply();
    b.write_back();
    log.apply();
    log.drop();
    b.settle();
    --under_way_;
}

void session::adopt(u64 announced) {
    std::array<u64, most_threads> promised{};
    for (u64 i = 0; i < announced && i < order_.size(); ++i) ++promised[order_[i]];
    std::array<u64, most_threads> found{};
    for (unsigned t = 0; t < threads_; ++t) {
        found[t] = logs_[t].word_at(0).load(std::memory_order_acquire);
        require(found[t] >= promised[t], "a transaction that was promised is lost");
        require(found[t] < history_[t].size(), "a transaction that never was has come back");
        history_[t].resize(found[t] + 1);
    }
    std::array<u64, most_threads> met{};
    std::erase_if(order_, [&](u8 t) { return ++met[t] > found[t]; });
}

void session::check(unsigned thread, unsigned number) const {
    const slot wanted = now(thread)[number];
    const slot found = read(thread, number);
    if (found.offset != wanted.offset || found.size != wanted.size || found.tag != wanted.tag) {
        throw violation("slot " + to_string(number) + " of thread " + to_string(thread) + " has " +
                        to_string(found.size) + " bytes at offset " + to_string(found.offset) +
                        " instead of " + to_string(wanted.size) + " at " +
                        to_string(wanted.offset));
    }
    if (wanted.offset == 0) return;
    for (u64 offset : {wanted.offset, wanted.offset + wanted.size - 8}) {
        if (at(offset).load(std::memory_order_acquire) == wanted.tag) continue;
        throw violation("the bytes of slot " + to_string(number) + " at offset " +
                        to_string(offset) + " are not its own");
    }
}

void session::inspect() const {
    audit_report report;
    committed::view books(*region_);
    heap_audit audit(*region_, books, report);
    audit.read_runs();
    audit.read_free();
    for (unsigned t = 0; t < threads_; ++t) {
        for (unsigned i = 0; i < slots; ++i) {
            check(t, i);
            const slot& s = now(t)[i];
            if (s.offset == 0) continue;
            const auto place = audit.locate(s.offset, 0);
            require(place && audit.fits(*place, s.size, 0), "a slot owns what is no block");
            audit.claim(*place, "what a slot owns", 0);
        }
    }
    audit.finish();
    if (!report.ok()) throw violation("the audit says: " + report.to_string());
}

class committed_survivor final : public survivor {
   public:
    committed_survivor(session s, u64 announced) : session_(std::move(s)) {
        session_.open();
        session_.adopt(announced);
    }
    void crash() override { session_.crash(); }
    std::unique_ptr<survivor> recover(u64 announced) override {
        return std::make_unique<committed_survivor>(session_.next(), announced);
    }
    [[nodiscard]] unsigned questions() const override { return slots * session_.threads(); }
    void ask(unsigned number) override { session_.check(number / slots, number % slots); }
    void inspect() override { session_.inspect(); }
    void work_on() override {
        for (unsigned t = 0; t < session_.threads(); ++t) {
            session_.run(t, {{{0, 48}, {1, 3'000}}, {}});
            session_.run(t, {{{2, 70'000}, {3, 48}}, {0}});
            session_.run(t, {{{4, 48}}, {2}});
            session_.inspect();
            session_.run(t, {{{0, 48}, {2, 70'000}}, {}});
        }
    }

   private:
    session session_;
};

struct committed_case {
    std::string_view name;
    std::string_view what;
    std::function<void(session&)> prepare;
    std::function<void(session&, splitmix64&)> run;
    bool opens_in_run = false;
    u64 bytes = u64{2} << 20;
    unsigned threads = 1;
    std::function<void(session&, unsigned, splitmix64&)> run_thread = {};
};

class committed_target final : public target {
   public:
    committed_target(const committed_case& c, u64 seed)
        : case_(c), session_(c.bytes, c.threads), random_(seed) {
        for (u64 t = 0; t < most_threads; ++t) of_thread_.emplace_back(seed * 2 + t);
    }
    void prepare() override {
        session_.open();
        if (case_.prepare) case_.prepare(session_);
        if (case_.opens_in_run) session_.crash();
    }
    void run() override {
        if (case_.opens_in_run) session_.open();
        if (case_.run) case_.run(session_, random_);
    }
    void crash() override { session_.crash(); }
    std::unique_ptr<survivor> recover(u64 announced) override {
        return std::make_unique<committed_survivor>(session_.next(), announced);
    }
    [[nodiscard]] unsigned threads() const override { return case_.threads; }
    void run_thread(unsigned number) override {
        case_.run_thread(session_, number, of_thread_[number]);
    }

   private:
    const committed_case& case_;
    session session_;
    splitmix64 random_;
    std::vector<splitmix64> of_thread_;
};

// --------------------------------------------------------------------------------------- workloads

u64 block_bytes(splitmix64& r) {
    constexpr u64 sizes[] = {16, 48, 48, 100, 700, 3'000, 40'000};
    return sizes[r() % std::size(sizes)];
}
u64 extent_bytes(splitmix64& r) { return 66'000 + r() % 3 * page_size; }

void take_blocks(session& s, splitmix64& r) {
    s.run(0, {{{0, 48}, {1, block_bytes(r)}, {2, 5'000}}, {}});
    s.run(0, {{{3, 48}, {4, block_bytes(r)}}, {}});
    s.run(0, {{{5, 48}, {1, block_bytes(r)}}, {}});
}
void take_extents(session& s, splitmix64& r) {
    s.run(0, {{{0, extent_bytes(r)}, {1, extent_bytes(r)}}, {}});
    s.run(0, {{{2, extent_bytes(r)}, {3, 48}}, {}});
}
void fill_slots(session& s) {
    s.run(0, {{{0, 48}, {1, 48}, {2, 700}, {3, 66'000}, {4, 150'000}, {5, 40'000}}, {}});
}
void free_some(session& s, splitmix64& r) {
    const auto first = static_cast<unsigned>(r() % 6);
    s.run(0, {{}, {first}});
    s.run(0, {{}, {(first + 1) % 6, (first + 4) % 6}});
}
void take_and_free(session& s, splitmix64& r) {
    const auto first = static_cast<unsigned>(r() % 6);
    s.run(0, {{{first, block_bytes(r)}, {7, extent_bytes(r)}}, {(first + 3) % 6}, 100});
    s.run(0, {{{first, extent_bytes(r)}}, {7}, 80'000});
}
void cancel_some(session& s, splitmix64& r) {
    plan never{{{0, block_bytes(r)}, {1, extent_bytes(r)}, {6, 9'000}}, {2, 3}};
    never.ended = plan::end::cancelled;
    s.run(0, never);
    s.run(0, {{{6, block_bytes(r)}, {7, extent_bytes(r)}}, {3}});
    s.run(0, never);
    s.run(0, {{{2, 9'000}}, {}});
}
void reuse(session& s, splitmix64& r) {
    for (unsigned i = 0; i < 3; ++i) {
        const auto n = static_cast<unsigned>(r() % 2);
        s.run(0, {{}, {n, 3}});
        s.run(0, {{{n, 48}, {3, 66'000}}, {}});
    }
}
void commit_and_end(session& s) {
    fill_slots(s);
    plan last{{{0, 48}, {6, 300}, {7, 66'000}}, {3, 5}};
    last.ended = plan::end::committed;
    s.run(0, last);
}
void grow(session& s, splitmix64& r) {
    s.run(0, {{{0, 500'000}, {1, 48}}, {}});
    s.run(0, {{{2, 900'000}, {3, extent_bytes(r)}}, {0}});
    s.run(0, {{{4, 48}, {5, 40'000}}, {2}});
}
/// All pages but one are an extent; that one is a slab with one block.
void fill_all_pages(session& s) {
    constexpr u64 pages = (u64{2} << 20) / page_size - 1;
    s.run(0, {{{0, 48}}, {}});
    s.run(0, {{{1, (pages - committed::own_pages(pages) - 1) * page_size}}, {}});
}
void use_an_empty_slab(session& s, splitmix64& r) {
    s.run(0, {{}, {0}});
    s.run(0, {{{2, 3'000}}, {}});
    s.run(0, {{{3, block_bytes(r)}}, {2}});
}
void both_threads_begin(session& s) {
    for (unsigned t = 0; t < 2; ++t) s.run(t, {{{0, 48}, {1, 48}, {2, 66'000}}, {}});
}
void beside_another(session& s, unsigned thread, splitmix64& r) {
    const u32 shard = r() % 2 == 0 ? thread : 0;
    s.run(thread, {{{3, 48}, {0, 48}}, {}}, shard);
    s.run(thread, {{{4, 66'000}, {5, block_bytes(r)}}, {1, 2}}, shard);
    s.run(thread, {{{1, 48}, {2, 48}}, {}}, shard);
}

const std::vector<committed_case>& cases() {
    static const std::vector<committed_case> all{
        {"committed.blocks", "blocks of several sizes are taken", nullptr, take_blocks},
        {"committed.extents", "extents are taken", nullptr, take_extents},
        {"committed.free", "blocks and extents are freed", fill_slots, free_some},
        {"committed.both", "taken and freed in one transaction", fill_slots, take_and_free},
        {"committed.cancel", "some transactions never commit", fill_slots, cancel_some},
        {"committed.reuse", "what was freed is taken again", fill_slots, reuse},
        {"committed.emptied", "an empty slab becomes one of another size", fill_all_pages,
         use_an_empty_slab},
        {"committed.reapply", "an opening applies a committed entry", commit_and_end, free_some,
         true},
        {"committed.grow", "the region grows in a transaction", nullptr, grow, false, u64{1} << 20},
        {"committed.threads", "two threads, side by side", both_threads_begin, nullptr, false,
         u64{2} << 20, 2, beside_another},
    };
    return all;
}

}  // namespace

const std::vector<target_description>& committed_cases() {
    static const std::vector<target_description> all = [] {
        std::vector<target_description> found;
        for (const committed_case& c : cases()) {
            std::vector<std::string_view> points{
                "alloc C1: entry and commit record are durable before a word changes",
                "alloc C3: the log's entry is gone before what it freed is handed out"};
            if (c.name == "committed.emptied") {
                points.emplace_back(
                    "alloc C4: empty slabs' words are durably 0 before their pages are used");
            }
            found.push_back({c.name, "alloc", c.what,
                             [&c](u64 seed) { return std::make_unique<committed_target>(c, seed); },
                             points});
        }
        return found;
    }();
    return all;
}

}  // namespace hf::lab
