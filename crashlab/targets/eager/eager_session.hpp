// targets/eager/eager_session.hpp: any eager index under the crash lab.
//
// A session is an open region with one index as the root "index", and the history of its
// operations, which is judged for durable linearizability (key_history.hpp). Opening the region is
// recovery with the sweep; inspect() reads every key, compares a walk over the index with the
// result, and audits for leaks and double owners.
//
// Operations of prepare() are not recorded, those of run() are. Keys of fill() make the index
// large: a walk must find them; they are not read one by one. If several threads change one key,
// they may use only upserts and removes: an insert that finds its key writes nothing, which a
// history of writes cannot represent.
#pragma once

#include <holdfast/crashlab/key_history.hpp>

#include "alloc/size_class.hpp"
#include "alloc/swept/audit_view.hpp"
#include "base/random.hpp"
#include "crashlab/lint/lint.hpp"
#include "crashlab/runtime/file.hpp"
#include "crashlab/targets/target.hpp"
#include "index/common/batch.hpp"
#include "index/common/index.hpp"

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hf::lab {

/// Keys and values by number.
template <class Keys>
struct lab_keys;
template <>
struct lab_keys<integer_keys> {
    static u64 key(u64 number) { return number; }
    static u64 value(u64 number) { return number; }
    static u64 number_in(u64 value) { return value; }
    static std::string text(u64 key) { return std::to_string(key); }
    /// The greatest key below `key`, or the one before it.
    static u64 just_below(u64 key) { return key == 0 ? 0 : key - 1; }
};
template <>
struct lab_keys<byte_keys> {
    /// Some are prefixes of others, and one is empty.
    static std::string key(u64 number) {
        return number == 0 ? "" : std::string(number % 3 * 8, 'p') + std::to_string(number);
    }
    static std::string value(u64 number) {
        return std::to_string(number) + std::string(number % 4 * 30, 'v');
    }
    static u64 number_in(std::string_view value) { return std::stoull(std::string(value)); }
    static std::string text(std::string_view key) { return std::string(key); }
    static std::string just_below(std::string key) {
        if (key.empty() || key.back() == 0) return key;
        --key.back();
        return key + '\xff';
    }
};

template <class T>
T eager_must(tl::expected<T, error> r) {
    if (!r) throw violation(r.error().to_string());
    if constexpr (!std::is_void_v<T>) return std::move(*r);
}

template <class Index, class Keys>
class eager_session {
   public:
    using names = lab_keys<Keys>;
    using operation = typename Index::operation;

    explicit eager_session(u64 bytes = u64{2} << 20, u64 most = u64{60} << 20,
                           sweeping sweep = sweeping::at_opening,
                           void (*work_first)(eager_session&) = nullptr)
        : bytes_(bytes), most_bytes_(most), sweep_(sweep), work_first_(work_first) {}

    void open() {
        eager_options o;
        o.region.kind = discipline::eager;
        o.region.initial_size = bytes_;
        o.region.max_size = most_bytes_;
        o.region.flush = flush_policy::always;
        o.sweep = sweep_;
        const layout::room_format rooms[] = {Index::format};
        space_ = eager_must(
            eager_space::open(file_path, o, rooms, [this](eager_space& s) -> result<void> {
                if (s.file().created()) soil(s);
                auto made = Index::open(s, "index");
                if (!made) return tl::unexpected(made.error());
                index_ = std::move(*made);
                return {};
            }));
    }
    void crash() {
        space_.reset();
        index_.reset();
    }
    void close_in_order() {
        eager_must(space_->close());
        crash();
    }
    [[nodiscard]] eager_session next() const {
        eager_session s(bytes_, most_bytes_, sweep_, work_first_);
        s.history_ = history_;
        s.told_ = told_;
        s.most_keys_ = most_keys_;
        s.filled_ = filled_;
        s.tells_ = true;
        return s;
    }
    /// From here on operations are recorded.
    void begin_telling() { tells_ = true; }

    /// Inserts keys `first` to `last` - 1, which no other operation uses. Call before run().
    void fill(u64 first, u64 last) {
        for (u64 k = first; k < last; ++k) {
            const auto name = names::key(k);
            const auto value = names::value(k);
            operation op(*space_);
            require(eager_must(index_->insert(op, name, value)), "a key to fill with is there");
        }
        filled_ += last - first;
    }
    /// Makes allocations fail until the next session, whose sweep frees the memory.
    void use_up_memory() {
        operation op(*space_);
        use_up_memory(op);
    }
    /// As use_up_memory(), but leaves one page: only allocations of its size succeed.
    void use_up_memory_but_a_page() {
        constexpr u32 block = layout::page_size;
        constexpr u64 pages = slab_pages(class_of_block(block)) + 1;
        static_assert(pages * layout::page_size > largest_block, "a run of its own");
        operation op(*space_);
        const u64 kept = eager_must(op.allocate(pages * layout::page_size));
        use_up_memory(op);
        op.cancel(kept);
        static_cast<void>(eager_must(op.allocate(block)));
    }

    void insert(u64 k) {
        write(k, "insert", [&](operation& op, const auto& name, const auto& value) {
            require(eager_must(index_->insert(op, name, value)), "an insert finds its key");
        });
    }
    /// Inserts absent keys as one batch: concurrent operations in the history.
    void insert_many(const std::vector<u64>& keys) {
        using name_of = decltype(names::key(0));
        using value_of = decltype(names::value(0));
        std::vector<std::pair<name_of, value_of>> all;
        std::vector<u64> numbers;
        for (const u64 k : keys) {
            numbers.push_back(begin(k, "insert, in a batch,"));
            history_writes(numbers.back(), k, numbers.back());
            all.emplace_back(names::key(k), names::value(numbers.back()));
        }
        const std::vector<batch_entry<Index>> entries(all.begin(), all.end());
        for (u64 i = 0; tells_ && i < keys.size(); ++i) begin_operation(numbers[i]);
        require(eager_must(hf::insert_many(*index_, *space_, std::span(entries))) == keys.size(),
                "a batch finds its keys");
        for (u64 i = 0; tells_ && i < keys.size(); ++i) end_operation(numbers[i]);
    }
    void upsert(u64 k) {
        write(k, "upsert", [&](operation& op, const auto& name, const auto& value) {
            static_cast<void>(eager_must(index_->upsert(op, name, value, ignore)));
        });
    }
    /// Without memory, the end of the operation is not recorded.
    void upsert_or_fail(u64 k) {
        const u64 number = begin(k, "upsert");
        history_.writes(number, names::text(names::key(k)), number);
        const auto name = names::key(k);
        const auto value = names::value(number);
        begin_operation(number);
        {
            operation op(*space_);
            auto done = index_->upsert(op, name, value, ignore);
            if (!done && done.error().code == errc::no_space) return;
            static_cast<void>(eager_must(std::move(done)));
        }
        end_operation(number);
    }
    void update(u64 k) {
        write(k, "update", [&](operation& op, const auto& name, const auto& value) {
            require(eager_must(index_->update(op, name, value, ignore)),
                    "an update misses its key");
        });
    }
    void remove(u64 k) {
        const u64 number = begin(k, "remove");
        const auto name = names::key(k);
        history_writes(number, k, key_history::nothing);
        if (tells_) begin_operation(number);
        {
            operation op(*space_);
            index_->remove(op, name, ignore);
        }
        if (tells_) end_operation(number);
    }
    /// An update; if the key is absent, recorded as a read that found nothing. Without memory, the
    /// end of the operation is not recorded.
    void update_or_miss(u64 k) {
        const u64 number = begin(k, "update");
        history_.writes(number, names::text(names::key(k)), number);
        const u64 miss = begin(k, "miss");
        history_.reads(miss, names::text(names::key(k)));
        const auto name = names::key(k);
        const auto value = names::value(number);
        begin_operation(number);
        begin_operation(miss);
        bool is_there = false;
        {
            operation op(*space_);
            auto done = index_->update(op, name, value, ignore);
            if (!done && done.error().code == errc::no_space) return;
            is_there = eager_must(std::move(done));
        }
        is_there ? end_operation(number) : end_operation(miss, key_history::nothing);
    }
    /// Recorded as a read.
    void get(u64 k) {
        const u64 number = begin(k, "get");
        history_.reads(number, names::text(names::key(k)));
        begin_operation(number);
        const u64 seen = find(k);
        end_operation(number, seen);
    }
    /// As get(), by a walk over the whole index.
    void get_by_walking(u64 k) {
        read_by(k, "walk to", [&](auto&& look) { index_->for_each(*space_, look); });
    }
    /// As get(), by a scan from the key on, or backwards, if the index supports it.
    void get_by_scanning(u64 k, bool up) {
        const auto name = names::key(k);
        scan_to(k, name, up);
    }
    /// As get(), by a scan that starts just before the key.
    void get_by_scanning_on(u64 k) {
        const auto before = names::just_below(names::key(k));
        scan_to(k, before, true);
    }
    [[nodiscard]] u64 find(u64 k) {
        u64 seen = key_history::nothing;
        const auto name = names::key(k);
        const auto found = [&](const auto& v) { seen = names::number_in(v); };
        if constexpr (requires { index_->get(*space_, name, found); }) {
            index_->get(*space_, name, found);
        } else {
            operation op(*space_);
            index_->get(op, name, found);
        }
        return seen;
    }

    void judge(const promised& all, u64 k) {
        history_.judge_remains(all, names::text(names::key(k)), find(k));
    }
    void judge_reads(const promised& all) const { history_.judge_reads(all); }
    void inspect(const promised& all) {
        std::map<std::string, u64> walked;
        index_->for_each(*space_, [&](const auto& k, const auto& v) {
            if (!walked.emplace(names::text(k), names::number_in(v)).second) {
                throw violation("a walk meets a key twice: " + names::text(k));
            }
        });
        for (u64 k = 0; k < most_keys_; ++k) {
            judge(all, k);
            const auto at = walked.find(names::text(names::key(k)));
            require((at == walked.end() ? key_history::nothing : at->second) == find(k),
                    "a walk finds other values than gets do");
        }
        // Two numbers may have the same key.
        for (u64 k = 0; k < most_keys_; ++k) walked.erase(names::text(names::key(k)));
        require(walked.size() == filled_, "a walk misses keys, or finds what nobody wrote");
        audit();
    }
    void audit() {
        if (!has_swept_) eager_must(space_->sweep());
        has_swept_ = true;
        space_->grace().reclaim_all();
        const auto caches = space_->grace().caches();
        audit_report report;
        swept::view books(space_->heap(), caches);
        heap_audit all(space_->file(), books, report);
        all.read_runs();
        all.read_free();
        index_->audit(all);
        all.finish();
        if (!report.ok()) throw violation("the audit says: " + report.to_string());
    }

    /// A survivor's first operations, before it reads all keys and so makes them durable.
    void work_first() {
        if (work_first_ != nullptr) work_first_(*this);
    }
    [[nodiscard]] u64 keys() const noexcept { return most_keys_; }
    [[nodiscard]] std::string describe_operation(u64 number) const {
        return number < told_.size() ? told_[number] : "operation " + std::to_string(number);
    }
    [[nodiscard]] Index& index() noexcept { return *index_; }
    [[nodiscard]] eager_space& space() noexcept { return *space_; }

   private:
    static void use_up_memory(operation& op) {
        for (u32 c = 0; c < block_classes; ++c) {
            while (op.allocate(block_size(c))) {
            }
        }
    }
    /// Fills free blocks with garbage, as newly allocated memory may contain anything. No bit of it
    /// is the same in all lines.
    static void soil(eager_space& s) {
        for (u64 bytes : {16, 32, 64, 128, 256, 512}) soil(s, bytes, 24);
        for (u64 bytes : {1024, 2112, 4096}) soil(s, bytes, 2);  // 2112: an N256
    }
    static void soil(eager_space& s, u64 bytes, u64 count) {
        operation op(s);
        std::vector<u64> blocks;
        for (u64 i = 0; i < count; ++i) {
            blocks.push_back(eager_must(op.allocate(bytes)));
            for (u64 at = blocks.back(); at < blocks.back() + bytes; at += 16) {
                const int what = at / line_size % 2 == 0 ? 0x5a : 0xa5;
                std::memset(op.template at<char>(at), what, 16);
            }
        }
        for (u64 b : blocks) op.cancel(b);
    }
    /// Numbers begin with 1. The value of a write is the operation's number.
    u64 begin(u64 k, const char* what) {
        most_keys_ = std::max(most_keys_, k + 1);
        if (told_.empty()) told_.emplace_back();
        told_.push_back(std::string(what) + " " + names::text(names::key(k)));
        return told_.size() - 1;
    }
    void history_writes(u64 number, u64 k, u64 value) {
        const std::string key = names::text(names::key(k));
        if (tells_) {
            history_.writes(number, key, value);
        } else {
            history_.holds(key, value);
        }
    }
    template <class From>
    void scan_to(u64 k, const From& from, bool up) {
        if constexpr (ordered_eager_index<Index>) {
            read_by(k, up ? "scan to" : "scan back to", [&](auto&& look) {
                up ? index_->scan(*space_, from, 2, look)
                   : index_->scan_back(*space_, from, 2, look);
            });
        } else {
            get_by_walking(k);
        }
    }
    /// The read ends when the key is shown: what a visitor has seen must not be undone, even while
    /// the walk goes on.
    template <class Walk>
    void read_by(u64 k, const char* what, Walk&& walk) {
        const u64 number = begin(k, what);
        const auto name = names::text(names::key(k));
        history_.reads(number, name);
        begin_operation(number);
        bool is_shown = false;
        walk([&](const auto& there, const auto& v) {
            if (is_shown || names::text(there) != name) return;
            is_shown = true;
            end_operation(number, names::number_in(v));
        });
        if (!is_shown) end_operation(number, key_history::nothing);
    }
    template <class Do>
    void write(u64 k, const char* what, Do&& work) {
        const u64 number = begin(k, what);
        history_writes(number, k, number);
        const auto name = names::key(k);
        const auto value = names::value(number);
        if (tells_) begin_operation(number);
        {
            operation op(*space_);
            work(op, name, value);
        }
        if (tells_) end_operation(number);
    }

    u64 bytes_;
    u64 most_bytes_;
    sweeping sweep_;
    bool has_swept_ = sweep_ == sweeping::at_opening;
    void (*work_first_)(eager_session&);
    std::unique_ptr<eager_space> space_;
    std::unique_ptr<Index> index_;
    key_history history_;
    std::vector<std::string> told_;
    u64 most_keys_ = 0;
    u64 filled_ = 0;
    bool tells_ = false;
};

template <class Session>
struct eager_case {
    std::string_view name;
    std::string_view what;
    std::function<void(Session&)> prepare;
    std::function<void(Session&, splitmix64&)> run;
    std::vector<std::string_view> points = {};
    bool opens_in_run = false;  ///< prepare() ends with a crash; otherwise it creates the region
    unsigned threads = 1;
    std::function<void(Session&, unsigned, splitmix64&)> run_thread = {};
    u64 bytes = u64{2} << 20;
    u64 most_bytes = u64{60} << 20;
    sweeping sweep = sweeping::at_opening;   ///< by_hand: after all operations of a survivor
    void (*work_first)(Session&) = nullptr;  ///< of a survivor
    u64 steps = 800;  ///< estimate for all threads; preemptions are drawn among them
};

template <class Session>
class eager_survivor final : public survivor {
   public:
    eager_survivor(Session s, promised all) : session_(std::move(s)), promised_(std::move(all)) {
        session_.open();
    }
    void crash() override { session_.crash(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<eager_survivor>(session_.next(), all);
    }
    [[nodiscard]] unsigned questions() const override {
        return static_cast<unsigned>(session_.keys());
    }
    void ask(unsigned number) override { session_.judge(promised_, number); }
    [[nodiscard]] std::string describe(unsigned number) const override {
        return "get key " + std::to_string(number);
    }
    void inspect() override { session_.inspect(promised_); }
    void work_on() override {
        const u64 last = session_.keys();
        session_.work_first();
        for (u64 k = 0; k < last; ++k) session_.get(k);
        for (u64 k = 0; k < std::min<u64>(last, 4); ++k) session_.upsert(k);
        if (last > 4) session_.remove(4);
        for (u64 k = last; k < last + 4; ++k) session_.upsert(k);
        session_.audit();
    }

   private:
    Session session_;
    promised promised_;
};

template <class Session>
class eager_target final : public target {
   public:
    eager_target(const eager_case<Session>& c, u64 seed)
        : case_(c), session_(c.bytes, c.most_bytes, c.sweep, c.work_first), random_(seed) {
        for (u64 t = 0; t < c.threads; ++t) of_thread_.emplace_back(seed * 2 + t);
    }
    void prepare() override {
        if (case_.prepare || !case_.opens_in_run) session_.open();
        if (case_.prepare) case_.prepare(session_);
        if (case_.opens_in_run) session_.crash();
        session_.begin_telling();
    }
    void run() override {
        if (case_.opens_in_run) session_.open();
        if (case_.run) case_.run(session_, random_);
    }
    void crash() override { session_.crash(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<eager_survivor<Session>>(session_.next(), all);
    }
    [[nodiscard]] unsigned threads() const override { return case_.threads; }
    [[nodiscard]] u64 about_steps() const override { return case_.threads > 1 ? case_.steps : 0; }
    void run_thread(unsigned number) override {
        case_.run_thread(session_, number, of_thread_[number]);
    }
    void judge_run(const promised& all) const override { session_.judge_reads(all); }
    [[nodiscard]] std::string describe_operation(u64 number) const override {
        return session_.describe_operation(number);
    }

   private:
    const eager_case<Session>& case_;
    Session session_;
    splitmix64 random_;
    std::vector<splitmix64> of_thread_;
};

/// The lint's rules for these cases.
[[nodiscard]] inline const lint_rules& eager_rules() {
    static const lint_rules rules = [] {
        lint_rules r = project_rules();
        r.durable = promise::at_once;
        r.dirty = reads::acquiring;
        // A lock word is volatile, except for the flags that a new node is created with.
        r.volatile_places.push_back({"eager/node_lock.hpp", {"fill"}});
        // A run of pages without a reference is freed by the sweep.
        r.rests_on_nothing.push_back("alloc/swept_heap.cpp");
        return r;
    }();
    return rules;
}

/// The rules for an index that publishes several independent lines with one fence.
[[nodiscard]] inline const lint_rules& eager_rules_for_groups() {
    static const lint_rules rules = [] {
        lint_rules r = eager_rules();
        r.silent.push_back(rule::published_early);
        return r;
    }();
    return rules;
}

/// `c` must outlive the description.
template <class Session>
[[nodiscard]] target_description describe(const eager_case<Session>& c, std::string_view room,
                                          const lint_rules& rules = eager_rules()) {
    target_description d{
        c.name, room, c.what,
        [&c](u64 seed) { return std::make_unique<eager_target<Session>>(c, seed); }, c.points};
    d.rules = &rules;
    d.has_threads = c.threads > 1;
    return d;
}

}  // namespace hf::lab
