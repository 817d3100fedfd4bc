// bench/recipe/store.hpp: interface of a store for the workloads of RECIPE's evaluation: an eager
// index, the checkpointed map, or a peer.
//
// A thread passes all of its work in one call. The overhead of an operation is the same for all
// stores: making the key, one virtual call, and comparing the value with the key's.
#pragma once

#include <holdfast/result.hpp>

#include "bench/processor.hpp"
#include "bench/recipe/work.hpp"
#include "bench/scratch_space.hpp"

#include <memory>
#include <string>
#include <vector>

namespace hf::bench {

/// The results of a thread.
struct alignas(64) recipe_tally {
    u64 done = 0;
    u64 scanned = 0;  ///< records visited by scans
    u64 missing = 0;  ///< not found
    u64 wrong = 0;    ///< found unexpectedly, or with another key's value
};

class recipe_store {
   public:
    recipe_store() = default;
    recipe_store(const recipe_store&) = delete;
    recipe_store& operator=(const recipe_store&) = delete;
    virtual ~recipe_store() = default;

    [[nodiscard]] virtual bool scans() const noexcept = 0;
    /// Called before this many threads start.
    [[nodiscard]] virtual result<void> begin(unsigned /*threads*/) { return {}; }
    [[nodiscard]] virtual result<void> work(unsigned thread, const recipe_work& what,
                                            recipe_tally& into) = 0;
    /// Makes all writes durable, if the store supports that. Part of the measured time.
    [[nodiscard]] virtual result<void> finish() { return {}; }
    /// Stops background work.
    [[nodiscard]] virtual result<void> rest() { return {}; }
    /// Its configuration, for the report.
    [[nodiscard]] virtual std::string settings() const = 0;
};

struct recipe_store_options {
    recipe_keys keys = recipe_keys::integer;
    u64 records = 0;  ///< that it will hold at the end
    unsigned threads = 1;
    std::string name;  ///< of its file
};

[[nodiscard]] const std::vector<std::string>& recipe_store_names();
/// An empty store; the destructor removes its files.
[[nodiscard]] result<std::unique_ptr<recipe_store>> make_recipe_store(
    const std::string& name, const scratch_space& space, const recipe_store_options& options);

/// Used by make_recipe_store().
[[nodiscard]] result<std::unique_ptr<recipe_store>> make_index_store(
    const std::string& name, const scratch_space& space, const recipe_store_options& options);
[[nodiscard]] result<std::unique_ptr<recipe_store>> make_map_store(
    const scratch_space& space, const recipe_store_options& options);
[[nodiscard]] result<std::unique_ptr<recipe_store>> make_peer_store(
    const std::string& name, const scratch_space& space, const recipe_store_options& options);
[[nodiscard]] const std::vector<std::string>& recipe_peer_names();

/// The measured loop. `Store` has, for its Store::key,
///   result<bool> get(key, u64& value), insert(key, u64), update(key, u64);
///   result<u64> scan(key, most, visit), which calls visit(key, value).
template <class Store>
class recipe_loop {
   public:
    using key = typename Store::key;
    recipe_loop(Store& s, const recipe_work& what, recipe_tally& into)
        : store_(s), what_(what), into_(into) {}

    [[nodiscard]] result<void> run() {
        constexpr std::size_t look_up_every = 1024;
        for (std::size_t i = 0; i < what_.steps.size(); ++i) {
            if (i % look_up_every == 0 && interrupted()) break;
            auto done = one(i);
            if (!done) [[unlikely]] {
                return tl::unexpected(done.error());
            }
            into_.missing += *done ? 0 : 1;
            ++into_.done;
        }
        return {};
    }

   private:
    static bool belongs(key k, u64 value) noexcept {
        return value - mark_of_key(k) - 1 < values_of_key;
    }
    [[nodiscard]] key key_at(std::size_t i) noexcept {
        if constexpr (std::is_same_v<key, u64>) {
            return what_.steps[i].number();
        } else {
            return what_.bytes_of(i, bytes_);
        }
    }
    result<bool> read(key k) {
        u64 value = 0;
        auto found = store_.get(k, value);
        if (found && *found && !belongs(k, value)) ++into_.wrong;
        return found;
    }
    result<bool> scan(key k, u64 most) {
        u64 met = 0;
        auto done = store_.scan(k, most, [&](key at, u64 value) {
            if (!belongs(at, value) || (met == 0 && at != k)) ++into_.wrong;
            ++met;
        });
        if (!done) return tl::unexpected(done.error());
        into_.scanned += met;
        return met != 0;
    }
    /// Runs one step. False: the result is wrong.
    result<bool> one(std::size_t i) {
        const recipe_step& s = what_.steps[i];
        const key k = key_at(i);
        const u64 fresh = mark_of_key(k) + 1 + i % values_of_key;
        switch (s.what()) {
            case deed::get:
                return read(k);
            case deed::get_absent: {
                auto found = read(k);
                if (found && *found) ++into_.wrong;
                if (found) *found = true;
                return found;
            }
            case deed::insert:
                return store_.insert(k, fresh);
            case deed::update:
                return store_.update(k, fresh);
            case deed::modify: {
                auto found = read(k);
                if (!found || !*found) return found;
                return store_.update(k, fresh);
            }
            case deed::scan:
                return scan(k, s.scan_length());
        }
        return false;
    }

    Store& store_;
    const recipe_work& what_;
    recipe_tally& into_;
    u64 bytes_ = 0;
};

[[nodiscard]] inline std::string_view bytes_of_value(const u64& value) noexcept {
    return {reinterpret_cast<const char*>(&value), sizeof(value)};
}
[[nodiscard]] inline u64 value_in(std::string_view bytes) noexcept {
    u64 value = 0;
    std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof(value)));
    return value;
}

}  // namespace hf::bench
