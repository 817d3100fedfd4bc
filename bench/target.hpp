// bench/target.hpp: targets of the measured loop: a tree of any discipline, or the public map.
#pragma once

#include <holdfast/map.hpp>

#include "base/check.hpp"
#include "bench/operations.hpp"
#include "bench/peers/yardstick.hpp"
#include "checkpoint_map/engine.hpp"
#include "map/inspect.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hf::bench {

/// The rounds that a value may be from; each run of a subject is a round.
struct rounds {
    u64 oldest = 0;
    u64 newest = 0;
};

/// The first eight bytes of a value, if it is that long: its key, as a number, combined with the
/// round that wrote it. So a lost put is detected as well as another record's value.
[[nodiscard]] inline u64 mark_of(std::string_view key, u64 round) noexcept {
    u64 number = 0;
    std::memcpy(&number, key.data(), std::min(key.size(), sizeof(number)));
    return number + round;
}
[[nodiscard]] inline bool belongs_to(std::string_view key, std::string_view value,
                                     const rounds& allowed) noexcept {
    u64 found = 0;
    u64 mask = ~u64{0};
    if (value.size() >= sizeof(found)) [[likely]] {
        std::memcpy(&found, value.data(), sizeof(found));
    } else {
        std::memcpy(&found, value.data(), value.size());
        mask = (u64{1} << 8 * value.size()) - 1;
    }
    return ((found - mark_of(key, allowed.oldest)) & mask) <= allowed.newest - allowed.oldest;
}

[[nodiscard]] inline tl::unexpected<error> foreign_value() {
    return failure({errc::violation, "measure", "a record that was read",
                    "its value is not what was written under its key", "report it: it is a bug"});
}

[[nodiscard]] inline tl::unexpected<error> lost_records(u64 count) {
    return failure({errc::violation, "measure", "the records that were loaded",
                    std::to_string(count) + " that were looked for are not there",
                    "report it: it is a bug"});
}

/// A scan's visitor: checks each record, and ends the scan at the first wrong one.
struct scan_check {
    std::string_view from;  ///< an existing key, so the first one of the scan
    const rounds& allowed;
    unsigned met = 0;
    bool wrong = false;
    bool operator()(std::string_view key, std::string_view value) noexcept {
        wrong = !belongs_to(key, value, allowed) || (met == 0 && key != from);
        return ++met < scan_length && !wrong;
    }
    [[nodiscard]] result<unsigned> outcome() const {
        if (wrong) return foreign_value();
        return met;
    }
};

/// The tree of an engine<D>, without the public map around it.
template <class D>
class tree_target {
   public:
    rounds allowed;
    static constexpr bool many = false;
    static constexpr bool survives = D::durable;  ///< may be closed and reopened
    explicit tree_target(std::unique_ptr<engine<D>> machine) : machine_(std::move(machine)) {}

    [[nodiscard]] static std::string_view name() noexcept { return D::name; }
    [[nodiscard]] engine<D>& machine() noexcept { return *machine_; }
    [[nodiscard]] result<void> close() { return machine_->close(); }

    [[nodiscard]] result<bool> put(std::string_view key, std::string_view value);
    [[nodiscard]] result<bool> get(std::string_view key, std::string& /*scratch*/) {
        operation op(machine_->checkpoint());
        bool right = true;
        const bool found = machine_->tree().get(
            op, key, [&](std::string_view value) { right = belongs_to(key, value, allowed); });
        if (!right) [[unlikely]] {
            return foreign_value();
        }
        return found;
    }
    [[nodiscard]] result<unsigned> scan(std::string_view key) {
        operation op(machine_->checkpoint());
        scan_check check{key, allowed};
        machine_->tree().scan(op, key, false, check);
        return check.outcome();
    }

   private:
    std::unique_ptr<engine<D>> machine_;
};

template <class D>
result<bool> tree_target<D>::put(std::string_view key, std::string_view value) {
    auto& tree = machine_->tree();
    operation op(machine_->checkpoint());
    if (tree.lies_inline(key, value)) {
        const decision d = decision::to_store(masstree_detail::cell::of_value(value));
        auto done = tree.update(op, key, [&](const auto*) { return d; });
        if (!done) return tl::unexpected(done.error());
        return true;
    }
    auto fresh = tree.make_record(op, key, value);
    if (!fresh) [[unlikely]] {
        return tl::unexpected(fresh.error());
    }
    const u64 record = *fresh;
    auto done = tree.update(
        op, key, [record](const auto*) { return decision{decision::action::store, record}; });
    if (!done) [[unlikely]] {
        tree.drop_record(op, record);
        return tl::unexpected(done.error());
    }
    return true;
}

/// `many`: consecutive gets of the stream become one get_many(). `trusting`: reads are not
/// verified.
enum class map_use { plain, many, trusting, inlined };

/// The public map, called as by a user.
template <map_use Use>
class map_target {
   public:
    rounds allowed;
    static constexpr bool many = Use == map_use::many;
    static constexpr bool survives = true;
    explicit map_target(map opened) : map_(std::move(opened)) {}

    [[nodiscard]] static std::string_view name() noexcept {
        return many                       ? "map-many"
               : Use == map_use::trusting ? "map-trusting"
               : Use == map_use::inlined  ? "map-inlined"
                                          : "map";
    }
    [[nodiscard]] engine<incll_discipline>& machine() noexcept {
        return map_inspection::machine_of(map_);
    }
    [[nodiscard]] result<void> close() { return map_.close(); }

    [[nodiscard]] result<bool> put(std::string_view key, std::string_view value) {
        auto done = map_.put(key, value);
        if (!done) [[unlikely]] {
            return tl::unexpected(done.error());
        }
        return true;
    }
    [[nodiscard]] result<bool> get(std::string_view key, std::string& scratch) {
        auto found = map_.get(key, scratch);
        if (found && *found && !belongs_to(key, scratch, allowed)) [[unlikely]] {
            return foreign_value();
        }
        return found;
    }
    /// The number of keys found.
    [[nodiscard]] result<std::size_t> get_many(std::span<const std::string_view> keys) {
        bool right = true;
        auto found = map_.get_many(keys, [&](std::size_t number, std::string_view value) {
            right = right && belongs_to(keys[number], value, allowed);
        });
        if (!right) return foreign_value();
        return found;
    }
    [[nodiscard]] result<unsigned> scan(std::string_view key) {
        scan_check check{key, allowed};
        auto done = map_.scan(key, std::ref(check));
        if (!done) return tl::unexpected(done.error());
        return check.outcome();
    }

   private:
    map map_;
};

/// Placeholder for the engine of a volatile target, which has no epochs and no logs.
struct no_engine {
    struct no_epochs {
        [[nodiscard]] int my_lane() const noexcept { return 0; }
        [[nodiscard]] u64 current_epoch() const noexcept { return 0; }
        [[nodiscard]] u64 last_pause_ns() const noexcept { return 0; }
        [[nodiscard]] result<void> wait_durable(u64 /*epoch*/) const { return {}; }
        void end_epoch() const noexcept {}
    };
    struct no_logs {
        [[nodiscard]] u64 log_entries() const noexcept { return 0; }
        [[nodiscard]] u64 log_bytes() const noexcept { return 0; }
    };
    [[nodiscard]] no_epochs& epochs() noexcept { return epochs_; }
    [[nodiscard]] no_logs checkpoint() const noexcept { return {}; }

   private:
    no_epochs epochs_;
};

/// Containers of other libraries (bench/peers/yardstick.hpp).
class yardstick_target {
   public:
    rounds allowed;
    static constexpr bool many = false;
    static constexpr bool survives = false;
    yardstick_target(std::string name, bool ordered, std::unique_ptr<yardstick_store> store)
        : name_(std::move(name)), ordered_(ordered), store_(std::move(store)) {}

    [[nodiscard]] const std::string& called() const noexcept { return name_; }
    [[nodiscard]] bool ordered() const noexcept { return ordered_; }
    [[nodiscard]] yardstick_store& store() noexcept { return *store_; }
    [[nodiscard]] no_engine& machine() noexcept { return none_; }
    [[nodiscard]] result<void> close() const { return {}; }

    [[nodiscard]] result<bool> put(std::string_view key, std::string_view value) {
        store_->put(number(key), value);
        return true;
    }
    [[nodiscard]] result<bool> get(std::string_view key, std::string& scratch) {
        if (!store_->get(number(key), scratch)) return false;
        if (!belongs_to(key, scratch, allowed)) return foreign_value();
        return true;
    }
    [[nodiscard]] result<unsigned> scan(std::string_view key) {
        scan_check check{key, allowed};
        store_->scan(
            number(key),
            [](void* context, u64 met, std::string_view value) {
                return (*static_cast<scan_check*>(context))(
                    {reinterpret_cast<const char*>(&met), sizeof(met)}, value);
            },
            &check);
        return check.outcome();
    }

   private:
    static u64 number(std::string_view key) noexcept {
        u64 n = 0;
        std::memcpy(&n, key.data(), sizeof(n));
        return n;
    }
    std::string name_;
    bool ordered_;
    std::unique_ptr<yardstick_store> store_;
    no_engine none_;
};

}  // namespace hf::bench
