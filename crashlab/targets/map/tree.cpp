#include "crashlab/targets/map/tree.hpp"

#include "checkpoint_map/large_value.hpp"
#include "crashlab/runtime/file.hpp"
#include "index/masstree/audit.hpp"
#include "index/masstree/inspection.hpp"
#include "persist/persist_point.hpp"

#include <cstdlib>
#include <cstring>

namespace hf::lab {
namespace {

template <class T>
T must(tl::expected<T, error> r) {
    if (!r) throw violation(r.error().to_string());
    if constexpr (!std::is_void_v<T>) return std::move(*r);
}

constexpr u64 root_type = 77;
constexpr u32 root_format = 3;
constexpr u64 root_value = 0x12345678;

std::string show(const std::optional<std::string>& value) {
    return value ? "\"" + value->substr(0, 24) + "\" (" + std::to_string(value->size()) + " bytes)"
                 : "nothing";
}

/// The number in a fresh value. A torn value has another.
u64 number_of(const std::string& value) {
    const u64 end = value.find('.');
    return value.empty() || value[0] != 'v' || end == std::string::npos
               ? told_operation::never
               : std::strtoull(value.c_str() + 1, nullptr, 10);
}

}  // namespace

std::string key_of(u64 number) {
    std::string key = "k0000000";
    for (std::size_t i = key.size(); number != 0; number /= 10) {
        key[--i] = static_cast<char>('0' + number % 10);
    }
    return key;
}

void tree_session::open(unsigned recovery_threads) {
    engine_options o = options_;
    o.epochs.recovery_threads = recovery_threads;
    machine_ = must(engine<incll_discipline>::open(path_, o));
}

void tree_session::close() {
    must(machine_->close());
    machine_.reset();
}

std::string tree_session::fresh_value(std::size_t size) {
    std::string v = "v" + std::to_string(++values_) + ".";
    v.resize(std::max(size, v.size()), static_cast<char>('a' + values_ % 26));
    return v;
}

u64 tree_session::store(const std::string& key, const std::string& value) {
    if (is_large(masstree_detail::record_payload(key, value.size()))) {
        return must(store_large_value(*machine_, key, value, nullptr)).written_in;
    }
    operation op(machine_->checkpoint());
    if (machine_->tree().lies_inline(key, value)) {
        const decision d = decision::to_store(masstree_detail::cell::of_value(value));
        require(must(machine_->tree().update(op, key, [&](const auto*) { return d; })).changed,
                "a put changed nothing");
        return op.epoch();
    }
    const u64 r = must(machine_->tree().make_record(op, key, value));
    const auto done = must(machine_->tree().update(
        op, key, [&](const auto*) { return decision{decision::action::store, r}; }));
    require(done.changed, "a put changed nothing");
    return op.epoch();
}

u64 tree_session::erase(const std::string& key) {
    operation op(machine_->checkpoint());
    static_cast<void>(must(machine_->tree().update(op, key, [&](const auto* old) {
        return decision{old != nullptr ? decision::action::erase : decision::action::keep, 0};
    })));
    return op.epoch();
}

void tree_session::put_by(unsigned thread, const std::string& key, std::size_t value_size) {
    const std::string value = fresh_value(value_size);
    const u64 number = told_.size();
    operations_.writes(number, key, number_of(value));
    told_.push_back("put " + key);
    begin_operation(number);
    changes_[thread].push_back({store(key, value), key, value});
    end_operation(number, number_of(value));
}

void tree_session::remove_by(unsigned thread, const std::string& key) {
    const u64 number = told_.size();
    operations_.writes(number, key, key_history::nothing);
    told_.push_back("remove " + key);
    begin_operation(number);
    changes_[thread].push_back({erase(key), key, std::nullopt});
    end_operation(number);
}

void tree_session::get_by(const std::string& key) {
    const u64 number = told_.size();
    operations_.reads(number, key);
    told_.push_back("get " + key);
    begin_operation(number);
    const auto found = get(key);
    end_operation(number, found ? number_of(*found) : key_history::nothing);
}

std::string tree_session::describe_operation(u64 number) const {
    return number < told_.size() ? told_[number] : "operation " + std::to_string(number);
}

// Epoch by epoch: no two threads changed the same key, and the epochs of a thread never decrease.
void tree_session::learn_changes() {
    u64 last = 0;
    for (const auto& of_thread : changes_) {
        if (!of_thread.empty()) last = std::max(last, of_thread.back().epoch);
    }
    u64 first = last;
    for (const auto& of_thread : changes_) {
        if (!of_thread.empty()) first = std::min(first, of_thread.front().epoch);
    }
    for (u64 e = first; e <= last && last != 0; ++e) {
        for (const auto& of_thread : changes_) {
            for (const change& c : of_thread) {
                if (c.epoch != e) continue;
                if (c.value) {
                    model_.put(c.key, *c.value);
                } else {
                    model_.remove(c.key);
                }
            }
        }
        model_.epoch_ended(e);
    }
    for (auto& of_thread : changes_) of_thread.clear();
}

void tree_session::crash() {
    learn_changes();
    machine_.reset();
}

void tree_session::put(const std::string& key, std::size_t value_size) {
    put_value(key, fresh_value(value_size));
}

void tree_session::put_value(const std::string& key, std::string value) {
    store(key, value);
    operations_.holds(key, number_of(value));
    model_.put(key, std::move(value));
}

void tree_session::remove(const std::string& key) {
    erase(key);
    operations_.holds(key, key_history::nothing);
    model_.remove(key);
}

bool tree_session::try_to_reserve(std::size_t bytes) {
    u64 fresh = 0;
    {
        operation op(machine_->checkpoint());
        const auto reserved = machine_->memory().reserve_large(op, bytes);
        if (!reserved) return false;
        fresh = *reserved;
    }
    machine_->memory().cancel_large(fresh, bytes);
    return true;
}

void tree_session::reserve(std::size_t bytes) {
    require(try_to_reserve(bytes), "the region cannot grow");
}

void tree_session::hold_all_pages() {
    operation op(machine_->checkpoint());
    for (u64 pages = 256; pages != 0; pages /= 2) {
        while (machine_->memory().reserve_large(op, pages * page_size - block_header_size)) {
        }
    }
}

void tree_session::give_back_slabs() {
    require(machine_->memory().give_back_slabs() != 0, "no slab has run empty");
}

void tree_session::compact() {
    compaction_budget budget;
    model_.epoch_ended(machine_->epochs().current_epoch());  // it may end one
    require(compaction(*machine_).run(budget), "nothing was moved");
}

void tree_session::touch(const std::string& key) { static_cast<void>(get(key)); }

void tree_session::end_epoch() {
    const u64 ending = machine_->epochs().current_epoch();
    model_.epoch_ended(ending);
    machine_->epochs().end_epoch();
    if (on_announced != nullptr) on_announced(ending);
}

void tree_session::run_pass() {
    model_.epoch_ended(machine_->epochs().current_epoch());
    static_cast<void>(must(machine_->run_pass()));
}

void tree_session::add_root(const std::string& name) {
    const u64 number = first_root_operation + roots_.size();
    roots_.emplace(name, number);
    begin_operation(number);
    static_cast<void>(
        must(machine_->file().publish_root(name, root_type, root_format, root_value)));
    end_operation(number);
}

void tree_session::crash_at(std::string_view point,
                            const std::function<void(tree_session&)>& work) {
    struct reached {};
    static std::string_view wanted;
    wanted = point;
    const auto before = set_persist_point_hook([](const char* name) {
        if (wanted == name) throw reached();
    });
    bool was_reached = false;
    try {
        work(*this);
    } catch (const reached&) {
        was_reached = true;
    }
    set_persist_point_hook(before);
    require(was_reached, "the workload does not come to its persist point");
    crash();
}

std::optional<std::string> tree_session::get(const std::string& key) {
    operation op(machine_->checkpoint());
    std::optional<std::string> out;
    machine_->tree().get(op, key, [&](std::string_view v) { out = std::string(v); });
    return out;
}

void tree_session::adopt(u64 announced) {
    // A crashed epoch has a number, but its changes are undone. open() may have ended epochs of its
    // own.
    const auto interrupted = machine_->epochs().interrupted_epoch();
    const u64 begun = epoch_area_of(machine_->file().super()).first_epoch_of_session;
    const u64 end = interrupted.value_or(begun) - 1;
    came_back_to_ = end;
    if (end < announced) {
        throw violation("epoch " + std::to_string(announced) +
                        " was announced as durable, but recovery came back to the end of epoch " +
                        std::to_string(end));
    }
    model_.recovered_to(end);
}

void tree_session::find_roots(const promised& all) const {
    for (const auto& [name, number] : roots_) {
        if (all.has_returned(number) && !machine_->file().find_root(name)) {
            throw violation("the root " + name + " is not there, but had been published");
        }
    }
}

void tree_session::compare(const std::string& key) {
    const auto expected = model_.now.find(key);
    const auto found = get(key);
    const auto wanted =
        expected == model_.now.end() ? std::nullopt : std::optional(expected->second);
    if (found != wanted) {
        throw violation("the key " + key + " has " + show(found) + ", but at the end of epoch " +
                        std::to_string(came_back_to_) + " it had " + show(wanted));
    }
}

// Each root is complete or absent.
void tree_session::inspect_roots() {
    for (const layout::root& r : machine_->file().header().roots) {
        if (r.value.load() == 0) continue;
        const std::string name(r.name, ::strnlen(r.name, sizeof r.name));
        if (name == engine<incll_discipline>::root_name) continue;
        if (!roots_.contains(name)) throw violation("there is a root of nobody's: " + name);
        require(r.type == root_type && r.format == root_format && r.value.load() == root_value,
                "a root has a value, but not its fields");
    }
}

void tree_session::inspect() {
    inspect_roots();
    history::state found;
    {
        operation op(machine_->checkpoint());
        machine_->tree().scan(op, "", false, [&](std::string_view k, std::string_view v) {
            found.emplace(k, v);
            return true;
        });
    }
    if (found != model_.now) {
        for (const auto& k : model_.keys) compare(k);
        throw violation("a scan finds other records than gets do");
    }
    const region::root* root =
        must(machine_->file().find_root(engine<incll_discipline>::root_name));
    const auto report =
        hf::audit<incll_discipline>(machine_->file(), machine_->checkpoint(), root->value.load(),
                                    machine_->file().offset_of(&root->value), {}, root->format);
    if (!report.ok()) throw violation("the audit says: " + report.to_string());
}

void tree_session::forget_count() {
    auto& memory = machine_->memory();
    memory.pages().root().counts_objects = 0;
    for (u32 set = 0; set < memory.set_count(); ++set) {
        memory.lists(set, extent_class).lists.now[class_lists::objects] = 0;
    }
}

void tree_session::forget_dirty_lines() { machine_->epochs().my_lane().reset_lists(); }

tree_session tree_session::next_session() const {
    tree_session next(options_, 7, path_);
    next.model_ = model_;
    next.roots_ = roots_;
    next.values_ = values_ + 1000;
    return next;
}

namespace {

class tree_survivor final : public survivor {
   public:
    explicit tree_survivor(tree_session s, const promised& all) : session_(std::move(s)) {
        session_.open();
        session_.adopt(all.epoch);
        session_.find_roots(all);
        keys_.assign(session_.model().keys.begin(), session_.model().keys.end());
    }

    void crash() override { session_.crash(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<tree_survivor>(session_.next_session(), all);
    }
    [[nodiscard]] unsigned questions() const override {
        return static_cast<unsigned>(keys_.size());
    }
    void ask(unsigned number) override { session_.compare(keys_[number]); }
    void forget() override { session_.forget_dirty_lines(); }
    [[nodiscard]] std::string describe(unsigned number) const override {
        return "get " + keys_[number];
    }
    void inspect() override { session_.inspect(); }
    void work_on() override {
        unsigned turn = 0;
        for (const std::string& key : keys_) {
            if (++turn % 3 == 0) session_.put(key);
            if (turn % 7 == 0) session_.remove(key);
            if (turn % 12 == 0) session_.end_epoch();
            if (turn == 40) break;
        }
        session_.put(key_of(7'000'000 + turn));
        session_.end_epoch();
        session_.inspect();
        session_.put(key_of(7'000'000));
    }

   private:
    tree_session session_;
    std::vector<std::string> keys_;
};

class tree_target final : public target {
   public:
    tree_target(const tree_case& c, u64 seed)
        : case_(c), session_(options_of(c), seed, file_path) {}

    void prepare() override {
        if (!case_.opens_in_run) session_.open();
        if (case_.prepare) case_.prepare(session_);
    }
    void run() override { case_.run(session_); }
    void crash() override { session_.crash(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<tree_survivor>(session_.next_session(), all);
    }
    [[nodiscard]] unsigned threads() const override { return case_.threads; }
    void run_thread(unsigned number) override { case_.run_thread(session_, number); }
    void judge_run(const promised& all) const override { session_.judge_reads(all); }
    [[nodiscard]] std::string describe_operation(u64 number) const override {
        return session_.describe_operation(number);
    }

   private:
    const tree_case& case_;
    tree_session session_;
};

}  // namespace

engine_options options_of(const tree_case& c) {
    engine_options o;
    o.file.initial_size = c.initial_size;
    o.file.max_size = c.max_size;
    o.file.first_epoch = c.first_epoch;
    o.file.flush = flush_policy::always;
    o.epochs.epoch = std::chrono::microseconds(0);
    o.epochs.recovery_threads = 1;
    o.background_pass = false;
    o.inline_values = c.inline_values;
    return o;
}

std::unique_ptr<target> make_tree_target(const tree_case& c, u64 seed) {
    return std::make_unique<tree_target>(c, seed);
}

}  // namespace hf::lab
