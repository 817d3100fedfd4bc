// targets/map/tree.hpp: workloads on a whole engine (region, epochs, heap, Masstree), and their
// judge.
//
// Recovery is an unmodified engine::open() on the lab's file. Each question is the get of a key;
// inspect() audits heap and tree and compares all records; work_on() changes records, ends an
// epoch, and changes more.
#pragma once

#include <holdfast/crashlab/key_history.hpp>

#include "base/random.hpp"
#include "checkpoint_map/compaction.hpp"
#include "checkpoint_map/engine.hpp"
#include "crashlab/targets/history.hpp"
#include "crashlab/targets/target.hpp"
#include "crashlab/trace/event.hpp"

#include <array>
#include <functional>
#include <map>
#include <optional>

namespace hf::lab {

/// An engine and its expected contents. Errors of the engine are violations.
class tree_session {
   public:
    tree_session(engine_options options, u64 seed, std::string path)
        : options_(options), path_(std::move(path)), random_(seed) {}

    /// The external log is applied by `recovery_threads` threads.
    void open(unsigned recovery_threads = 1);
    void crash();
    void close();

    /// A value larger than any block gets its own extent.
    void put(const std::string& key, std::size_t value_size);
    void put(const std::string& key) { put(key, 8 + random_() % 24); }
    void put_value(const std::string& key, std::string value);
    void remove(const std::string& key);
    /// Reserves this number of bytes, and releases them.
    void reserve(std::size_t bytes);
    /// False: no memory.
    bool try_to_reserve(std::size_t bytes);
    /// Reserves all pages until the session ends; durably they stay free.
    void hold_all_pages();
    void let_larger_stand_in() { machine_->memory().let_larger_stand_in(); }
    /// Turns empty slabs into pages; there must be some.
    void give_back_slabs();
    /// Joins sparse leaves, and moves records out of sparse slabs. Something must be moved.
    void compact();
    void touch(const std::string& key);
    void end_epoch();
    void run_pass();
    // Called by a target's threads, each of which writes its own keys; the model is updated at the
    // crash. These are operations of the trace.
    void put_by(unsigned thread, const std::string& key, std::size_t value_size = 8);
    void remove_by(unsigned thread, const std::string& key);
    /// The value that it reads must have been valid at some moment of the operation.
    void get_by(const std::string& key);
    void judge_reads(const promised& all) const { operations_.judge_reads(all); }
    [[nodiscard]] std::string describe_operation(u64 number) const;
    void end_epoch_by_thread() { machine_->epochs().end_epoch(); }

    /// Adds an entry to the root directory.
    void add_root(const std::string& name);
    /// Runs `work` and crashes at the persist point.
    void crash_at(std::string_view point, const std::function<void(tree_session&)>& work);

    [[nodiscard]] std::optional<std::string> get(const std::string& key);
    [[nodiscard]] engine<incll_discipline>& machine() { return *machine_; }
    [[nodiscard]] history& model() { return model_; }
    [[nodiscard]] splitmix64& random() { return random_; }
    /// A value that no other operation writes.
    [[nodiscard]] std::string fresh_value(std::size_t size);

    /// Makes the region look as if a program had written it that does not count records.
    void forget_count();
    /// After recovery of an image: determines the epoch it is the end of. Throws if it is too old.
    void adopt(u64 announced);
    /// Requires all published roots.
    void find_roots(const promised& all) const;
    void compare(const std::string& key);
    void inspect();
    void forget_dirty_lines();
    [[nodiscard]] const engine_options& options() const { return options_; }
    [[nodiscard]] tree_session next_session() const;
    /// Called for each announced epoch; may be null.
    void (*on_announced)(u64 epoch) = nullptr;

   private:
    struct change {
        u64 epoch;
        std::string key;
        std::optional<std::string> value;
    };

    /// Both return the epoch they ran in.
    u64 store(const std::string& key, const std::string& value);
    u64 erase(const std::string& key);
    void inspect_roots();
    void learn_changes();

    engine_options options_;
    std::string path_;
    splitmix64 random_;
    std::unique_ptr<engine<incll_discipline>> machine_;
    history model_;
    /// Operations of threads have lower numbers.
    static constexpr u64 first_root_operation = u64{1} << 32;
    std::map<std::string, u64> roots_;  ///< with the operations that published them
    u64 values_ = 0;
    u64 came_back_to_ = 0;
    std::array<std::vector<change>, max_threads> changes_;
    key_history operations_;
    std::vector<std::string> told_;  ///< description of each operation
};

struct tree_case {
    std::string_view name;
    std::string_view room;
    std::string_view what;
    /// Runs before the trace; the session is open unless `opens_in_run`.
    std::function<void(tree_session&)> prepare;
    std::function<void(tree_session&)> run;
    std::vector<std::string_view> points;
    u64 first_epoch = 1;
    bool opens_in_run = false;
    u64 initial_size = u64{16} << 20;
    /// Threads that run after `run`, as fibers.
    unsigned threads = 1;
    std::function<void(tree_session&, unsigned)> run_thread = {};
    u64 max_size = u64{60} << 20;
    bool inline_values = false;
};

[[nodiscard]] const std::vector<tree_case>& tree_cases();
[[nodiscard]] const std::vector<tree_case>& inlined_cases();
[[nodiscard]] const std::vector<tree_case>& rare_cases();
[[nodiscard]] const std::vector<tree_case>& stale_cases();
[[nodiscard]] engine_options options_of(const tree_case& c);
[[nodiscard]] std::unique_ptr<target> make_tree_target(const tree_case& c, u64 seed);

/// "k" and a number with enough digits that the slices differ in their first eight bytes.
[[nodiscard]] std::string key_of(u64 number);

}  // namespace hf::lab
