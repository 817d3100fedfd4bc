// bench/eager_target.hpp: an eager index as the target of the measured loop. Values of eight bytes
// use integer keys, others byte strings. `Many`: consecutive gets of the stream become one
// get_many().
#pragma once

#include "bench/target.hpp"
#include "eager_map/engine.hpp"

#include <array>
#include <span>

namespace hf::bench {

template <bool Many>
class eager_target {
   public:
    rounds allowed;
    static constexpr bool many = Many;
    static constexpr bool survives = false;  ///< no latency is emulated during a run

    using numbers = detail::eager_engine<u64, u64>;
    using strings = detail::eager_engine<std::string_view, std::string>;

    eager_target(std::string name, std::unique_ptr<numbers> n, std::unique_ptr<strings> s)
        : name_(std::move(name)), numbers_(std::move(n)), strings_(std::move(s)) {}

    [[nodiscard]] const std::string& called() const noexcept { return name_; }
    [[nodiscard]] bool ordered() const noexcept {
        return numbers_ ? numbers_->is_ordered() : strings_->is_ordered();
    }
    [[nodiscard]] std::string medium_name() const {
        const medium& m = file().med();
        return std::string(hf::to_string(m.kind())) + ", flush " +
               std::string(hf::to_string(m.instruction()));
    }
    /// For code that expects a peer's store.
    [[nodiscard]] const eager_target& store() const noexcept { return *this; }
    [[nodiscard]] u64 bytes() const noexcept { return file().size(); }
    void work_with(unsigned /*threads*/) const noexcept {}
    [[nodiscard]] no_engine& machine() noexcept { return none_; }
    [[nodiscard]] result<void> close() const { return {}; }

    [[nodiscard]] result<bool> put(std::string_view key, std::string_view value) {
        auto done =
            numbers_ ? numbers_->put(number(key), number(value)) : strings_->put(key, value);
        if (!done) return done;
        return true;
    }
    [[nodiscard]] result<bool> get(std::string_view key, std::string& scratch) {
        if (strings_) {
            if (!strings_->get(key, scratch)) return false;
            if (!belongs_to(key, scratch, allowed)) return foreign_value();
            return true;
        }
        u64 value = 0;
        if (!numbers_->get(number(key), value)) return false;
        if (!belongs_to(key, bytes_of(value), allowed)) return foreign_value();
        return true;
    }
    /// The number of keys found.
    [[nodiscard]] result<std::size_t> get_many(std::span<const std::string_view> keys)
        requires Many
    {
        bool right = true;
        const auto text = [&](std::size_t i, std::string_view value) {
            right = right && belongs_to(keys[i], value, allowed);
        };
        std::size_t found = 0;
        if (strings_) {
            found = strings_->get_many(keys, text);
        } else {
            std::array<u64, keys_at_once> all{};
            for (std::size_t i = 0; i < keys.size(); ++i) all[i] = number(keys[i]);
            const auto value = [&](std::size_t i, u64 v) { text(i, bytes_of(v)); };
            found = numbers_->get_many(std::span(all).first(keys.size()), value);
        }
        if (!right) return foreign_value();
        return found;
    }
    [[nodiscard]] result<unsigned> scan(std::string_view key) {
        scan_check check{key, allowed};
        const auto text = [&](std::string_view k, std::string_view v) {
            if (!check.wrong) check(k, v);
        };
        const auto numbers = [&](u64 k, u64 v) { text(bytes_of(k), bytes_of(v)); };
        if (strings_) {
            static_cast<void>(strings_->scan_with(key, scan_length, false, text));
        } else {
            static_cast<void>(numbers_->scan_with(number(key), scan_length, false, numbers));
        }
        return check.outcome();
    }

   private:
    [[nodiscard]] region& file() const noexcept {
        return numbers_ ? numbers_->space().file() : strings_->space().file();
    }
    static u64 number(std::string_view bytes) noexcept {
        u64 n = 0;
        std::memcpy(&n, bytes.data(), std::min(bytes.size(), sizeof(n)));
        return n;
    }
    static std::string_view bytes_of(const u64& n) noexcept {
        return {reinterpret_cast<const char*>(&n), sizeof(n)};
    }

    std::string name_;
    std::unique_ptr<numbers> numbers_;
    std::unique_ptr<strings> strings_;
    no_engine none_;
};

}  // namespace hf::bench
