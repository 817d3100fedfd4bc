// holdfast/nv/field.hpp: fields without pointers: p<T>, array<T, N>, bytes<N>.
#pragma once

#include <holdfast/nv/core.hpp>
#include <holdfast/nv/plain.hpp>

#include <algorithm>
#include <array>
#include <span>

namespace hf::nv {

/// A value of a plain type (plain.hpp). Within a transaction it is read like a T, and written by
/// set().
template <class T>
class p {
    static_assert(detail::check_plain<T>());

   public:
    using value_type = T;

    p() = default;
    p(const T& value) : value_(value) {}  // NOLINT(google-explicit-constructor)
    p(const p&) = delete;
    ~p() = default;

    operator T() const { return get(); }  // NOLINT(google-explicit-constructor)
    [[nodiscard]] T get() const {
        transaction* const t = transaction::running();
        if (t == nullptr) [[unlikely]] {
            detail::misuse(
                "a field was read outside of a transaction: read it in atomic() or read()");
        }
        if constexpr (detail::is_word<T>) {
            return t->load(&value_);
        } else {
            std::array<std::byte, sizeof(T)> bytes;
            t->load_bytes(&value_, bytes.data(), sizeof(T));
            return std::bit_cast<T>(bytes);
        }
    }
    void set(transaction& t, const T& value) {
        if constexpr (detail::is_word<T>) {
            t.store(&value_, value);
        } else {
            t.store_bytes(&value_, &value, sizeof(T));
        }
    }

    template <class U>
    p& operator=(U&&) {
        static_assert(detail::never<U>,
                      "holdfast: a persistent field is written in a transaction only: write "
                      "field.set(tx, value)");
        return *this;
    }
    // A distinct operator=, so that the message can tell why it is refused.
    p& operator=(const p&) = delete;
    template <class U = void>
    void operator&() const {  // NOLINT(google-runtime-operator)
        static_assert(
            detail::never<U>,
            "holdfast: a field's address is good for nothing outside of its heap: keep an "
            "nv::ref to the object");
    }

   private:
    alignas(detail::alignment_of_field<T>) T value_{};
};

/// N raw bytes (no pointers), accessed by range.
template <std::size_t N>
class bytes {
   public:
    bytes() = default;
    bytes(const bytes&) = delete;
    bytes& operator=(const bytes&) = delete;
    ~bytes() = default;

    [[nodiscard]] static constexpr std::size_t size() noexcept { return N; }
    /// Copies bytes [first, first + to.size()).
    void get(std::span<std::byte> to, std::size_t first = 0) const {
        transaction* const t = transaction::running();
        if (t == nullptr || first > N || to.size() > N - first) [[unlikely]] {
            detail::misuse("bytes were read outside of a transaction, or beyond their end");
        }
        t->load_bytes(bytes_ + first, to.data(), to.size());
    }
    void set(transaction& t, std::span<const std::byte> from, std::size_t first = 0) {
        if (first > N || from.size() > N - first) [[unlikely]] {
            detail::misuse("bytes were written beyond their end");
        }
        t.store_bytes(bytes_ + first, from.data(), from.size());
    }

   private:
    alignas(N % 8 == 0 ? 8 : 1) std::byte bytes_[N]{};
};

/// N fields of one type: p<int>, ptr<T>, or a struct of these.
template <class E, std::size_t N>
class array {
   public:
    using value_type = E;

    array() = default;
    array(const array&) = delete;
    array& operator=(const array&) = delete;
    ~array() = default;

    [[nodiscard]] static constexpr std::size_t size() noexcept { return N; }
    [[nodiscard]] E& operator[](std::size_t i) {
        check(i);
        return elements_[i];
    }
    [[nodiscard]] const E& operator[](std::size_t i) const {
        check(i);
        return elements_[i];
    }
    [[nodiscard]] E* begin() noexcept { return elements_; }
    [[nodiscard]] E* end() noexcept { return elements_ + N; }
    [[nodiscard]] const E* begin() const noexcept { return elements_; }
    [[nodiscard]] const E* end() const noexcept { return elements_ + N; }

   private:
    static void check(std::size_t i) {
        if (i >= N) [[unlikely]]
            detail::misuse("an index is beyond the end of an nv::array");
    }
    E elements_[N]{};
};

}  // namespace hf::nv
