// bench/target.hpp: what the measured loop drives: a tree of any discipline, or the public map.
#pragma once

#include <holdfast/map.hpp>

#include "base/check.hpp"
#include "bench/operations.hpp"
#include "map/engine.hpp"
#include "map/inspect.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hf::bench {

/// The tree of an engine<D>, without the public map around it.
template <class D>
class tree_target {
   public:
    static constexpr bool many = false;
    explicit tree_target(std::unique_ptr<engine<D>> machine) : machine_(std::move(machine)) {}

    [[nodiscard]] static std::string_view name() noexcept { return D::name; }
    [[nodiscard]] engine<D>& machine() noexcept { return *machine_; }

    [[nodiscard]] result<bool> put(std::string_view key, std::string_view value);
    [[nodiscard]] result<bool> get(std::string_view key, std::string& /*scratch*/) {
        operation op(machine_->checkpoint());
        return machine_->tree().get(op, key, look_at);
    }
    [[nodiscard]] result<unsigned> scan(std::string_view key) {
        operation op(machine_->checkpoint());
        unsigned met = 0;
        machine_->tree().scan(op, key, false, [&met](std::string_view, std::string_view value) {
            asm volatile("" : : "r"(*value.data()) : "memory");
            return ++met < scan_length;
        });
        return met;
    }

   private:
    static void look_at(std::string_view value) {
        char copy[8] = {};
        std::memcpy(copy, value.data(), std::min(value.size(), sizeof(copy)));
        asm volatile("" : : "r"(copy) : "memory");
    }

    std::unique_ptr<engine<D>> machine_;
};

template <class D>
result<bool> tree_target<D>::put(std::string_view key, std::string_view value) {
    auto& tree = machine_->tree();
    operation op(machine_->checkpoint());
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

/// The public map, as a user calls it. `Many`: neighbouring gets of the stream are one get_many().
template <bool Many>
class map_target {
   public:
    static constexpr bool many = Many;
    explicit map_target(map opened) : map_(std::move(opened)) {}

    [[nodiscard]] static std::string_view name() noexcept { return Many ? "map-many" : "map"; }
    [[nodiscard]] engine<incll_discipline>& machine() noexcept {
        return map_inspection::machine_of(map_);
    }

    [[nodiscard]] result<bool> put(std::string_view key, std::string_view value) {
        auto done = map_.put(key, value);
        if (!done) [[unlikely]] {
            return tl::unexpected(done.error());
        }
        return true;
    }
    [[nodiscard]] result<bool> get(std::string_view key, std::string& scratch) {
        return map_.get(key, scratch);
    }
    /// How many of the keys are there.
    [[nodiscard]] result<std::size_t> get_many(std::span<const std::string_view> keys) {
        return map_.get_many(keys, [](std::size_t, std::string_view value) {
            asm volatile("" : : "r"(*value.data()) : "memory");
        });
    }
    [[nodiscard]] result<unsigned> scan(std::string_view key) {
        unsigned met = 0;
        auto done = map_.scan(key, [&met](std::string_view, std::string_view value) {
            asm volatile("" : : "r"(*value.data()) : "memory");
            return ++met < scan_length;
        });
        if (!done) return tl::unexpected(done.error());
        return met;
    }

   private:
    map map_;
};

}  // namespace hf::bench
